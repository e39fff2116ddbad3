//! A hub on a desk: agents that follow a script, and pages that are read frame by frame.

use std::time::Duration;

use acp_client::{AgentSource, Hub, HubSettings, Page, ServeResult};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio::time::timeout;

/// Nothing here takes longer, unless it hangs: more than the longest limit that a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The agent's end of the wire, in the hands of a script.
pub struct Agent {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Agent {
    /// The next message to the agent; `None` when its input ended.
    pub async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.input.read_line(&mut line).await {
            Ok(length) if length > 0 => Some(serde_json::from_str(&line).expect("a JSON line")),
            _ => None,
        }
    }

    /// Waits for a request and gives its id.
    pub async fn hear_request(&mut self, method: &str) -> Value {
        loop {
            let message = self.hear().await.expect("a message");
            if message["method"] == method {
                return message["id"].clone();
            }
        }
    }

    pub async fn say(&mut self, message: Value) {
        self.say_text(&format!("{message}\n")).await;
    }

    /// Writes bytes as they are. Nobody listens any more at the end of a test, so faults do not count.
    pub async fn say_text(&mut self, text: &str) {
        let _ = self.output.write_all(text.as_bytes()).await;
    }

    pub async fn answer(&mut self, id: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    /// A message chunk with a text.
    pub async fn update(&mut self, text: &str) {
        self.say(update(text)).await;
    }

    /// Answers `initialize` as an agent named "Fake".
    pub async fn initialize(&mut self) {
        let id = self.hear_request("initialize").await;
        self.answer(
            &id,
            json!({"protocolVersion": 1, "agentInfo": {"name": "fake", "title": "Fake"}}),
        )
        .await;
    }

    /// Reads on until the input ends.
    pub async fn rest(&mut self) {
        while self.hear().await.is_some() {}
    }
}

pub fn update(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": text}})
}

/// An agent in this process that follows `script` in each life.
pub fn scripted<F>(script: impl Fn(Agent) -> F + Send + Sync + 'static) -> AgentSource
where
    F: Future<Output = ServeResult> + Send + 'static,
{
    AgentSource::embedded("scripted", move |stream| {
        let (input, output) = split(stream);
        script(Agent {
            input: BufReader::new(input),
            output,
        })
    })
}

pub fn settings(source: AgentSource) -> HubSettings {
    let mut settings = HubSettings::new(source, "/work", std::env::temp_dir());
    settings.clock = || std::time::SystemTime::UNIX_EPOCH;
    settings
}

pub fn hub(source: AgentSource) -> Hub {
    Hub::start(settings(source))
}

/// A page with what it has received.
pub struct Reader {
    pub page: Page,
    waiting: std::collections::VecDeque<Value>,
}

impl Reader {
    /// Attaches after `after` and gives the answer too.
    pub async fn attach(hub: &Hub, after: u64) -> (Self, Value) {
        let mut reader = Self {
            page: hub.attach(after),
            waiting: std::collections::VecDeque::new(),
        };
        let attached = reader.envelope().await;
        (reader, attached)
    }

    pub async fn envelope(&mut self) -> Value {
        let text = timeout(PATIENCE, self.page.next())
            .await
            .expect("an envelope")
            .expect("an open page");
        serde_json::from_str(&text).expect("an envelope is JSON")
    }

    /// The next batch of frames, without an acknowledgement.
    pub async fn batch(&mut self) -> Vec<Value> {
        loop {
            if let Some(frames) = self.envelope().await["frames"].as_array() {
                return frames.clone();
            }
        }
    }

    /// The next frame, or envelope of another kind.
    pub async fn next(&mut self) -> Value {
        loop {
            if let Some(next) = self.waiting.pop_front() {
                return next;
            }
            let envelope = self.envelope().await;
            if envelope["type"] != "frames" {
                return envelope;
            }
            let frames = envelope["frames"].as_array().expect("frames");
            self.waiting.extend(frames.iter().cloned());
            let last = frames.last().expect("a frame")["n"].clone();
            self.send(json!({"type": "ack", "n": last})).await;
        }
    }

    /// Reads up to and including the first frame or envelope that `is_it`.
    pub async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let next = self.next().await;
            let found = is_it(&next);
            seen.push(next);
            if found {
                return seen;
            }
        }
    }

    /// Reads on to the agent's state `state` and gives its message.
    pub async fn agent(&mut self, state: &str) -> String {
        let seen = self.until(|next| next["agent"]["state"] == state).await;
        seen.last().expect("a state")["agent"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub async fn send(&self, envelope: Value) {
        timeout(PATIENCE, self.page.send(&envelope.to_string()))
            .await
            .expect("in time")
            .expect("a good envelope");
    }

    pub async fn frame(&self, frame: Value) {
        self.send(json!({"type": "frame", "frame": frame})).await;
    }

    pub async fn request(&self, id: Value, method: &str) {
        self.frame(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}))
            .await;
    }
}

/// The frame of an entry, of all entries.
pub fn frames(entries: &[Value]) -> Vec<Value> {
    entries
        .iter()
        .filter(|entry| entry["frame"].is_object())
        .map(|entry| entry["frame"].clone())
        .collect()
}
