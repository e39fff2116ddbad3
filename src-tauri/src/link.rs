//! Links of the page: they lead out of the window, to the person's own browser.

use tauri::Url;
use tauri::async_runtime::spawn_blocking;

/// Opens a link that a person clicked in the system's browser, when it is an address of the web. The window stays where it is.
pub(crate) fn follow(address: &Url) {
    if !leads_to_the_web(address) {
        tracing::warn!(
            scheme = address.scheme(),
            "a link was not opened: it is no web address"
        );
        return;
    }
    let address = address.to_string();
    // The system's opener is given a moment to fail, which the window must not wait for.
    drop(spawn_blocking(move || {
        if let Err(fault) = open::that_detached(&address) {
            tracing::warn!(%fault, "the system opened no browser");
        }
    }));
}

/// Whether the system may be asked to open the address. What an answer of a model links to is anybody's word, and
/// another scheme can start any program that is registered for it.
fn leads_to_the_web(address: &Url) -> bool {
    matches!(address.scheme(), "http" | "https") && address.has_host()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_web_addresses_are_given_to_the_system() {
        let opened = |address: &str| leads_to_the_web(&Url::parse(address).unwrap());
        let cases = [
            ("https://example.org/a?b=1#c", true),
            ("HTTP://example.org", true),
            ("http://127.0.0.1:4000/", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("mailto:ada@example.org", false),
            ("ssh://example.org/", false),
            ("tauri://localhost/index.html", false),
            ("about:blank", false),
        ];
        assert_eq!(cases.map(|(address, _)| (address, opened(address))), cases);
    }
}
