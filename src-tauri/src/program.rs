//! Agent, hub and window: put together, and taken apart.

use std::time::Duration;

use acp_client::{AgentSource, Hub, HubSettings, PageAbilities};
use agent_core::Agent;
use tauri::async_runtime::{block_on, spawn};
use tauri::{AppHandle, Manager, RunEvent};

use crate::error::DesktopError;
use crate::page::{self, WindowPage};
use crate::surroundings::{self, Around};
use crate::window;

/// How long commands are given to end before the program does; their supervisors end what is left after it.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(3);

/// The agent's name until it has told its own.
const AGENT_NAME: &str = "Placard agent";

/// Opens the window, and returns when it was closed and nothing of the agent runs any more.
///
/// To be called on the main thread, after `agent_core::shell::supervisor::run_if_asked`.
pub fn run() -> Result<(), DesktopError> {
    find_display()?;
    let around = Around::of_this_process()?;
    agent_core::logging::start(around.agent.environment.get("PLACARD_LOG"));

    let login_path = surroundings::login_path(&around.agent);
    let agent = Agent::new(around.agent);
    if let Some(path) = login_path {
        agent.use_login_path(path.clone());
        // The start does not wait; by the time of the first command it is known.
        spawn(async move {
            path.get().await;
        });
    }
    let mut settings = HubSettings::new(embedded(agent.clone()), around.cwd, around.cache);
    settings.abilities = PageAbilities::of_the_chat();
    let app = tauri::Builder::default()
        .invoke_handler(tauri::generate_handler![page::hub_attach, page::hub_send])
        .setup(move |app| {
            // The hub's tasks live in the runtime that the commands of the page run in.
            let hub = block_on(async { Hub::start(settings) });
            app.manage(WindowPage::new(hub));
            app.manage(agent);
            end_on_signals(app.handle().clone());
            Ok(window::open(app.handle())?)
        })
        .build(tauri::generate_context!("../tauri.conf.json"))?;
    app.run(|app, event| {
        // Without a code: the last window was closed.
        if let RunEvent::ExitRequested {
            code: None, api, ..
        } = event
        {
            api.prevent_exit();
            end(app.clone());
        }
    });
    Ok(())
}

/// The window system ends the program in a panic where it finds no display; asked before, it says so.
#[cfg(target_os = "linux")]
fn find_display() -> Result<(), DesktopError> {
    gtk::init().map_err(|_| {
        let named = crate::surroundings::displays();
        DesktopError::NoDisplay(if named.is_empty() {
            "neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned()
        } else {
            format!("nothing answers at {}", named.join(" or "))
        })
    })
}

#[cfg(not(target_os = "linux"))]
fn find_display() -> Result<(), DesktopError> {
    Ok(())
}

/// The agent inside this program, at the other end of a stream.
fn embedded(agent: Agent) -> AgentSource {
    AgentSource::embedded(AGENT_NAME, move |stream| {
        let serving = acp_bridge::serve_stream(agent.clone(), stream);
        async move { serving.await.map_err(Into::into) }
    })
}

/// Ends the agent with all its commands, then the program.
fn end(app: AppHandle) {
    spawn(async move {
        let hub = app.state::<WindowPage>().hub().clone();
        let agent = app.state::<Agent>().inner().clone();
        let all = async {
            hub.shutdown().await;
            agent.shutdown().await;
        };
        if tokio::time::timeout(SHUTDOWN_LIMIT, all).await.is_err() {
            tracing::warn!("the agent did not end within {SHUTDOWN_LIMIT:?}");
        }
        app.exit(0);
    });
}

/// The program ends in order when it is told to by the system: at a log-out, or by Ctrl+C in a terminal.
#[cfg(unix)]
fn end_on_signals(app: AppHandle) {
    use tokio::signal::unix::{SignalKind, signal};

    spawn(async move {
        let signals = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ]
        .map(signal);
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
            tracing::warn!("signals cannot be watched; the program ends at once when it gets one");
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        end(app);
    });
}

#[cfg(not(unix))]
fn end_on_signals(_app: AppHandle) {}
