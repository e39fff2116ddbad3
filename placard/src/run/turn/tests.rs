//! Whole turns with agents that follow a script.

use acp_client::{AgentSource, Hub, HubSettings};
use pretty_assertions::assert_eq;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::*;

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
    let (printer, _) = Printer::start(std::io::sink(), std::env::temp_dir());
    let rule = Rule::new(Some(permission), false);
    let outcome = Turn::new(conversation, rule, None, printer, TurnStop::default())
        .take("/work", "hello")
        .await;
    hub.shutdown().await;
    outcome
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
