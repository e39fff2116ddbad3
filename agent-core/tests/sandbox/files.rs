//! Files: written in the session's folders, and nowhere else.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::room::{ENGINES, Room};

/// What of a folder could have been changed: names, contents, links.
fn state(folder: &Path) -> Vec<(String, String)> {
    let mut state: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap_or_default())
        })
        .collect();
    state.sort();
    state
}

/// Ways to change what lies outside.
const WAYS_OUT: [&str; 21] = [
    "echo x > $OUT/new",
    "echo x >> $OUT/kept",
    "touch $OUT/new",
    "mkdir $OUT/new",
    "rm -f $OUT/kept",
    "rmdir $OUT",
    "mv $OUT/kept inner",
    "mv inner $OUT/new",
    "mv $OUT/kept $OUT/new",
    "ln -s x $OUT/new",
    "ln inner $OUT/new",
    "mkfifo $OUT/new",
    "truncate -s 0 $OUT/kept",
    "python3 -c 'import os; os.truncate(os.environ[\"OUT\"] + \"/kept\", 0)'",
    "python3 -c 'import socket, os; os.chdir(os.environ[\"OUT\"]); socket.socket(socket.AF_UNIX).bind(\"new\")'",
    // by another name of the same file
    "ln -s $OUT link && echo x > link/kept",
    "ln -s $OUT/kept link && echo x > link",
    "ln $OUT/kept link && echo x > link",
    "echo x > /proc/self/root/$OUT/kept",
    "exec 3< $OUT/kept && echo x > /proc/self/fd/3",
    "cd $OUT && echo x > ../outside/kept",
];

#[tokio::test]
async fn writing_ends_at_the_sessions_folders() {
    for engine in ENGINES {
        let room = Room::new();
        let sandbox = room.writing(engine);
        let before = state(&room.outside);
        for line in WAYS_OUT {
            let run = room.run(&sandbox, line).await;
            assert!(!run.is_success(), "{engine:?} {line}: {run:?}");
            assert_eq!(state(&room.outside), before, "{engine:?} {line}: {run:?}");
            let _ = fs::remove_file(room.root.join("link"));
        }
    }
}

#[tokio::test]
async fn descendants_are_in_it_whatever_they_do_to_escape() {
    for engine in ENGINES {
        let room = Room::new();
        let before = state(&room.outside);
        for line in [
            "setsid -w sh -c 'echo x > $OUT/new'",
            "nohup sh -c 'echo x > $OUT/new'",
            "(setsid sh -c 'echo x > $OUT/new; touch done' &) ; until [ -e done ]; do sleep 0.01; done; false",
            "env -i OUT=$OUT sh -c 'echo x > $OUT/new'",
            "unshare -Ur sh -c 'echo x > $OUT/new'",
            "unshare -Urm sh -c 'mount --bind $OUT . && echo x > $OUT/new'",
            "unshare -Urm sh -c 'mount -o remount,rw / && echo x > $OUT/new'",
            "mount -o remount,rw / && echo x > $OUT/new",
        ] {
            let run = room.run(&room.writing(engine), line).await;
            assert!(!run.is_success(), "{engine:?} {line}: {run:?}");
            assert_eq!(state(&room.outside), before, "{engine:?} {line}: {run:?}");
        }
    }
}

#[tokio::test]
async fn the_work_of_a_session_goes_on_as_ever() {
    for engine in ENGINES {
        let room = Room::new();
        let sandbox = room.writing(engine);
        for line in [
            "cat $OUT/kept && ls / && test -r /etc/passwd",
            "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && ln d e && ln -s d f && rm d e f && rmdir a/b a",
            "mkdir a && touch a/x && mv a/x . && rm -r a x",
            "mkfifo p && rm p && truncate -s 10 inner && echo inner > inner",
            "echo x > /dev/null && head -c 8 /dev/urandom > /dev/zero && echo x > /dev/tty && echo x > /dev/stderr",
            "t=$(mktemp) && echo x > $t && rm $t && d=$(mktemp -d -p /var/tmp) && rmdir $d",
            "python3 -c 'import multiprocessing; multiprocessing.Lock()'",
            "script -qec 'tty' /dev/null < /dev/null",
            "diff <(echo a) <(echo a) && cat <<< here",
            "test -t 1 && test $(pwd) = $PWD && stty size </dev/tty",
        ] {
            let run = room.run(&sandbox, line).await;
            assert!(run.is_success(), "{engine:?} {line}: {run:?}");
        }
    }
}

#[tokio::test]
async fn a_reader_writes_nowhere_not_even_in_the_sessions_folder() {
    for engine in ENGINES {
        let room = Room::new();
        let sandbox = room.reading(engine);
        let before = (state(&room.root), state(&room.outside));
        for line in [
            "echo x > new",
            "echo x > inner",
            "rm -f inner",
            "mktemp",
            "touch /tmp/placard-never /var/tmp/placard-never",
            "echo x > /dev/shm/placard-never",
            "echo x > $OUT/new",
        ] {
            let run = room.run(&sandbox, line).await;
            assert!(!run.is_success(), "{engine:?} {line}: {run:?}");
            assert_eq!(
                (state(&room.root), state(&room.outside)),
                before,
                "{engine:?} {line}"
            );
        }
        let run = room
            .run(
                &sandbox,
                "cat inner > /dev/null && cat inner | sort && echo ok >/dev/tty",
            )
            .await;
        assert_eq!((run.is_success(), run.text.as_str()), (true, "inner\nok\n"));
    }
}

#[tokio::test]
async fn a_reader_signals_nobody_outside() {
    let line = "sleep 5 & kill $! && wait $!; test $? = 143";
    let reach = format!("kill -0 {}", std::process::id());
    for engine in ENGINES {
        let room = Room::new();
        let own = room.run(&room.reading(engine), line).await;
        assert!(own.is_success(), "{engine:?}: {own:?}");
        let outside = room.run(&room.reading(engine), &reach).await;
        assert!(!outside.is_success(), "{engine:?}: {outside:?}");
        // A command that may write may also stop the server that the person started.
        let outside = room.run(&room.writing(engine), &reach).await;
        assert!(outside.is_success(), "{engine:?}: {outside:?}");
    }
}

#[tokio::test]
async fn a_command_does_not_read_the_agents_environment() {
    // This very process stands for the agent, which has the keys of its models there.
    let line = format!(
        "cat /proc/{0}/environ /proc/{0}/maps; ls /proc/{0}/root/ /proc/{0}/cwd/; head -c 1 /proc/{0}/mem",
        std::process::id()
    );
    for engine in ENGINES {
        let room = Room::new();
        for sandbox in [room.writing(engine), room.reading(engine)] {
            let run = room.run(&sandbox, &line).await;
            assert!(!run.is_success(), "{run:?}");
            assert!(!run.text.contains("PATH="), "{engine:?}: {run:?}");
            assert_eq!(
                run.text.matches("ermission denied").count(),
                run.text.lines().count(),
                "{engine:?}: {run:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_person_adds_is_writable_and_a_program_of_root_gains_nothing() {
    for engine in ENGINES {
        let room = Room::new();
        let config = agent_core::shell::sandbox::SandboxConfig {
            writable: vec!["~/outside".into()],
            engine,
            ..agent_core::shell::sandbox::SandboxConfig::default()
        };
        let run = room.run(&room.sandbox(&config), "echo x > $OUT/new").await;
        assert!(run.is_success(), "{run:?}");
        let run = room
            .run(&room.writing(engine), "grep NoNewPrivs /proc/self/status")
            .await;
        assert_eq!(run.text, "NoNewPrivs:\t1\n", "{engine:?}");
    }
}
