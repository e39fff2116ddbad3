//! Configurations, right and wrong.

mod store;

use std::path::PathBuf;

use pretty_assertions::assert_eq;

use super::*;
use crate::shell::environment::NamePattern;
use crate::shell::sandbox::{Engine, Level};

/// Loads a configuration from a file in a folder of its own, with these variables around. In messages the folder is
/// `DIR`.
fn load(file: Option<&[u8]>, variables: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    if let Some(content) = file {
        std::fs::write(folder.path().join("config.toml"), content).unwrap();
    }
    let surroundings = Surroundings {
        environment: variables.iter().copied().collect(),
        config_dir: folder.path().to_owned(),
        data_dir: PathBuf::new(),
        cache_dir: PathBuf::new(),
        program: PathBuf::new(),
    };
    let dir = folder.path().display().to_string();
    Config::load(&surroundings)
        .map(|config| Config {
            file: PathBuf::from("DIR/config.toml"),
            ..config
        })
        .map_err(|error| error.to_string().replace(&dir, "DIR"))
}

fn unconfigured() -> Config {
    Config::unconfigured(PathBuf::from("DIR/config.toml"))
}

fn provided(provider: &str, model: &str) -> ModelName {
    ModelName::Provided {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

#[test]
fn nothing_is_set_up() {
    assert_eq!(load(None, &[]), Ok(unconfigured()));
    assert_eq!(
        load(Some(b""), &[("PLACARD_MODEL", "")]),
        Ok(unconfigured())
    );
    assert_eq!(
        unconfigured(),
        Config {
            model: ModelName::Offline,
            max_steps: 50,
            providers: BTreeMap::new(),
            cards: CardsConfig {
                classified: Classified::Label,
            },
            sandbox: SandboxConfig {
                level: None,
                network: None,
                writable: Vec::new(),
                engine: Engine::Landlock,
            },
            sessions: SessionsConfig {
                titles: Titles::Model,
            },
            shell: ShellConfig {
                spill_bytes: 67_108_864,
                env: VariableRules {
                    pass: Vec::new(),
                    remove: Vec::new(),
                    set: BTreeMap::new(),
                },
            },
            store: StoreConfig::Sqlite,
            file: PathBuf::from("DIR/config.toml"),
        }
    );
}

/// A file with every table.
const EVERYTHING: &str = r#"
        model = "local/qwen3/coder:30b" # a comment
        max_steps = 0x3e8

        [cards]
        classified = "kind"

        [sandbox]
        level = "read-only"
        network = true
        writable = ["/srv/shared", "~/notes"]
        engine = "bubblewrap"

        [sessions]
        titles = "prompt"

        [shell]
        spill_bytes = 0x100000

        [shell.env]
        pass = ["AWS_PROFILE", "APP_*"]
        remove = ["SSH_AUTH_SOCK"]
        set = { CI = "1", GH_TOKEN = "t" }

        [store]
        kind = "jsonl"

        [providers.deepseek]
        base_url = "https://gateway.example/deepseek"
        api_key_env = "GATEWAY_KEY"

        [providers.local]
        base_url = "http://127.0.0.1:8000/v1"

        [providers.glm-4]
        kind = "anthropic"
        base_url = "https://glm.example"
    "#;

#[test]
fn everything_is_set_up() {
    let provider = |base_url: &str, api_key_env: Option<&str>, kind| ProviderConfig {
        base_url: Some(base_url.to_owned()),
        api_key_env: api_key_env.map(str::to_owned),
        kind,
    };
    let providers = [
        (
            "deepseek",
            provider(
                "https://gateway.example/deepseek",
                Some("GATEWAY_KEY"),
                None,
            ),
        ),
        ("local", provider("http://127.0.0.1:8000/v1", None, None)),
        (
            "glm-4",
            provider("https://glm.example", None, Some(ProviderKind::Anthropic)),
        ),
    ];
    let expected = Config {
        model: provided("local", "qwen3/coder:30b"),
        max_steps: 1000,
        providers: providers
            .into_iter()
            .map(|(name, config)| (name.to_owned(), config))
            .collect(),
        cards: CardsConfig {
            classified: Classified::Kind,
        },
        sandbox: SandboxConfig {
            level: Some(Level::ReadOnly),
            network: Some(true),
            writable: vec!["/srv/shared".into(), "~/notes".into()],
            engine: Engine::Bubblewrap,
        },
        sessions: SessionsConfig {
            titles: Titles::Prompt,
        },
        shell: ShellConfig {
            spill_bytes: 1_048_576,
            env: VariableRules {
                pass: vec![
                    NamePattern::Name("AWS_PROFILE".to_owned()),
                    NamePattern::Prefix("APP_".to_owned()),
                ],
                remove: vec![NamePattern::Name("SSH_AUTH_SOCK".to_owned())],
                set: [
                    ("CI".to_owned(), "1".to_owned()),
                    ("GH_TOKEN".to_owned(), "t".to_owned()),
                ]
                .into(),
            },
        },
        store: StoreConfig::Jsonl,
        file: PathBuf::from("DIR/config.toml"),
    };
    assert_eq!(load(Some(EVERYTHING.as_bytes()), &[]), Ok(expected.clone()));

    let overridden = Config {
        model: provided("anthropic", "claude-sonnet-4-5"),
        ..expected.clone()
    };
    assert_eq!(
        load(
            Some(EVERYTHING.as_bytes()),
            &[("PLACARD_MODEL", " anthropic/claude-sonnet-4-5\n")]
        ),
        Ok(overridden)
    );
    let overridden = Config {
        model: ModelName::Offline,
        ..expected
    };
    assert_eq!(
        load(Some(EVERYTHING.as_bytes()), &[("PLACARD_MODEL", "offline")]),
        Ok(overridden)
    );
}

/// Files, and what is said of each after the name of the file.
fn check(cases: &[(&str, String)]) {
    for (file, expected) in cases {
        let expected = format!("DIR/config.toml:{expected}");
        assert_eq!(load(Some(file.as_bytes()), &[]), Err(expected), "{file}");
    }
}

#[test]
fn mistakes_at_the_top() {
    let known = "anthropic, deepseek, gemini, ollama, openai";
    check(&[
        (
            "modle = \"offline\"",
            "1: unknown key `modle` at the top; allowed there: model, max_steps, providers, cards, sandbox, shell, sessions, store".to_owned(),
        ),
        (
            "[cards]\nclassified = \"both\"",
            "2: `classified` must be \"label\" or \"kind\", and here it is the text `both`".to_owned(),
        ),
        (
            "[cards]\nlabel = true",
            "2: unknown key `label` in [cards]; allowed there: classified".to_owned(),
        ),
        (
            "# one\n\n[shel]\ntimeout = 3",
            "3: unknown key `shel` at the top; allowed there: model, max_steps, providers, cards, sandbox, shell, sessions, store".to_owned(),
        ),
        (
            "[providers.openai]\napi_key = \"sk-0123456789abcdef\"",
            "2: unknown key `api_key` in [providers.openai]; allowed there: base_url, api_key_env, kind".to_owned(),
        ),
        (
            "model = 5",
            "1: `model` must be a model's name in quotes, such as \"deepseek/deepseek-chat\", and here it is the \
             number `5`"
                .to_owned(),
        ),
        (
            "\nmodel = \"gpt-5\"",
            format!(
                "2: `model`: `gpt-5` is no model; write `offline`, or provider/model such as `deepseek/deepseek-chat` \
                 (providers: {known})"
            ),
        ),
        (
            "model = \"mistral/large\"\n[providers.local]\nbase_url = \"http://localhost:1\"",
            "1: `model`: unknown provider `mistral`; known are anthropic, deepseek, gemini, local, ollama, openai; to \
             use an endpoint that speaks OpenAI's API, add [providers.NAME] with base_url = \"https://…/v1\" and \
             api_key_env = \"…\" to DIR/config.toml, and write NAME/model"
                .to_owned(),
        ),
        ("max_steps = 0", "1: `max_steps` must be a whole number from 1 to 1000, and here it is the number `0`".to_owned()),
        (
            "max_steps = 1001",
            "1: `max_steps` must be a whole number from 1 to 1000, and here it is the number `1001`".to_owned(),
        ),
        (
            "max_steps = -1",
            "1: `max_steps` must be a whole number from 1 to 1000, and here it is the number `-1`".to_owned(),
        ),
        (
            "max_steps = \"50\"",
            "1: `max_steps` must be a whole number from 1 to 1000, and here it is the text `50`".to_owned(),
        ),
        (
            "max_steps = 1.5",
            "1: `max_steps` must be a whole number from 1 to 1000, and here it is a number with a fraction".to_owned(),
        ),
        (
            "max_steps = \"sk-0123456789\"",
            "1: `max_steps` must be a whole number from 1 to 1000, and here it is the text (not shown: it looks like a \
             secret)"
                .to_owned(),
        ),
    ]);
}

#[test]
fn mistakes_in_what_commands_may_do() {
    let paths = "a list of folders in quotes, each from / or ~/ on, such as [\"~/notes\"]";
    let names = "a list of variables' names in quotes, such as [\"AWS_PROFILE\", \"APP_*\"]";
    let bare = "a bare `*`, which is not allowed: a prefix must stand before it";
    let bytes = "a whole number of bytes, at most 1099511627776, such as 67108864";
    let secret = "looks like a secret, and no secret passes by its name alone; to give it to every command all the same, \
                  write its value in [shell.env.set]";
    check(&[
        (
            "[sandbox]\nlevel = \"workspace\"",
            "2: `level` must be \"workspace-write\", \"read-only\" or \"off\", and here it is the text `workspace`".to_owned(),
        ),
        (
            "[sandbox]\nnetwork = \"off\"",
            "2: `network` must be true or false, and here it is the text `off`".to_owned(),
        ),
        (
            "[sandbox]\nengine = \"docker\"",
            "2: `engine` must be \"landlock\" or \"bubblewrap\", and here it is the text `docker`".to_owned(),
        ),
        (
            "[sandbox]\nwritable = \"/srv\"",
            format!("2: `writable` must be {paths}, and here it is the text `/srv`"),
        ),
        (
            "[sandbox]\nwritable = [\n  \"/srv\",\n  \"notes\",\n]",
            format!("4: `writable` must be {paths}, and here it is the text `notes`"),
        ),
        (
            "[sandbox]\nwritable = [\"~ada/x\"]",
            format!("2: `writable` must be {paths}, and here it is the text `~ada/x`"),
        ),
        (
            "[sandbox]\nallow = []",
            "2: unknown key `allow` in [sandbox]; allowed there: level, network, writable, engine".to_owned(),
        ),
        (
            "sandbox = \"off\"",
            "1: `sandbox` must be a table, and here it is the text `off`".to_owned(),
        ),
        (
            "[shell]\nspill_bytes = \"64 MiB\"",
            format!("2: `spill_bytes` must be {bytes}, and here it is the text `64 MiB`"),
        ),
        (
            "[shell]\nspill_bytes = -1",
            format!("2: `spill_bytes` must be {bytes}, and here it is the number `-1`"),
        ),
        (
            "[shell]\nshell = \"zsh\"",
            "2: unknown key `shell` in [shell]; allowed there: spill_bytes, env".to_owned(),
        ),
        (
            "[shell.env]\nPATH = \"/bin\"",
            "2: unknown key `PATH` in [shell.env]; allowed there: pass, remove, set".to_owned(),
        ),
        (
            "[shell.env]\npass = [\"*\"]",
            format!("2: `pass` must be {names}, and here it is {bare}"),
        ),
        (
            "[shell.env]\nremove = [\"LANG\",\n\"*\"]",
            format!("3: `remove` must be {names}, and here it is {bare}"),
        ),
        (
            "[shell.env]\nremove = [\"A=B\"]",
            format!("2: `remove` must be {names}, and here it is the text `A=B`"),
        ),
        ("[shell.env]\npass = [\"LANG\", \"GH_TOKEN\"]", format!("2: `GH_TOKEN` {secret}")),
        ("[shell.env]\npass = [\"MY_SECRET_*\"]", format!("2: `MY_SECRET_*` {secret}")),
        (
            "[shell.env]\nset = { \"A B\" = \"x\" }",
            "2: `set` must be a table of variables, such as { CI = \"1\" }, without PWD and PLACARD_COMMAND, and here it \
             is one with the name `A B`"
                .to_owned(),
        ),
        (
            "[shell.env.set]\nPWD = \"/\"",
            "2: `set` must be a table of variables, such as { CI = \"1\" }, without PWD and PLACARD_COMMAND, and here it \
             is one with the name `PWD`"
                .to_owned(),
        ),
        (
            "[shell.env.set]\nCI = 1",
            "2: `CI` must be a text in quotes without NUL characters, and here it is something else (not shown: it may be \
             a secret)"
                .to_owned(),
        ),
        (
            "[shell.env.set]\nCI = \"a\\u0000b\"",
            "2: `CI` must be a text in quotes without NUL characters, and here it is something else (not shown: it may be \
             a secret)"
                .to_owned(),
        ),
    ]);
}

#[test]
fn mistakes_in_providers() {
    let variable =
        "the name of the environment variable that holds the key, such as \"DEEPSEEK_API_KEY\"";
    let address = "an address in quotes, such as \"https://api.deepseek.com/v1\"";
    check(&[
        (
            "providers = [1]",
            "1: `providers` must be tables, such as [providers.deepseek], and here it is a list".to_owned(),
        ),
        (
            "[providers]\ndeepseek = true",
            "2: `providers.deepseek` must be a table, and here it is `true`".to_owned(),
        ),
        (
            "[providers.\"a b\"]",
            "1: a provider's name is made of letters, digits, `-`, `_` and `.`, and is not `offline`: `a b` is not"
                .to_owned(),
        ),
        (
            "[providers.local]\nkind = \"openai\"",
            "1: [providers.local] needs `base_url`, such as \"http://127.0.0.1:8000/v1\", because `local` is none of \
             the providers that Placard knows"
                .to_owned(),
        ),
        (
            "[providers.local]\nbase_url = \"http://localhost\"\nkind = \"gemini\"",
            "3: `kind` must be \"openai\" or \"anthropic\", and here it is the text `gemini`".to_owned(),
        ),
        (
            "[providers.openai]\nkind = \"openai\"",
            "2: `kind` is only for providers of your own; `openai` is known, so remove this line or choose another name"
                .to_owned(),
        ),
        (
            "[providers.openai]\nbase_url = \"api.openai.com\"",
            format!("2: `base_url` must be {address}, and here it is no address"),
        ),
        (
            "[providers.openai]\nbase_url = \"ftp://host\"",
            format!(
                "2: `base_url` must be {address}, and here it is an address that begins neither with http:// nor with \
                 https://"
            ),
        ),
        (
            "[providers.openai]\nbase_url = \"https://ann:pass@host\"",
            format!(
                "2: `base_url` must be {address}, and here it is an address with a user or password in it; keys belong \
                 in `api_key_env`"
            ),
        ),
        (
            "[providers.openai]\nbase_url = \"https://host/v1?key=hidden\"",
            format!("2: `base_url` must be {address}, and here it is an address with `?` or `#` in it"),
        ),
        (
            "[providers.openai]\napi_key_env = \"sk-0123\"",
            format!(
                "2: `api_key_env` must be {variable}, and here it is something else (not shown: it may be the key)"
            ),
        ),
        (
            "[providers.openai]\napi_key_env = \"AKIA0123456789ABCDEFGHIJKLMNOP\"",
            format!(
                "2: `api_key_env` must be {variable}, and here it is something else (not shown: it may be the key)"
            ),
        ),
    ]);
}

#[test]
fn files_that_are_no_toml() {
    check(&[
        (
            "model = \"offline\"\nmodel = \"offline\"",
            "2: this is not valid TOML: duplicate key".to_owned(),
        ),
        (
            "max_steps = 5\n[providers.openai]\napi_key_env = sk-0123456789abcdef",
            "3: this is not valid TOML: string values must be quoted, expected literal string"
                .to_owned(),
        ),
        (
            "model = \"offline",
            "1: this is not valid TOML: invalid basic string, expected `\"`".to_owned(),
        ),
        (
            "\n\n[providers",
            "3: this is not valid TOML: unclosed table, expected `]`".to_owned(),
        ),
    ]);
}

#[test]
fn a_file_that_is_no_text() {
    let expected = "DIR/config.toml:2: this is not UTF-8 text; save the file as UTF-8";
    assert_eq!(
        load(Some(b"max_steps = 5\nmodel = \"\xff\""), &[]),
        Err(expected.to_owned())
    );
}

#[test]
fn a_file_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::create_dir(&file).unwrap();
    let surroundings = Surroundings {
        environment: [("PLACARD_MODEL", "offline")].into_iter().collect(),
        config_dir: folder.path().to_owned(),
        data_dir: PathBuf::new(),
        cache_dir: PathBuf::new(),
        program: PathBuf::new(),
    };
    let error = Config::load(&surroundings).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("cannot read {}: it is not a regular file", file.display())
    );
}

