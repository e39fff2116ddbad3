//! The page's files, which are part of the program.

use std::borrow::Cow;

use rust_embed::Embed;

#[derive(Embed)]
#[folder = "../ui/dist"]
#[allow_missing = true]
struct Page;

/// What to do when the page is missing.
pub(crate) const HOW_TO_BUILD: &str =
    "run `npm --prefix ui ci && npm --prefix ui run build`, then build placard again";

/// A file of the page.
pub(crate) struct Asset {
    /// Its media type.
    pub(crate) media_type: String,
    /// What is in it.
    pub(crate) bytes: Cow<'static, [u8]>,
}

/// The file at `path` (without a leading slash).
pub(crate) fn asset(path: &str) -> Option<Asset> {
    Page::get(path).map(|file| {
        let media_type = file.metadata.mimetype();
        let text = media_type.starts_with("text/") && !media_type.contains("charset");
        Asset {
            media_type: if text {
                format!("{media_type}; charset=utf-8")
            } else {
                media_type.to_owned()
            },
            bytes: file.data,
        }
    })
}

/// True when the program was built with its page.
pub(crate) fn are_there() -> bool {
    Page::get("index.html").is_some()
}
