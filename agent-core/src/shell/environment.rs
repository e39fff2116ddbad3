//! What of the person's environment a command gets: an allow-list, never a deny-list.
//!
//! A list of what to hide forgets the next provider's key; a list of what to pass forgets, at worst, a convenience.

pub mod secret_name;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::surroundings::Environment;

/// Variables that pass when they are set.
const ALLOWED: &[&str] = &[
    // who and where
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HOSTNAME",
    // language
    "LANG",
    "LANGUAGE",
    "LOCPATH",
    // folders
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_STATE_HOME",
    // certificates of a company network
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    // whose work it is
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    // toolchains
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOMODCACHE",
    "GOCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "DOTNET_ROOT",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "FNM_DIR",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "SDKMAN_DIR",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "CCACHE_DIR",
    "SCCACHE_DIR",
    "MANPATH",
    "INFOPATH",
    // the agent of ssh signs, but gives no key away; without it no remote of git works
    "SSH_AUTH_SOCK",
];

/// The way out of a company network. These pass with a password in them too: without it nothing comes through, and a person who
/// minds removes them.
const PROXIES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// Whole families that pass.
const ALLOWED_PREFIXES: &[&str] = &["LC_"];

/// What replaces an editor: a command that nobody can answer must fail at once and say why.
const NO_EDITOR: &str = "sh -c 'echo \"placard: there is no editor here; give the text by an option (git commit -m) or write the file\" >&2; exit 1' sh";

/// What every command gets, whatever the person's environment holds: a capable terminal, no pager, no prompt, no editor.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "xterm-256color"),
    ("COLORTERM", "truecolor"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("EDITOR", NO_EDITOR),
    ("VISUAL", NO_EDITOR),
    ("GIT_EDITOR", NO_EDITOR),
    ("GIT_SEQUENCE_EDITOR", NO_EDITOR),
];

/// What a person lets pass beside the allow-list, keeps back, and sets: `[shell.env]` of the configuration.
///
/// `Debug` shows no value: a person may have set a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct VariableRules {
    /// Further names that pass, unless they look like secrets.
    pub pass: Vec<NamePattern>,
    /// Names that do not pass, whatever lets them.
    pub remove: Vec<NamePattern>,
    /// Variables with these very values. They win over everything else.
    pub set: BTreeMap<String, String>,
}

impl fmt::Debug for VariableRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VariableRules")
            .field("pass", &self.pass)
            .field("remove", &self.remove)
            .field("set", &self.set.keys())
            .finish()
    }
}

/// One name, or all that begin alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamePattern {
    /// This very name.
    Name(String),
    /// Every name that begins so; written with a `*` at its end.
    Prefix(String),
}

impl NamePattern {
    /// Reads `NAME` or `PREFIX_*`; nothing for what no variable can be called.
    pub fn parse(text: &str) -> Option<Self> {
        let (beginning, whole) = match text.strip_suffix('*') {
            Some(beginning) => (beginning, false),
            None => (text, true),
        };
        is_variable_name(beginning).then(|| {
            let beginning = beginning.to_owned();
            if whole {
                Self::Name(beginning)
            } else {
                Self::Prefix(beginning)
            }
        })
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Name(whole) => name == whole,
            Self::Prefix(beginning) => name.starts_with(beginning),
        }
    }
}

/// Whether a variable can be called so, and programs find it: letters, digits and `_`, no digit first.
pub fn is_variable_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(fits) && !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty()
}

/// The environment of a command, by name.
pub fn for_command(person: &Environment, rules: &VariableRules) -> Vec<(OsString, OsString)> {
    let passed = person
        .iter()
        .filter(|(name, value)| passes(name, value, rules))
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let fixed = fixed(rules).map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let set = rules
        .set
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    // The later of one name counts.
    let all: BTreeMap<OsString, OsString> = passed.chain(fixed).chain(set).collect();
    all.into_iter().collect()
}

/// What of [`FIXED`] a person has not removed.
fn fixed(rules: &VariableRules) -> impl Iterator<Item = (&'static str, &'static str)> {
    FIXED
        .iter()
        .copied()
        .filter(|(name, _)| !any_fits(&rules.remove, name))
}

/// The names of variables: which of the person's reach commands with their values, which do not at all, and which Placard sets.
/// What the person sets in [`VariableRules::set`] is in none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Those that do.
    pub passed: Vec<String>,
    /// Those that do not.
    pub held_back: Vec<String>,
    /// Those that every command gets from Placard with a value that is always the same, whether the person has them or not.
    pub fixed: Vec<String>,
}

/// Sorts the person's variables by whether they reach commands. Names only.
pub fn names(person: &Environment, rules: &VariableRules) -> Names {
    let fixed: Vec<&str> = fixed(rules)
        .map(|(name, _)| name)
        .filter(|name| !rules.set.contains_key(*name))
        .collect();
    let replaced = |name: &OsStr| {
        name.to_str()
            .is_some_and(|name| rules.set.contains_key(name) || fixed.contains(&name))
    };
    let (passed, held_back): (Vec<_>, Vec<_>) = person
        .iter()
        .filter(|(name, _)| !replaced(name))
        .partition(|(name, value)| passes(name, value, rules));
    let texts = |variables: Vec<(&OsStr, &OsStr)>| {
        variables
            .into_iter()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    };
    Names {
        passed: texts(passed),
        held_back: texts(held_back),
        fixed: fixed.into_iter().map(str::to_owned).collect(),
    }
}

/// Whether a variable of the person's reaches a command with its value.
fn passes(name: &OsStr, value: &OsStr, rules: &VariableRules) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let proxy = PROXIES.contains(&name);
    let wanted = proxy
        || ALLOWED.contains(&name)
        || ALLOWED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || any_fits(&rules.pass, name);
    let secret = secret_name::looks_like_one(name)
        || (!proxy && secret_name::address_with_password(&value.to_string_lossy()));
    wanted && !secret && !any_fits(&rules.remove, name)
}

fn any_fits(patterns: &[NamePattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(name))
}

#[cfg(test)]
mod tests;
