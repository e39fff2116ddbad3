//! The table `[store]`, right and wrong.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn a_server_keeps_the_sessions() {
    let address = "postgres://ada:secret@db.example/placard";
    let variables = [("PLACARD_STORE", address)];
    for file in [
        format!("[store]\nurl = \"{address}\""),
        "[store]\nurl_env = \"PLACARD_STORE\"".to_owned(),
    ] {
        let expected = Config {
            store: StoreConfig::Postgres(ServerAddress::parse(address).unwrap()),
            ..unconfigured()
        };
        assert!(!format!("{expected:?}").contains("secret"));
        assert_eq!(load(Some(file.as_bytes()), &variables), Ok(expected));
    }
}

#[test]
fn mistakes_about_the_store() {
    let kinds = "\"sqlite\" or \"jsonl\" (for PostgreSQL write `url` or `url_env` instead)";
    let address =
        "the address of a database in quotes, such as \"postgres://you@db.example/placard\"";
    let variable = "the name of the environment variable that holds the address, such as \"PLACARD_STORE_URL\"";
    check(&[
        (
            "[store]\nkind = \"postgres\"",
            format!("2: `kind` must be {kinds}, and here it is the text `postgres`"),
        ),
        (
            "[store]\nkind = \"sqlite\"\nurl = \"postgres://db.example/placard\"",
            "3: `kind` and `url` both say where sessions are kept; remove one of them".to_owned(),
        ),
        (
            "[store]\nurl_env = \"DB\"\n\nurl = \"postgres://db.example/placard\"",
            "4: `url_env` and `url` both say where sessions are kept; remove one of them".to_owned(),
        ),
        (
            "[store]\nurl = \"/srv/sessions\"",
            format!(
                "2: `url` must be {address}, and here it is an address that begins neither with postgres:// nor with \
                 postgresql://"
            ),
        ),
        (
            "[store]\nurl = \"host=db.example password=secret\"",
            format!(
                "2: `url` must be {address}, and here it is an address that begins neither with postgres:// nor with \
                 postgresql://"
            ),
        ),
        (
            "[store]\nurl = 5432",
            format!("2: `url` must be {address}, and here it is the number `5432`"),
        ),
        (
            "[store]\nurl_env = \"postgres://ada:secret@db.example/placard\"",
            format!("2: `url_env` must be {variable}, and here it is something else (not shown: it may be the address)"),
        ),
        (
            "[store]\nurl_env = \"PLACARD_STORE_URL\"",
            "2: the variable PLACARD_STORE_URL that `url_env` names is not set; set it to the address of a database, such \
             as postgres://you@db.example/placard, or write `url`"
                .to_owned(),
        ),
        (
            "[store]\npath = \"/srv\"",
            "2: unknown key `path` in [store]; allowed there: kind, url, url_env".to_owned(),
        ),
        (
            "store = \"jsonl\"",
            "1: `store` must be a table, and here it is the text `jsonl`".to_owned(),
        ),
    ]);
    assert_eq!(
        load(
            Some(b"[store]\nurl_env = \"DB\""),
            &[("DB", "postgres://ada:secret@db.example")]
        ),
        Err(
            "DIR/config.toml:2: the variable DB that `url_env` names must hold the address of a database, such as \
             postgres://you@db.example/placard, and here it is an address that names no database; write it behind the \
             host, as in /placard"
                .to_owned()
        )
    );
}
