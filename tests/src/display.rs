//! A screen of its own for one test.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConnectionExt, EventMask, MapState, Window,
};
use x11rb::rust_connection::RustConnection;

use crate::patience::SOON;

/// A running X server without a monitor; it ends with the test.
#[derive(Debug)]
pub(crate) struct Display {
    name: String,
    _server: Child,
}

impl Display {
    /// Starts the server on a number that is free; it says which one when it is ready.
    pub(crate) async fn start() -> Self {
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x900x24",
                "-nolisten",
                "tcp",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|fault| {
                panic!("cannot start Xvfb (`scripts/setup test` installs it): {fault}")
            });
        let mut lines = BufReader::new(server.stdout.take().expect("stdout is a pipe")).lines();
        let number = tokio::time::timeout(SOON, lines.next_line())
            .await
            .expect("Xvfb says its number in time")
            .expect("its pipe can be read")
            .expect("Xvfb started");
        Self {
            name: format!(":{}", number.trim()),
            _server: server,
        }
    }

    /// The value for `DISPLAY`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Asks the window of that title to close, as a window manager does when a person clicks its cross.
    pub(crate) fn close_window(&self, title: &str) {
        let (connection, screen) = x11rb::connect(Some(&self.name)).expect("the X server answers");
        let root = connection.setup().roots[screen].root;
        let window = find_window(&connection, root, title)
            .unwrap_or_else(|| panic!("no window is called {title:?}"));
        let [protocols, delete] =
            ["WM_PROTOCOLS", "WM_DELETE_WINDOW"].map(|name| atom(&connection, name));
        let message = ClientMessageEvent::new(
            32,
            window,
            protocols,
            [delete, x11rb::CURRENT_TIME, 0, 0, 0],
        );
        // The answer says that the event was sent on; a connection closed earlier may take it along.
        let sent = connection.send_event(false, window, EventMask::NO_EVENT, message);
        sent.expect("asked")
            .check()
            .expect("the X server takes the event");
    }
}

fn atom(connection: &RustConnection, name: &str) -> u32 {
    connection
        .intern_atom(false, name.as_bytes())
        .expect("asked")
        .reply()
        .expect("the X server knows the atom")
        .atom
}

/// The visible window of that title at or under the given one.
fn find_window(connection: &RustConnection, window: Window, title: &str) -> Option<Window> {
    let name = connection.get_property(
        false,
        window,
        atom(connection, "_NET_WM_NAME"),
        AtomEnum::ANY,
        0,
        1024,
    );
    // A window may go away between being listed and being asked.
    let named = name
        .ok()?
        .reply()
        .is_ok_and(|name| name.value == title.as_bytes());
    let visible = connection
        .get_window_attributes(window)
        .ok()?
        .reply()
        .is_ok_and(|it| it.map_state == MapState::VIEWABLE);
    if named && visible {
        return Some(window);
    }
    let children = connection.query_tree(window).ok()?.reply().ok()?.children;
    children
        .into_iter()
        .find_map(|child| find_window(connection, child, title))
}
