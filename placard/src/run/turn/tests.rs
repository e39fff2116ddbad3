//! Whole turns with agents that follow a script.

use acp_client::{AgentSource, Hub, HubSettings};
use pretty_assertions::assert_eq;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::*;
use crate::ink::Ink;
use crate::run::resume::Stored;

/// The agent's end of the wire.
struct Agent {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Agent {
    /// The next message; null when the input ended.
    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        let _ = self.input.read_line(&mut line).await;
        serde_json::from_str(&line).unwrap_or_default()
    }

    async fn say(&mut self, message: Value) {
        let _ = self
            .output
            .write_all(format!("{message}\n").as_bytes())
            .await;
    }

    /// Answers the next message, which is a request, with `result` or `error`.
    async fn answer_next(&mut self, mut answer: Value) -> Value {
        let request = self.hear().await;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = request["id"].clone();
        self.say(answer).await;
        request
    }

    /// Up to the session.
    async fn open(&mut self) {
        self.answer_next(json!({"result": {"protocolVersion": 1}}))
            .await;
        self.answer_next(json!({"result": {"sessionId": "s"}}))
            .await;
    }
}

/// What became of a turn with this agent.
async fn turn<F>(
    permission: Permission,
    script: impl Fn(Agent) -> F + Send + Sync + 'static,
) -> Outcome
where
    F: Future<Output = ()> + Send + 'static,
{
    taken(permission, Beginning::New, script).await.0.outcome
}

/// A turn that begins so, with this agent, and what was printed of it.
async fn taken<F>(
    permission: Permission,
    beginning: Beginning,
    script: impl Fn(Agent) -> F + Send + Sync + 'static,
) -> (Taken, String)
where
    F: Future<Output = ()> + Send + 'static,
{
    let source = AgentSource::embedded("scripted", move |stream| {
        let (input, output) = tokio::io::split(stream);
        let life = script(Agent {
            input: BufReader::new(input),
            output,
        });
        async move {
            life.await;
            Ok(())
        }
    });
    let hub = Hub::start(HubSettings::new(source, "/work", std::env::temp_dir()));
    let conversation = Conversation::new(hub.attach(0));
    let paper = Paper::default();
    let (printer, written) = Printer::start(paper.clone(), std::env::temp_dir());
    let rule = Rule::new(Some(permission), false);
    let painting = Some(Painting::new(Ink::Plain));
    let turn = Turn::new(
        conversation,
        rule,
        painting,
        printer.clone(),
        TurnStop::default(),
    );
    let taken = turn.take("/work", "hello", beginning).await;
    hub.shutdown().await;
    printer.close();
    written.await.unwrap().unwrap();
    let shown = paper.0.lock().unwrap().clone();
    (taken, String::from_utf8(shown).unwrap())
}

/// What is printed on.
#[derive(Clone, Default)]
struct Paper(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Paper {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_turn_that_the_agent_ends_is_a_success() {
    let outcome = turn(Permission::Reject, |mut agent| async move {
        agent.open().await;
        let prompt = agent
            .answer_next(json!({"result": {"stopReason": "end_turn"}}))
            .await;
        let expected = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]});
        assert_eq!(prompt["params"], expected);
        agent.hear().await;
    });
    assert_eq!(outcome.await, Outcome::Ended);
}

#[tokio::test]
async fn questions_are_answered_by_the_rule() {
    for (permission, option) in [(Permission::Allow, "yes"), (Permission::Reject, "no")] {
        let outcome = turn(permission, move |mut agent| async move {
            agent.open().await;
            let prompt = agent.hear().await;
            agent
                .say(json!({"jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": {
                    "sessionId": "s", "toolCall": {"toolCallId": "c", "title": "rm"}, "options": [
                        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                        {"optionId": "no", "name": "No", "kind": "reject_once"}]}}))
                .await;
            let answer = agent.hear().await;
            agent
                .say(json!({"jsonrpc": "2.0", "id": "e", "method": "elicitation/create"}))
                .await;
            let refusal = agent.hear().await;
            let told = answer["result"]["outcome"]["optionId"] == option
                && refusal["error"]["code"] == -32601;
            let reason = if told { "end_turn" } else { "refusal" };
            agent
                .say(
                    json!({"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": reason}}),
                )
                .await;
            agent.hear().await;
        });
        assert_eq!(outcome.await, Outcome::Ended, "{permission:?}");
    }
}

#[tokio::test]
async fn a_turn_that_fails_says_why() {
    let failed = turn(Permission::Reject, |mut agent| async move {
        agent.open().await;
        agent
            .answer_next(json!({"error": {"code": -32603, "message": "no key"}}))
            .await;
        agent.hear().await;
    });
    assert_eq!(
        failed.await,
        Outcome::Failed("the turn failed: no key".to_owned())
    );
    let died = turn(Permission::Reject, |mut agent| async move {
        agent.open().await;
        agent.hear().await;
    });
    assert_eq!(
        died.await,
        Outcome::Failed(
            "the turn failed: the agent ended before it answered: the agent ended".to_owned()
        )
    );
}

