//! `placard doctor`: what works here, what does not, and what a session in this folder would be given.
//!
//! It looks and leaves everything as it was. Of variables it tells names, of a key whether it is set.

mod checks;
mod finding;
mod login_shell;
mod store;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use agent_core::Surroundings;
use agent_core::config::Config;

use crate::arguments::DoctorArguments;
use crate::doctor::finding::{Finding, Report, State};
use crate::error::ProgramError;
use crate::host;

/// Looks at everything and prints the report; code 1 when something does not work.
pub(crate) async fn examine(
    arguments: DoctorArguments,
    surroundings: Surroundings,
) -> Result<ExitCode, ProgramError> {
    let cwd = PathBuf::from(host::folder(arguments.cwd.as_deref())?);
    let report = look(&surroundings, &cwd).await;
    let text = if arguments.json {
        report.json()
    } else {
        report.text()
    };
    let mut stdout = std::io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(ProgramError::Stdout)?;
    Ok(if report.works() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

async fn look(surroundings: &Surroundings, cwd: &std::path::Path) -> Report {
    let loaded = Config::load(surroundings);
    let environment = &surroundings.environment;
    let support = agent_core::shell::sandbox::Support::probe(environment);
    let configured = |topic, look: &dyn Fn(&Config) -> Finding| match &loaded {
        Ok(config) => look(config),
        Err(_) => unknown(topic),
    };
    Report {
        findings: vec![
            checks::configuration(surroundings, &loaded),
            configured("model", &|config| checks::model(config, environment)),
            checks::sessions(&surroundings.data_dir),
            match &loaded {
                Ok(config) => store::open(config, &surroundings.data_dir).await,
                Err(_) => unknown("store"),
            },
            checks::bash(environment),
            login_shell::compare(environment).await,
            checks::kernel(),
            checks::landlock(&support),
            checks::seccomp(&support),
            checks::bubblewrap(&support).await,
            configured("sandbox", &|config| {
                checks::sandbox(config, surroundings, &support, cwd)
            }),
            configured("variables", &|config| {
                checks::variables(config, environment)
            }),
        ],
    }
}

fn unknown(topic: &'static str) -> Finding {
    Finding::new(
        topic,
        State::Note,
        "not known until the configuration is mended; before that no session starts",
    )
}
