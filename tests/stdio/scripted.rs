//! An agent whose model says what a script tells it to, in front of a client that allows everything.

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::Home;
use serde_json::{Value, json};

use crate::editor::Editor;

pub struct Scripted {
    pub home: Home,
    pub editor: Editor,
    pub session: String,
    pub server: ModelServer,
}

/// An answer that asks for one command.
pub fn bash(arguments: &Value) -> Answer {
    Answer::new().call("m1", "bash", [arguments.to_string()])
}

/// The last answer of a turn.
pub fn finished() -> Answer {
    Answer::new().text(["Finished."])
}

impl Scripted {
    /// Starts model and agent, and opens a session in the home's work folder.
    pub async fn start(mut home: Home, capabilities: Value, script: Script) -> Self {
        let server = ModelServer::start(script).unwrap();
        home.set("PLACARD_MODEL", "openai/gpt-test");
        home.set("OPENAI_API_KEY", "key-for-tests");
        home.set("OPENAI_BASE_URL", &server.openai_base_url());
        let mut editor = Editor::connect(&home, capabilities).await;
        let session = editor.session(&home.work_folder()).await;
        Self {
            home,
            editor,
            session,
            server,
        }
    }

    /// A turn from beginning to end, whatever it asks for: its answer.
    pub async fn turn(&mut self) -> Value {
        let id = self.editor.prompt(&self.session, "go on").await;
        self.answered(id).await
    }

    /// Allows whatever is asked until a prompt is answered.
    pub async fn answered(&mut self, prompt: i64) -> Value {
        loop {
            let message = self.next_allowed().await;
            if message["id"] == prompt && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The next message. Where it asks for permission, that is given.
    pub async fn next_allowed(&mut self) -> Value {
        let message = self.editor.next().await;
        if message["method"] == "session/request_permission" {
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}});
            self.editor.answer(&message["id"], outcome).await;
        }
        message
    }

    /// What the model read as the results of its calls, in its last request.
    pub fn model_read(&self) -> Vec<String> {
        let requests = self.server.requests();
        let messages = requests.last().expect("the model was asked").body["messages"].clone();
        let messages = messages.as_array().expect("messages are an array");
        messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].as_str().expect("text").to_owned())
            .collect()
    }
}