#[tokio::test]
async fn without_a_session_there_is_no_turn() {
    let refused = turn(Permission::Reject, |mut agent| async move {
        agent
            .answer_next(json!({"result": {"protocolVersion": 1}}))
            .await;
        agent
            .answer_next(json!({"error": {"code": -32000, "message": "log in first"}}))
            .await;
        agent.hear().await;
    });
    assert_eq!(
        refused.await,
        Outcome::NotStarted("the agent gave no session: log in first".to_owned())
    );
    let gone = turn(Permission::Reject, |_| async {});
    assert_eq!(
        gone.await,
        Outcome::NotStarted("the agent ended".to_owned())
    );
}

#[tokio::test]
async fn what_cannot_be_read_costs_only_itself() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let outcome = turn(Permission::Reject, move |mut agent| {
        let deep = deep.clone();
        async move {
            agent.open().await;
            let prompt = agent.hear().await;
            let (id, update) = (
                &prompt["id"],
                r#""jsonrpc":"2.0","method":"session/update""#,
            );
            let lines = format!(
                concat!(
                    r#"{{{update},"params":{{"sessionId":"s","update":"\ud83d"}}}}"#,
                    "\n",
                    r#"{{{update},"params":{{"sessionId":"s","update":{deep}}}}}"#,
                    "\n",
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_turn","_meta":"\ude00"}}}}"#,
                    "\n",
                ),
                update = update,
                deep = deep,
                id = id,
            );
            let _ = agent.output.write_all(lines.as_bytes()).await;
            agent.hear().await;
        }
    });
    assert_eq!(outcome.await, Outcome::Ended);
    let outcome = turn(Permission::Reject, |mut agent| async move {
        agent.open().await;
        let id = agent.hear().await["id"].clone();
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"cost\":NaN}}}}\n");
        let _ = agent.output.write_all(line.as_bytes()).await;
        agent.hear().await;
    });
    assert_eq!(
        outcome.await,
        Outcome::Failed(
            "the turn failed: the agent's answer cannot be read: expected value at line 1 column 42"
                .to_owned()
        )
    );
}

/// An agent that offers this, and answers what is asked for with these results, in order; then it ends the turn.
fn going_on(
    offers: Value,
    asked: &'static [(&'static str, &'static str)],
) -> impl Fn(Agent) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync {
    move |mut agent| {
        let offers = offers.clone();
        Box::pin(async move {
            let greeting = json!({"protocolVersion": 1, "agentCapabilities": offers});
            agent.answer_next(json!({ "result": greeting })).await;
            for (method, result) in asked {
                let request = agent.hear().await;
                assert_eq!(request["method"], *method);
                assert_eq!(request["params"]["cwd"], "/work");
                let past = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "long ago"}});
                agent
                    .say(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": past}}))
                    .await;
                let result: Value = serde_json::from_str(result).unwrap();
                agent
                    .say(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
                    .await;
            }
            let prompt = agent.hear().await;
            assert_eq!(prompt["params"]["sessionId"], "s");
            let said = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "now"}});
            agent
                .say(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": said}}))
                .await;
            agent
                .say(json!({"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": "end_turn"}}))
                .await;
        })
    }
}

#[tokio::test]
async fn a_session_is_gone_on_with_and_its_past_is_not_shown() {
    let stored = || Beginning::Stored(Stored::new("s", None, None));
    let resume = json!({"sessionCapabilities": {"resume": {}, "list": {}}, "loadSession": true});
    let load = json!({"loadSession": true, "sessionCapabilities": {"list": {}}});
    let listed = r#"{"sessions": [{"sessionId": "s", "cwd": "/work"}]}"#;
    let ended = Taken {
        outcome: Outcome::Ended,
        session: Some("s".to_owned()),
    };
    let table: [(_, _, &[_]); 4] = [
        (stored(), &resume, &[("session/resume", "{}")]),
        (stored(), &load, &[("session/load", "{}")]),
        (
            Beginning::Newest,
            &resume,
            &[("session/list", listed), ("session/resume", "{}")],
        ),
        (
            Beginning::New,
            &load,
            &[("session/new", r#"{"sessionId": "s"}"#)],
        ),
    ];
    for (beginning, offers, asked) in table {
        let shown = match beginning {
            // What an agent says in a new session is of now.
            Beginning::New => "long agonow\n",
            _ => "now\n",
        };
        let asked: &'static [(&str, &str)] = Vec::leak(asked.to_vec());
        let agent = going_on(offers.clone(), asked);
        let (taken, printed) = taken(Permission::Reject, beginning, agent).await;
        assert_eq!((taken, printed.as_str()), (ended.clone(), shown));
    }
}

#[tokio::test]
async fn an_agent_that_cannot_go_on_says_so() {
    let stored = || Beginning::Stored(Stored::new("s", None, None));
    let table: [(_, _, &[_], _); 3] = [
        (
            stored(),
            json!({}),
            &[],
            "the agent cannot go on with sessions: it offers neither session/resume nor session/load",
        ),
        (
            Beginning::Newest,
            json!({"loadSession": true}),
            &[],
            "the agent cannot list its sessions, so --continue finds none; give one with --resume",
        ),
        (
            Beginning::Newest,
            json!({"loadSession": true, "sessionCapabilities": {"list": {}}}),
            &[("session/list", r#"{"sessions": []}"#)],
            "there is no session of /work to go on with; without --continue a new one is begun",
        ),
    ];
    for (beginning, offers, asked, words) in table {
        let (taken, _) = taken(Permission::Reject, beginning, going_on(offers, asked)).await;
        assert_eq!(taken, Outcome::NotStarted(words.to_owned()).into());
    }
}
