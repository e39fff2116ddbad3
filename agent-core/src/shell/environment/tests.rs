//! What passes, and what does not.

use pretty_assertions::assert_eq;

use super::*;

/// What a command has of `person` under these rules, beside what every command has.
fn passed(person: &[(&str, &str)], rules: &VariableRules) -> Vec<(String, String)> {
    let person: Environment = person.iter().copied().collect();
    for_command(&person, rules)
        .into_iter()
        .map(|(name, value)| {
            let text = |text: OsString| text.into_string().unwrap();
            (text(name), text(value))
        })
        .filter(|(name, value)| !FIXED.contains(&(name.as_str(), value.as_str())))
        .collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn patterns(texts: &[&str]) -> Vec<NamePattern> {
    texts
        .iter()
        .map(|text| NamePattern::parse(text).unwrap())
        .collect()
}

#[test]
fn f19_only_the_listed_pass() {
    let person = [
        ("PATH", "/bin"),
        ("HOME", "/home/ada"),
        ("LANG", "C.UTF-8"),
        ("LC_TIME", "C"),
        ("https_proxy", "http://proxy:3128"),
        ("HTTPS_PROXY", "http://ada:pw@proxy:3128"),
        ("SSH_AUTH_SOCK", "/run/ssh"),
        ("LD_PRELOAD", "/tmp/x.so"),
        ("BASH_ENV", "/tmp/rc"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
        ("XDG_RUNTIME_DIR", "/run/user/1"),
        ("OPENAI_API_KEY", "k"),
        ("AWS_PROFILE", "work"),
        ("AWS_SESSION_TOKEN", "t"),
        ("LC_SECRET_TOKEN", "sneaky"),
        ("WHATEVER", "w"),
    ];
    let expected = owned(&[
        ("HOME", "/home/ada"),
        ("HTTPS_PROXY", "http://ada:pw@proxy:3128"),
        ("LANG", "C.UTF-8"),
        ("LC_TIME", "C"),
        ("PATH", "/bin"),
        ("SSH_AUTH_SOCK", "/run/ssh"),
        ("https_proxy", "http://proxy:3128"),
    ]);
    assert_eq!(passed(&person, &VariableRules::default()), expected);
}

#[test]
fn f19_the_terminal_is_ours() {
    let person: Environment = [("TERM", "dumb"), ("EDITOR", "vim"), ("GIT_PAGER", "less")]
        .into_iter()
        .collect();
    let mut expected: Vec<(OsString, OsString)> = FIXED
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect();
    expected.sort();
    assert_eq!(for_command(&person, &VariableRules::default()), expected);
}

#[test]
fn a_person_adds_removes_and_sets() {
    let person = [
        ("PATH", "/bin"),
        ("SSH_AUTH_SOCK", "/run/ssh"),
        ("AWS_PROFILE", "work"),
        ("AWS_REGION", "north"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("APP_MODE", "test"),
        ("APP_DB", "postgres://ada:pw@db/atlas"),
        ("APP_LEFT_OUT", "x"),
        ("OTHER", "o"),
    ];
    let rules = VariableRules {
        pass: patterns(&["AWS_*", "APP_*"]),
        remove: patterns(&["SSH_AUTH_SOCK", "APP_LEFT_*", "COLORTERM"]),
        set: [
            ("PAGER".to_owned(), "less".to_owned()),
            ("GH_TOKEN".to_owned(), "written down".to_owned()),
        ]
        .into(),
    };
    let expected = owned(&[
        ("APP_MODE", "test"),
        ("AWS_PROFILE", "work"),
        ("AWS_REGION", "north"),
        ("GH_TOKEN", "written down"),
        ("PAGER", "less"),
        ("PATH", "/bin"),
    ]);
    assert_eq!(passed(&person, &rules), expected);
    let names: Vec<OsString> = for_command(&Environment::default(), &rules)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(!names.contains(&"COLORTERM".into()), "{names:?}");
    assert!(!format!("{rules:?}").contains("written down"));
}

#[test]
fn patterns_are_names_and_beginnings() {
    assert_eq!(
        NamePattern::parse("APP_MODE"),
        Some(NamePattern::Name("APP_MODE".to_owned()))
    );
    assert_eq!(
        NamePattern::parse("APP_*"),
        Some(NamePattern::Prefix("APP_".to_owned()))
    );
    for wrong in ["", "*", "A=B", "1A", "A*B", "A B", "*_KEY"] {
        assert_eq!(NamePattern::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn the_names_tell_what_passes_without_a_value() {
    let person: Environment = [
        ("PATH", "/bin"),
        ("GH_TOKEN", "t"),
        ("LANG", "C"),
        ("TERM", "dumb"),
        ("EDITOR", "vim"),
        ("VISUAL", "vim"),
    ]
    .into_iter()
    .collect();
    // A fixed variable is Placard's own even where a person lets theirs pass; to have another they set it.
    let rules = VariableRules {
        pass: patterns(&["TERM"]),
        remove: patterns(&["VISUAL", "GIT_*"]),
        set: [
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("PAGER".to_owned(), "less".to_owned()),
        ]
        .into(),
    };
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        names(&person, &rules),
        Names {
            passed: texts(&["PATH"]),
            held_back: texts(&["GH_TOKEN", "VISUAL"]),
            fixed: texts(&["TERM", "COLORTERM", "MANPAGER", "SYSTEMD_PAGER", "EDITOR"]),
        }
    );
}

#[test]
fn the_documentation_lists_what_passes() {
    let page = include_str!("../../../../docs/configuration.md");
    let (_, rest) = page.split_once("| what for | variables |").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let mut documented: Vec<&str> = table.split('`').skip(1).step_by(2).collect();
    documented.sort_unstable();
    let families = ALLOWED_PREFIXES.iter().map(|prefix| format!("{prefix}*"));
    let mut passing: Vec<String> = ALLOWED
        .iter()
        .chain(PROXIES)
        .map(|name| (*name).to_owned())
        .chain(families)
        .collect();
    passing.sort_unstable();
    assert_eq!(documented, passing);
}
