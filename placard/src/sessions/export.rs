//! `placard sessions export`.

use std::path::{Path, PathBuf};

use agent_core::session::SessionId;
use agent_core::store::SessionStore;
use agent_core::store::interchange::{self, Carried, InterchangeError};
use tempfile::NamedTempFile;
use tokio::io::{AsyncWriteExt as _, BufWriter};

use super::Answer;
use crate::error::ProgramError;

/// How much is written at a time.
const PART: usize = 64 * 1024;

/// Writes a session as lines, to stdout or into a new file.
pub(crate) async fn export(
    store: &dyn SessionStore,
    id: &SessionId,
    output: &Path,
) -> Result<Answer, ProgramError> {
    let carried = if output == Path::new("-") {
        to_stdout(store, id).await?
    } else {
        to_file(store, id, output).await?
    };
    Ok(Answer {
        notes: lost_words(carried.missing.len()).into_iter().collect(),
        ..Answer::default()
    })
}

/// What is said of outputs that the session refers to and that nobody has.
pub(crate) fn lost_words(lost: usize) -> Option<String> {
    match lost {
        0 => None,
        1 => Some("one output is not kept any more; the session goes without it".to_owned()),
        more => Some(format!(
            "{more} outputs are not kept any more; the session goes without them"
        )),
    }
}

async fn to_stdout(store: &dyn SessionStore, id: &SessionId) -> Result<Carried, ProgramError> {
    let mut stdout = BufWriter::with_capacity(PART, tokio::io::stdout());
    match interchange::export(store, id, &mut stdout).await {
        Ok(carried) => Ok(carried),
        Err(InterchangeError::Write(error)) => Err(ProgramError::Stdout(error)),
        Err(other) => Err(other.into()),
    }
}

/// The file is there when it is whole, and never in place of another.
async fn to_file(
    store: &dyn SessionStore,
    id: &SessionId,
    path: &Path,
) -> Result<Carried, ProgramError> {
    let fault = |source| ProgramError::File {
        path: path.to_owned(),
        source,
    };
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(ProgramError::FileExists(path.to_owned()));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    // Readable by its owner only, as what is said in sessions is nobody else's business.
    let file = NamedTempFile::new_in(folder).map_err(fault)?;
    let handle = file.reopen().map_err(fault)?;
    let mut writer = BufWriter::with_capacity(PART, tokio::fs::File::from_std(handle));
    let carried = match interchange::export(store, id, &mut writer).await {
        Ok(carried) => carried,
        Err(InterchangeError::Write(error)) => return Err(fault(error)),
        Err(other) => return Err(other.into()),
    };
    writer.flush().await.map_err(fault)?;
    writer.get_ref().sync_all().await.map_err(fault)?;
    file.persist_noclobber(path)
        .map_err(|error| fault(error.error))?;
    Ok(carried)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::shelf::tests::{Shelf, id, said};
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn a_file_is_whole_and_new() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::with(&[("1", said("one"))]).await;
        let path = home.path().join("one.jsonl");
        let answer = export(&shelf.store, &id("1"), &path).await.unwrap();
        assert_eq!(answer, Answer::default());
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 5);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = export(&shelf.store, &id("1"), &path).await;
        assert_eq!(
            again.unwrap_err().to_string(),
            format!(
                "{} is there already and was left as it is; give the name of a new file",
                path.display()
            )
        );
        let nowhere = home.path().join("no/one.jsonl");
        let fault = export(&shelf.store, &id("1"), &nowhere).await;
        assert_eq!(fault.unwrap_err().exit_status(), 1);
        let missing = home.path().join("two.jsonl");
        assert!(export(&shelf.store, &id("2"), &missing).await.is_err());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
