//! The network: on, or cut off whatever way a program takes.

use std::io::Write as _;
use std::net::TcpListener;

use agent_core::shell::sandbox::{Engine, Level, SandboxConfig};
use pretty_assertions::assert_eq;

use crate::room::{ENGINES, Room, at};

fn cut_off(level: Level, engine: Engine) -> SandboxConfig {
    SandboxConfig {
        network: Some(false),
        ..at(level, engine)
    }
}

/// A server on loopback that greets whoever comes, for as long as the test runs.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for guest in listener.incoming() {
            // Whoever left again needs no greeting.
            let _ = guest.and_then(|mut guest| guest.write_all(b"hello\n"));
        }
    });
    port
}

#[tokio::test]
async fn it_is_on_unless_it_is_cut_off() {
    let port = greeter();
    let line = format!("cat < /dev/tcp/127.0.0.1/{port}");
    for engine in ENGINES {
        let room = Room::new();
        let run = room.run(&room.writing(engine), &line).await;
        assert_eq!((run.is_success(), run.text.as_str()), (true, "hello\n"));
        for level in [Level::WorkspaceWrite, Level::ReadOnly, Level::Off] {
            let run = room
                .run(&room.sandbox(&cut_off(level, engine)), &line)
                .await;
            assert!(!run.is_success(), "{engine:?} {level:?}: {run:?}");
            assert!(!run.text.contains("hello"), "{engine:?} {level:?}: {run:?}");
        }
        let run = room.run(&room.reading(engine), &line).await;
        assert!(!run.is_success(), "{engine:?}: {run:?}");
    }
}

#[tokio::test]
async fn every_kind_of_socket_that_leaves_the_machine_is_refused() {
    // Tried one by one; the number of `io_uring_setup` is the same on every processor.
    let script = r#"
import ctypes, socket
def attempt(name, what):
    try: what(); print(name, "opened")
    except OSError as error: print(name, error.errno)
attempt("tcp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("tcp6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
attempt("pair", lambda: socket.socketpair(socket.AF_INET))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
attempt("unix pair", lambda: socket.socketpair())
c = ctypes.CDLL(None, use_errno=True)
ring = c.syscall(425, 4, ctypes.create_string_buffer(120))
print("io_uring", "opened" if ring >= 0 else ctypes.get_errno())
"#;
    let room = Room::new();
    std::fs::write(room.root.join("sockets.py"), script).unwrap();
    for level in [Level::WorkspaceWrite, Level::ReadOnly, Level::Off] {
        let sandbox = room.sandbox(&cut_off(level, Engine::Landlock));
        let run = room.run(&sandbox, "python3 sockets.py").await;
        assert_eq!(
            run.text,
            "tcp 1\nudp 1\ntcp6 1\nraw 1\npacket 1\nnetlink 1\nvsock 1\npair 1\nunix opened\nunix pair opened\nio_uring 1\n",
            "{level:?}"
        );
    }
}
