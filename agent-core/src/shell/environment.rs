//! What of the person's environment a command gets: an allow-list, never a deny-list.
//!
//! A list of what to hide forgets the next provider's key; a list of what to pass forgets, at worst, a convenience.

use std::ffi::{OsStr, OsString};

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
    // the way out of a company network
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    // toolchains
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
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
    "MANPATH",
    "INFOPATH",
    // the agent of ssh signs, but gives no key away; without it no remote of git works
    "SSH_AUTH_SOCK",
];

/// Whole families that pass.
const ALLOWED_PREFIXES: &[&str] = &["LC_"];

/// Parts of names that never pass, whatever list they are on.
const SECRET_PARTS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "PRIVATE",
];

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
];

/// The environment of a command.
pub fn for_command(person: &Environment) -> Vec<(OsString, OsString)> {
    let mut passed: Vec<(OsString, OsString)> = person
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    passed.extend(
        FIXED
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value))),
    );
    passed
}

fn passes(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let upper = name.to_ascii_uppercase();
    !SECRET_PARTS.iter().any(|part| upper.contains(part))
        && (ALLOWED.contains(&name)
            || ALLOWED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_listed_pass_and_the_terminal_is_ours() {
        let person: Environment = [
            ("PATH", "/bin"),
            ("HOME", "/home/ada"),
            ("LC_TIME", "C"),
            ("https_proxy", "http://proxy:3128"),
            ("TERM", "dumb"),
            ("EDITOR", "vim"),
            ("LD_PRELOAD", "/tmp/x.so"),
            ("BASH_ENV", "/tmp/rc"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("OPENAI_API_KEY", "k"),
            ("AWS_SESSION_TOKEN", "t"),
            ("LC_SECRET_TOKEN", "sneaky"),
            ("WHATEVER", "w"),
        ]
        .into_iter()
        .collect();
        let mut expected: Vec<(OsString, OsString)> = [
            ("HOME", "/home/ada"),
            ("LC_TIME", "C"),
            ("PATH", "/bin"),
            ("https_proxy", "http://proxy:3128"),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
        expected.extend(
            FIXED
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
        );
        assert_eq!(for_command(&person), expected);
    }
}
