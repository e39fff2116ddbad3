//! Which variables hold secrets, by their names and by what an address gives away.
//!
//! The allow-list needs none of this. It guards the names that a person adds to it, where a pattern such as `MY_*` may
//! fit more than they had in mind.

/// What makes a name a secret's wherever it stands in it.
const PARTS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "PGPASS",
    "CREDENTIAL",
    "PRIVATE",
    "COOKIE",
    "OAUTH",
    "DATABASE_URL",
    "CONNECTION_STRING",
    "WEBHOOK",
];

/// What does so only as a whole word between underscores: `COMPASS`, `AUTHOR` and `PINNED` are no secrets.
const WORDS: &[&str] = &[
    "PASS",
    "PWD",
    "PW",
    "PIN",
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "JWT",
    "DSN",
    "CREDS",
    "SESSION",
];

/// Names with such a word that are none: where the agent of ssh listens, the folders of a shell, and how a desktop calls itself.
const KNOWN_HARMLESS: &[&str] = &[
    "SSH_AUTH_SOCK",
    "PWD",
    "OLDPWD",
    "DESKTOP_SESSION",
    "XDG_SESSION_TYPE",
    "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP",
];

/// Whether a variable of this name may hold a secret.
pub fn looks_like_one(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    !KNOWN_HARMLESS.contains(&upper.as_str())
        && (PARTS.iter().any(|part| upper.contains(part))
            || upper
                .split(|c: char| !c.is_ascii_alphanumeric())
                .any(|word| WORDS.contains(&word)))
}

/// Whether a value is an address with a password in it, as databases have: `scheme://user:password@host`.
pub fn address_with_password(value: &str) -> bool {
    value.split_whitespace().any(|word| {
        word.split_once("://").is_some_and(|(_, rest)| {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            authority
                .rsplit_once('@')
                .is_some_and(|(user, _)| user.contains(':'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_of_secrets() {
        let secrets = [
            "OPENAI_API_KEY",
            "openai_api_key",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_STORAGE_CONNECTION_STRING",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GH_TOKEN",
            "NPM_CONFIG__AUTH",
            "npm_config__authToken",
            "PGPASSWORD",
            "PGPASSFILE",
            "MYSQL_PWD",
            "DB_PASS",
            "BORG_PASSPHRASE",
            "DATABASE_URL",
            "HEROKU_POSTGRESQL_DATABASE_URL",
            "SENTRY_DSN",
            "SLACK_WEBHOOK_URL",
            "BW_SESSION",
            "OP_SESSION_my",
            "HTTP_COOKIE",
            "DOCKER_AUTH_CONFIG",
            "VAULT_PRIVATE",
            "LC_SECRET_TOKEN",
        ];
        let harmless = [
            "PATH",
            "PWD",
            "SSH_AUTH_SOCK",
            "GIT_AUTHOR_NAME",
            "COMPASS",
            "BYPASS_CACHE",
            "KUBECONFIG",
            "AWS_PROFILE",
            "AWS_REGION",
            "XDG_SESSION_TYPE",
            "PINNED",
            "DOCKER_HOST",
        ];
        let wrong: Vec<&str> = secrets
            .into_iter()
            .filter(|name| !looks_like_one(name))
            .chain(harmless.into_iter().filter(|name| looks_like_one(name)))
            .collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn addresses_with_passwords() {
        for (value, expected) in [
            ("postgres://ada:pw@db/atlas", true),
            ("http://ada:pw@proxy:3128", true),
            ("direct,https://ada:pw@goproxy.example", true),
            ("a https://ada:p@w@host b", true),
            ("http://proxy:3128", false),
            ("https://ada@host/x", false),
            ("http://proxy:3128/a:b@c", false),
            ("user:pw@host", false),
            ("", false),
        ] {
            assert_eq!((value, address_with_password(value)), (value, expected));
        }
    }
}
