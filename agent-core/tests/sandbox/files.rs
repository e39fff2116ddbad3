//! Files: written in the session's folders, and nowhere else.

use agent_core::shell::sandbox::Engine;
use pretty_assertions::assert_eq;

use crate::room::{ENGINES, Room};

/// Ways to change what lies outside.
const WAYS_OUT: [&str; 21] = [
    "echo x > $OUT/new",
    "echo x >> $OUT/kept",
    "touch $OUT/new",
    "mkdir $OUT/new",
    "rm -f $OUT/kept",
    "rmdir $OUT/empty",
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

/// Ways of descendants.
const DESCENDANTS: [&str; 6] = [
    "setsid -w sh -c 'echo x > $OUT/new'",
    "nohup sh -c 'echo x > $OUT/new'",
    "(setsid sh -c 'echo x > $OUT/new; touch done' &) ; until [ -e done ]; do sleep 0.01; done; test -e $OUT/new",
    "env -i OUT=$OUT sh -c 'echo x > $OUT/new'",
    "unshare -U sh -c 'echo x > $OUT/new'",
    "unshare -Ur sh -c 'echo x > $OUT/new'",
];

/// Ways without a control, which could change the mounts of the machine that runs the tests. So it counts what they say.
const MOUNTS: [&str; 4] = [
    "unshare -Um sh -c 'mount --bind $OUT . && echo x > $PWD/new'",
    "unshare -Urm sh -c 'mount --bind $OUT . && echo x > $PWD/new'",
    "unshare -Urm sh -c 'mount -o remount,rw / && echo x > $OUT/new'",
    "mount -o remount,rw / && echo x > $OUT/new",
];

/// Requires that a line fails in the sandbox of a session that may write, and changes nothing outside: what it said.
async fn is_kept_in(engine: Engine, line: &str) -> String {
    let room = Room::new();
    let before = room.state_outside();
    let run = room.run(&room.writing(engine), line).await;
    assert!(!run.is_success(), "{engine:?} {line}: {run:?}");
    assert_eq!(room.state_outside(), before, "{engine:?} {line}: {run:?}");
    run.text
}

#[tokio::test]
async fn writing_ends_at_the_sessions_folders() {
    for line in WAYS_OUT {
        Room::control(line, true).await;
        for engine in ENGINES {
            is_kept_in(engine, line).await;
        }
    }
}

#[tokio::test]
async fn descendants_are_in_it_whatever_they_do_to_escape() {
    for line in DESCENDANTS {
        Room::control(line, true).await;
        for engine in ENGINES {
            is_kept_in(engine, line).await;
        }
    }
    for line in MOUNTS {
        for engine in ENGINES {
            let said = is_kept_in(engine, line).await;
            let denied = [
                "ermission denied",
                "not permitted",
                "ead-only file system",
                "superuser",
            ];
            let is_denied = denied.iter().any(|words| said.contains(words));
            assert!(is_denied, "{engine:?} {line}: {said}");
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

/// Ways to write anywhere at all. They leave nothing outside of their room where they can.
const WRITING: [&str; 8] = [
    "echo x > new",
    "echo x > inner",
    "rm -f inner",
    "file=$(mktemp) && rm $file",
    "touch /tmp/placard-$$ && rm /tmp/placard-$$",
    "touch /var/tmp/placard-$$ && rm /var/tmp/placard-$$",
    "echo x > /dev/shm/placard-$$ && rm /dev/shm/placard-$$",
    "echo x > $OUT/new",
];

#[tokio::test]
async fn a_reader_writes_nowhere_not_even_in_the_sessions_folder() {
    for line in WRITING {
        Room::control(line, false).await;
        for engine in ENGINES {
            let room = Room::new();
            let before = (room.state_inside(), room.state_outside());
            let run = room.run(&room.reading(engine), line).await;
            assert!(!run.is_success(), "{engine:?} {line}: {run:?}");
            let after = (room.state_inside(), room.state_outside());
            assert_eq!(after, before, "{engine:?} {line}");
        }
    }
    for engine in ENGINES {
        let room = Room::new();
        let line = "cat inner > /dev/null && cat inner | sort && echo ok >/dev/tty";
        let run = room.run(&room.reading(engine), line).await;
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
    let room = Room::new();
    let without = room.run(&room.off(), &line).await;
    assert!(without.text.contains("PATH="), "{without:?}");
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
