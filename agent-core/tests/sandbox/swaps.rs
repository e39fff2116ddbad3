//! A command that puts a symbolic link where the next sandbox would find a writable folder gains nothing by it.

use agent_core::shell::sandbox::Level;
use pretty_assertions::assert_eq;

use super::room::{ENGINES, Room, at};

#[tokio::test]
async fn a_folder_that_was_swapped_for_a_link_opens_nothing() {
    for engine in ENGINES {
        for (variable, below, line) in [
            // A cache that the command before has taken away.
            (
                "GOCACHE",
                ".cache/go-build",
                "rmdir ~/.cache/go-build && ln -s $OUT ~/.cache/go-build",
            ),
            // One that was not there yet.
            ("PIP_CACHE_DIR", ".cache/pip", "ln -s $OUT ~/.cache/pip"),
            // A temporary folder in the session's own.
            (
                "TMPDIR",
                "root/tmp",
                "mkdir -p tmp && rmdir tmp && ln -s $OUT tmp",
            ),
            // What cargo keeps, where that lies in the session's folder.
            (
                "CARGO_HOME",
                "root/cargo",
                "mkdir -p cargo && ln -s $OUT cargo/registry",
            ),
        ] {
            let mut room = Room::new();
            std::fs::create_dir_all(room.home.join(".cache/go-build")).unwrap();
            let path = room.home.join(below);
            room.set(variable, &path);
            let planted = room.run(&room.writing(engine), line).await;
            assert!(planted.is_success(), "{engine:?} {line} {planted:?}");
            let run = room.run(&room.writing(engine), "touch $OUT/marker").await;
            assert!(!run.is_success(), "{engine:?} {line} {run:?}");
            assert!(!room.outside.join("marker").exists(), "{engine:?} {line}");
        }
    }
}

#[tokio::test]
async fn a_session_whose_folder_was_swapped_writes_nowhere_else() {
    for engine in ENGINES {
        let room = Room::new();
        let sandbox = || room.sandbox(&at(Level::WorkspaceWrite, engine));
        let before = sandbox();
        std::fs::rename(&room.root, room.home.join("away")).unwrap();
        std::os::unix::fs::symlink(&room.outside, &room.root).unwrap();
        // Worked out before the swap, and after it.
        for sandbox in [before, sandbox()] {
            let run = room.run_in(&room.home, &sandbox, "touch $OUT/marker").await;
            assert_eq!(
                (run.is_success(), room.outside.join("marker").exists()),
                (false, false),
                "{engine:?} {run:?}"
            );
        }
    }
}
