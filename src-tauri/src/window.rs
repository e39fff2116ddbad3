//! The main window: its size, its paper, and the only address that it shows.

use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{AppHandle, Manager, Runtime, Url, WebviewUrl, WebviewWindowBuilder, WindowEvent};

use crate::link;
use crate::page::WindowPage;
use crate::theme;

/// The label that the capability file grants the hub's commands to.
pub(crate) const MAIN: &str = "main";

/// Opens the main window. It is shown once its paper has the theme's colour, so that nothing flashes.
pub(crate) fn open<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<()> {
    let window = WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App("index.html".into()))
        .title("Placard")
        .inner_size(1240.0, 860.0)
        .min_inner_size(720.0, 480.0)
        .visible(false)
        .on_navigation(is_our_page)
        // Every link of the page asks for a window of its own.
        .on_new_window(|address, _| {
            link::follow(&address);
            NewWindowResponse::Deny
        })
        .on_page_load(|window, load| {
            // A reload: the old page is gone, and whatever is still sent to it would be lost.
            if load.event() == PageLoadEvent::Started {
                window.state::<WindowPage>().leave();
            }
        })
        .build()?;
    window.set_background_color(Some(theme::paper(theme::of_window(&window))))?;
    window.show()?;

    let themed = window.clone();
    window.on_window_event(move |event| {
        if let WindowEvent::ThemeChanged(theme) = event
            && let Err(fault) = themed.set_background_color(Some(theme::paper(*theme)))
        {
            tracing::debug!(%fault, "the window did not take the theme's colour");
        }
    });
    Ok(())
}

/// The window never leaves the page that the program holds, whatever a link in an answer says.
fn is_our_page(address: &Url) -> bool {
    let ours = if cfg!(windows) {
        ("http", "tauri.localhost")
    } else {
        ("tauri", "localhost")
    };
    (address.scheme(), address.host_str()) == (ours.0, Some(ours.1))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[cfg(not(windows))]
    #[test]
    fn only_the_page_of_the_program_is_shown() {
        let shown = |address: &str| is_our_page(&Url::parse(address).unwrap());
        let cases = [
            ("tauri://localhost/index.html", true),
            ("tauri://elsewhere/", false),
            ("http://localhost/", false),
            ("https://example.org/", false),
            ("file:///etc/passwd", false),
            ("data:text/html,x", false),
            ("about:blank", false),
        ];
        assert_eq!(cases.map(|(address, _)| (address, shown(address))), cases);
    }
}
