//! What is writable, in real folders.

use std::fs;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;

fn able() -> Support {
    Support {
        landlock: Some(7),
        seccomp: true,
        bubblewrap: Vec::new(),
    }
}

/// A home outside of what is temporary, as homes are: in this project's own folder of built things.
fn home() -> (TempDir, PathBuf) {
    let test = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(test.parent().unwrap()).unwrap();
    let real = folder.path().canonicalize().unwrap();
    (folder, real)
}

fn make(folders: &[PathBuf]) {
    for folder in folders {
        fs::create_dir_all(folder).unwrap();
    }
}

/// What is writable below `home`, from there on.
fn below(home: &Path, sandbox: &Sandbox) -> Vec<String> {
    sandbox
        .writable
        .iter()
        .filter_map(|path| path.strip_prefix(home).ok())
        .map(|path| path.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_level_is_the_strongest_that_works_unless_one_is_asked_for() {
    let nothing = Support {
        landlock: None,
        seccomp: false,
        bubblewrap: Vec::new(),
    };
    let level = |level, engine, support: &Support| {
        let config = SandboxConfig {
            level,
            engine,
            ..SandboxConfig::default()
        };
        let sandbox = policy(&config, &[], &Environment::default(), support);
        (sandbox.level, sandbox.network, sandbox.given_up)
    };
    let landlock = Engine::Landlock;
    let cases = [
        (None, landlock, able(), (Level::WorkspaceWrite, true, false)),
        (None, landlock, nothing.clone(), (Level::Off, true, true)),
        (None, Engine::Bubblewrap, able(), (Level::Off, true, true)),
        (
            Some(Level::Off),
            landlock,
            able(),
            (Level::Off, true, false),
        ),
        (
            Some(Level::ReadOnly),
            landlock,
            able(),
            (Level::ReadOnly, false, false),
        ),
        // Asked for and not there: it is not given up, the command is.
        (
            Some(Level::WorkspaceWrite),
            landlock,
            nothing,
            (Level::WorkspaceWrite, true, false),
        ),
    ];
    for (asked, engine, support, expected) in cases {
        assert_eq!(level(asked, engine, &support), expected, "{asked:?}");
    }
}

#[test]
fn the_sessions_folders_and_caches_are_writable_and_nothing_that_a_person_runs() {
    let (_folder, home) = home();
    make(
        &[
            "work/atlas",
            "other",
            "extra",
            ".cache",
            ".config",
            ".ssh",
            ".local/bin",
            ".cargo/bin",
            ".cargo/registry",
            ".cargo/git",
            ".rustup/toolchains",
            ".npm",
            ".gradle/caches",
            ".gradle/init.d",
            ".m2/repository",
            "go/pkg",
            "go/bin",
        ]
        .map(|name| home.join(name)),
    );
    for name in [
        ".cargo/.package-cache",
        ".cargo/config.toml",
        ".cargo/credentials.toml",
        ".cargo/env",
        ".cargo/env.fish",
        ".m2/settings.xml",
    ] {
        fs::write(home.join(name), "").unwrap();
    }
    let environment = [("HOME", home.to_str().unwrap())].into_iter().collect();
    let config = SandboxConfig {
        writable: vec!["~/extra".into(), "~/missing".into()],
        ..SandboxConfig::default()
    };
    let sandbox = policy(&config, &[home.join("work/atlas")], &environment, &able());
    assert_eq!(
        below(&home, &sandbox),
        [
            ".cache",
            ".cargo/.package-cache",
            ".cargo/git",
            ".cargo/registry",
            ".gradle/caches",
            ".m2/repository",
            ".npm",
            "extra",
            "go/pkg",
            "work/atlas",
        ]
    );
    for path in ["/dev/null", "/dev/pts", "/tmp"] {
        assert!(sandbox.may_write(Path::new(path)), "{path}");
    }
    for path in ["/", "/etc", "/proc", "/sys", "/dev", "/dev/sda", "/usr"] {
        assert!(!sandbox.may_write(Path::new(path)), "{path}");
    }
}

#[test]
fn folders_of_the_configuration_that_are_not_there_are_named_as_they_are_written() {
    let (_folder, home) = home();
    make(&[home.join("notes")]);
    let there = home.join("notes");
    let gone = home.join("gone");
    let config = SandboxConfig {
        writable: vec!["~/notes".into(), "~/lost".into(), there, gone.clone()],
        ..SandboxConfig::default()
    };
    let at_home = [("HOME", home.to_str().unwrap())].into_iter().collect();
    assert_eq!(
        not_there(&config, &at_home),
        ["~/lost".into(), gone.clone()]
    );
    // Without a home folder nothing says what `~` is.
    assert_eq!(
        not_there(&config, &Environment::default()),
        ["~/notes".into(), "~/lost".into(), gone]
    );
}

#[test]
fn variables_move_the_caches() {
    let (_folder, home) = home();
    let names = [
        "c",
        "cargo/git",
        "go1/pkg",
        "go2/pkg",
        "modules",
        "deno",
        "gradle/caches",
        "scratch",
    ];
    make(&names.map(|name| home.join(name)));
    let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let environment = [
        ("HOME", at("")),
        ("XDG_CACHE_HOME", at("c")),
        ("CARGO_HOME", at("cargo")),
        ("GOPATH", format!("{}:{}", at("go1"), at("go2"))),
        ("GOMODCACHE", at("modules")),
        ("DENO_DIR", at("deno")),
        ("GRADLE_USER_HOME", at("gradle")),
        ("TMPDIR", at("scratch")),
        ("PIP_CACHE_DIR", "not/absolute".to_owned()),
    ]
    .into_iter()
    .collect();
    let sandbox = policy(&SandboxConfig::default(), &[], &environment, &able());
    let mut expected = names.to_vec();
    expected.sort_unstable();
    assert_eq!(below(&home, &sandbox), expected);
}

#[test]
fn a_variable_does_not_hand_the_home_folder_over_but_a_person_may() {
    let (_folder, home) = home();
    let text = home.to_str().unwrap();
    let environment = [
        ("HOME", text),
        ("XDG_CACHE_HOME", text),
        ("TMPDIR", home.parent().unwrap().to_str().unwrap()),
        ("GOCACHE", "/"),
    ]
    .into_iter()
    .collect();
    let careless = policy(&SandboxConfig::default(), &[], &environment, &able());
    assert!(!careless.may_write(&home), "{:?}", careless.writable);
    let meant = policy(
        &SandboxConfig::default(),
        std::slice::from_ref(&home),
        &environment,
        &able(),
    );
    assert_eq!(below(&home, &meant), [""]);
}

#[test]
fn a_home_in_a_temporary_folder_is_not_handed_over_with_it() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let environment = [("HOME", folder.path().to_str().unwrap())]
        .into_iter()
        .collect();
    let sandbox = policy(&SandboxConfig::default(), &[], &environment, &able());
    assert!(!sandbox.may_write(Path::new("/tmp")), "{sandbox:?}");
}

#[test]
fn symbolic_links_are_followed_once_and_nothing_is_named_twice() {
    let (_folder, home) = home();
    make(&["real/inner"].map(|name| home.join(name)));
    std::os::unix::fs::symlink(home.join("real"), home.join("link")).unwrap();
    let roots = ["link/inner", "link", "real"].map(|name| home.join(name));
    let sandbox = policy(
        &SandboxConfig::default(),
        &roots,
        &Environment::default(),
        &able(),
    );
    assert_eq!(below(&home, &sandbox), ["real"]);
}

#[test]
fn a_reader_writes_nothing_and_reaches_nobody() {
    let (_folder, home) = home();
    let roots = std::slice::from_ref(&home);
    let config = SandboxConfig {
        level: Some(Level::ReadOnly),
        ..SandboxConfig::default()
    };
    let reading = policy(&config, roots, &Environment::default(), &able());
    assert_eq!((reading.level, reading.network), (Level::ReadOnly, false));
    assert!(!reading.may_write(&home));
    assert!(!reading.may_write(Path::new("/tmp")));
    assert!(reading.may_write(Path::new("/dev/null")));
}

#[test]
fn a_bubblewrap_that_a_command_may_have_written_is_not_taken() {
    let (_folder, home) = home();
    let planted = home.join("node_modules/.bin/bwrap");
    let support = Support {
        bubblewrap: vec![planted.clone(), "/usr/bin/bwrap".into()],
        ..able()
    };
    let config = SandboxConfig {
        engine: Engine::Bubblewrap,
        ..SandboxConfig::default()
    };
    let found =
        |roots: &[PathBuf]| policy(&config, roots, &Environment::default(), &support).bubblewrap;
    assert_eq!(found(&[home]), Some("/usr/bin/bwrap".into()));
    assert_eq!(found(&[]), Some(planted));
}