#[test]
fn a_variable_that_names_no_model() {
    assert_eq!(
        load(None, &[("PLACARD_MODEL", "mistral/large")]),
        Err("PLACARD_MODEL: unknown provider `mistral`; known are anthropic, deepseek, gemini, ollama, openai; to use \
             an endpoint that speaks OpenAI's API, add [providers.NAME] with base_url = \"https://…/v1\" and \
             api_key_env = \"…\" to DIR/config.toml, and write NAME/model"
            .to_owned())
    );
    assert_eq!(
        load(None, &[("PLACARD_MODEL", "sk-or-v1-0123")]),
        Err("PLACARD_MODEL: (not shown: it looks like a secret) is no model; write `offline`, or provider/model such \
             as `deepseek/deepseek-chat` (providers: anthropic, deepseek, gemini, ollama, openai)"
            .to_owned())
    );
}

#[test]
fn secrets_are_not_shown() {
    let hidden = "(not shown: it looks like a secret)";
    let cases = [
        ("deepseek/deepseek-chat", "`deepseek/deepseek-chat`"),
        ("monkey-7b", "`monkey-7b`"),
        (
            "anthropic/claude-sonnet-4-5-20250929",
            "`anthropic/claude-sonnet-4-5-20250929`",
        ),
        ("https://host/v1", "`https://host/v1`"),
        ("a\nb", "`a\\nb`"),
        ("sk-1", hidden),
        ("openai/sk-1", hidden),
        ("Bearer gsk_1", hidden),
        ("https://ann:pass@host", hidden),
        ("x0123456789abcdef01234567", hidden),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected);
    }
}
