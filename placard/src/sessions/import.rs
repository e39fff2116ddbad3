//! `placard sessions import`.

use std::path::Path;

use agent_core::session::SessionId;
use agent_core::store::SessionStore;
use agent_core::store::interchange;
use serde_json::json;
use tokio::io::{AsyncBufRead, BufReader};

use super::export::lost_words;
use super::{Answer, json};
use crate::arguments::ImportArguments;
use crate::error::ProgramError;

/// How much is read at a time.
const PART: usize = 64 * 1024;

/// Stores a session that was exported, and tells its id.
pub(crate) async fn import(
    store: &dyn SessionStore,
    arguments: &ImportArguments,
) -> Result<Answer, ProgramError> {
    let name = arguments.new_id.then(SessionId::fresh);
    let place = place(&arguments.file);
    let mut source = open(&arguments.file).await?;
    let carried = interchange::import(store, source.as_mut(), name)
        .await
        .map_err(|source| ProgramError::Import {
            place,
            source: Box::new(source),
        })?;
    Ok(Answer {
        text: if arguments.json {
            json::line(&json!({
                "id": carried.id,
                "events": carried.events,
                "outputs": carried.blobs,
                "missing_outputs": carried.missing.len(),
            }))
        } else {
            format!("{}\n", carried.id)
        },
        notes: lost_words(carried.missing.len()).into_iter().collect(),
        faults: Vec::new(),
    })
}

fn place(file: &Path) -> String {
    if file == Path::new("-") {
        "stdin".to_owned()
    } else {
        file.display().to_string()
    }
}

async fn open(file: &Path) -> Result<Box<dyn AsyncBufRead + Send + Unpin>, ProgramError> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(PART, tokio::io::stdin())));
    }
    let opened = tokio::fs::File::open(file).await;
    let opened = opened.map_err(|source| ProgramError::File {
        path: file.to_owned(),
        source,
    })?;
    Ok(Box::new(BufReader::with_capacity(PART, opened)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::export::export;
    use crate::sessions::shelf::tests::{Shelf, id, said};
    use agent_core::store::memory::MemoryStore;
    use pretty_assertions::assert_eq;
    use std::path::PathBuf;

    fn asked(file: PathBuf, new_id: bool, json: bool) -> ImportArguments {
        ImportArguments { file, new_id, json }
    }

    #[tokio::test]
    async fn what_was_exported_is_imported_once_under_its_id() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::with(&[("1", said("one"))]).await;
        let file = home.path().join("one.jsonl");
        export(&shelf.store, &id("1"), &file).await.unwrap();
        let other = MemoryStore::default();
        let answer = import(&other, &asked(file.clone(), false, false)).await;
        assert_eq!(answer.unwrap(), Answer::text("1\n".into()));
        assert_eq!(
            other.read(&id("1"), 0, 9).await.unwrap(),
            shelf.store.read(&id("1"), 0, 9).await.unwrap()
        );
        let again = import(&other, &asked(file.clone(), false, false)).await;
        assert_eq!(
            again.unwrap_err().to_string(),
            format!(
                "{}: there is a session 1 already, and it was left as it is",
                file.display()
            )
        );
        let answer = import(&other, &asked(file, true, true)).await.unwrap();
        let told: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(told["events"], 4);
        assert_eq!(other.ids("", 9).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn what_is_no_session_is_told_with_its_place() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("shopping");
        std::fs::write(&file, "milk\n").unwrap();
        let fault = import(&MemoryStore::default(), &asked(file.clone(), false, false)).await;
        let fault = fault.unwrap_err();
        let words = fault.to_string();
        assert!(
            words.starts_with(&format!("{}: line 1 is not", file.display())),
            "{words}"
        );
        assert_eq!(fault.exit_status(), 1);
        let missing = home.path().join("none");
        let fault = import(
            &MemoryStore::default(),
            &asked(missing.clone(), false, false),
        )
        .await;
        assert_eq!(
            fault.unwrap_err().to_string(),
            format!(
                "{}: No such file or directory (os error 2)",
                missing.display()
            )
        );
    }
}
