//! Light or dark, as the page will find it, and the colour of the paper in each.

use tauri::window::Color;
use tauri::{Runtime, Theme, WebviewWindow};

/// The colour behind the page, the `--bg` of its theme: what is seen of the window before the page's first paint.
pub(crate) fn paper(theme: Theme) -> Color {
    match theme {
        Theme::Dark => Color(0x17, 0x18, 0x17, 0xff),
        _ => Color(0xf6, 0xf5, 0xf2, 0xff),
    }
}

/// The theme that `prefers-color-scheme` gives in the window. To be called on the main thread.
///
/// On Linux the web engine goes by GTK's settings, to which the desktop's preference was applied when the window was
/// made; the window itself only knows that preference.
#[cfg(target_os = "linux")]
pub(crate) fn of_window<R: Runtime>(_window: &WebviewWindow<R>) -> Theme {
    use gtk::prelude::GtkSettingsExt;

    let Some(settings) = gtk::Settings::default() else {
        return Theme::Light;
    };
    let named_dark = settings.gtk_theme_name().is_some_and(|name| {
        name.to_lowercase().ends_with("-dark") || name.to_lowercase().ends_with(":dark")
    });
    if settings.is_gtk_application_prefer_dark_theme() || named_dark {
        Theme::Dark
    } else {
        Theme::Light
    }
}

/// The theme that `prefers-color-scheme` gives in the window.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_window<R: Runtime>(window: &WebviewWindow<R>) -> Theme {
    window.theme().unwrap_or(Theme::Light)
}
