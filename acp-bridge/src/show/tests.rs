use agent_client_protocol::Lines;
use agent_core::session::update::{UpdateSender, channel};
use agent_core::shell::exit::Exit;
use agent_core::tool::presentation::{
    Circumstances, ResultBody, TerminalPresentation, ToolCallKind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use terminal_card::Capability;
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream};
use tokio::sync::{mpsc, oneshot};

use super::*;
use crate::wire;

/// A session that is told what to tell, and the client at the other end.
struct Stage {
    session: UpdateSender,
    orders: mpsc::UnboundedSender<(Order, oneshot::Sender<()>)>,
    lines: tokio::io::Lines<BufReader<DuplexStream>>,
    seen: Vec<Value>,
}

/// What happens to a session while it is shown.
enum Order {
    /// It is opened again without its past.
    Resume,
    /// It is opened again, and its past has left these calls open.
    Load(&'static [&'static str]),
}

/// Shows a session, interrupted by orders.
async fn show(
    viewer: Viewer,
    live: Live,
    mut orders: mpsc::UnboundedReceiver<(Order, oneshot::Sender<()>)>,
) {
    let mut showing = viewer.clone().begin(live);
    while let Some((order, done)) = orders.recv().await {
        let mut live = showing.pause().await.unwrap();
        match order {
            Order::Resume => viewer.announce(&live).unwrap(),
            Order::Load(open) => {
                let open: Vec<String> = open.iter().map(|id| (*id).to_owned()).collect();
                live.behind(&open);
            }
        }
        showing = viewer.clone().begin(live);
        done.send(()).unwrap();
    }
    // As long as there are updates.
    showing.task.await.unwrap();
}

impl Stage {
    fn open(dialect: Dialect) -> Self {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (outbox, writer) = wire::outbox(near);
        let under_way = outbox.under_way();
        let (session, updates) = channel();
        let (orders, given) = mpsc::unbounded_channel();
        tokio::spawn(writer);
        let transport = Lines::new(outbox.sink(), futures::stream::pending());
        tokio::spawn(agent_client_protocol::Agent.v1().connect_with(
            transport,
            async move |client| {
                let viewer = Viewer {
                    session: SessionId::new("s"),
                    dialect,
                    client,
                    under_way,
                };
                show(viewer, Live::new(updates), given).await;
                Ok(())
            },
        ));
        Self {
            session,
            orders,
            lines: BufReader::new(far).lines(),
            seen: Vec::new(),
        }
    }

    /// Reads on until a message is as wanted.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) {
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            let update = message["params"]["update"].clone();
            let told = if update.is_null() { message } else { update };
            self.seen.push(told);
            if self.seen.last().is_some_and(&wanted) {
                return;
            }
        }
    }

    /// Whatever was told by now, without what ends the reading.
    async fn all(mut self) -> Vec<Value> {
        self.session.send(Update::Text("over".into()));
        self.until(|message| message["content"]["text"] == "over")
            .await;
        self.seen.pop();
        self.seen
    }

    /// Resolves when everything before it was shown.
    fn shown(&self) -> oneshot::Receiver<()> {
        let (sender, shown) = oneshot::channel();
        self.session.send(Update::Shown(sender));
        shown
    }

    async fn order(&self, order: Order) {
        let (done, carried_out) = oneshot::channel();
        self.orders.send((order, done)).ok().unwrap();
        carried_out.await.unwrap();
    }

    fn start(&self) -> TerminalOutput {
        let output = TerminalOutput::new();
        self.session.send(Update::Call {
            call_id: "call-1".into(),
            presentation: Box::new(CallPresentation {
                kind: ToolCallKind::Execute,
                title: "serve".into(),
                description: Some("Serves".into()),
                locations: Vec::new(),
                label: None,
                terminal: Some(TerminalPresentation {
                    cwd: "/work".into(),
                    output: output.clone(),
                    notice: None,
                }),
                arguments: json!({"command": "serve"}),
            }),
        });
        self.session.send(Update::CallStarted {
            call_id: "call-1".into(),
        });
        output
    }

    fn goes_on(&self) {
        self.session.send(Update::CallEnded {
            call_id: "call-1".into(),
            presentation: Box::new(ResultPresentation {
                succeeded: true,
                body: ResultBody::Text("runs in the background".into()),
                goes_on: true,
                ..ended(None)
            }),
        });
    }

    fn end(&self, presentation: ResultPresentation) {
        self.session.send(Update::TerminalEnded {
            call_id: "call-1".into(),
            presentation: Box::new(presentation),
        });
    }

    fn state(&self, state: TerminalState) {
        self.session.send(Update::TerminalState {
            call_id: "call-1".into(),
            state,
        });
    }
}

fn ended(exit: Option<Exit>) -> ResultPresentation {
    ResultPresentation {
        succeeded: exit == Some(Exit::Code(0)),
        exit,
        circumstances: Circumstances::default(),
        body: ResultBody::Console("up\ndown\n".into()),
        image: None,
        notice: None,
        goes_on: false,
    }
}

fn cards(hears_states: bool) -> Dialect {
    Dialect {
        capability: Capability::Output,
        signals_as_codes: false,
        hears_states,
    }
}

fn update(fields: &Value) -> Value {
    let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "call-1"});
    let own = update.as_object_mut().unwrap();
    own.extend(fields.as_object().unwrap().clone());
    update
}

fn printed(data: &str) -> Value {
    update(&json!({"_meta": {"terminal_output": {"terminal_id": "terminal-call-1", "data": data}}}))
}

fn is_printed(text: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["_meta"]["terminal_output"]["data"] == text
}

#[tokio::test]
async fn a_card_in_the_background_goes_on_after_its_call_and_ends_once() {
    let mut stage = Stage::open(cards(false));
    let output = stage.start();
    output.push(b"up\r\n");
    stage.until(is_printed("up\r\n")).await;
    stage.goes_on();
    // The turn's end waits for nothing that the background may still print.
    stage.shown().await.unwrap();
    output.push(b"down\r\n");
    stage.until(is_printed("down\r\n")).await;
    output.push(b"last\r\n");
    output.finish();
    stage.end(ResultPresentation {
        circumstances: Circumstances {
            left_running: true,
            ..Circumstances::default()
        },
        ..ended(Some(Exit::Signal("SIGTERM".into())))
    });
    stage.end(ended(Some(Exit::Code(0))));

    let told = stage.all().await;
    assert_eq!(
        told[1..],
        [
            update(&json!({"status": "in_progress"})),
            printed("up\r\n"),
            update(&json!({"status": "completed", "_meta": {"placard": {"background": true}}})),
            printed("down\r\n"),
            printed("last\r\n"),
            update(&json!({
                "_meta": {
                    "terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": null, "signal": "SIGTERM"},
                    "placard": {"left_running": true},
                },
            })),
        ]
    );
}

#[tokio::test]
async fn without_cards_a_background_call_is_words_first_and_its_output_at_the_end() {
    let stage = Stage::open(Dialect::plain());
    let output = stage.start();
    output.push(b"up\r\n");
    stage.goes_on();
    stage.state(TerminalState::Waiting);
    stage.shown().await.unwrap();
    output.finish();
    stage.end(ended(Some(Exit::Code(0))));

    let text = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
    let told = stage.all().await;
    assert_eq!(
        told[1..],
        [
            update(&json!({"status": "in_progress"})),
            update(&json!({
                "status": "completed",
                "content": [text("Serves"), text("runs in the background")],
            })),
            update(&json!({"content": [text("Serves"), text("```console\nup\ndown\n```")]})),
        ]
    );
}

#[tokio::test]
async fn only_who_asked_hears_that_a_command_waits_and_only_while_it_runs() {
    let states = async |dialect| {
        let stage = Stage::open(dialect);
        let output = stage.start();
        stage.state(TerminalState::Waiting);
        stage.state(TerminalState::Running);
        output.finish();
        stage.session.send(Update::CallEnded {
            call_id: "call-1".into(),
            presentation: Box::new(ended(Some(Exit::Code(0)))),
        });
        stage.state(TerminalState::Waiting);
        let told = stage.all().await;
        told.into_iter()
            .filter(|message| message["method"] == "_placard/terminal_state")
            .map(|message| message["params"].clone())
            .collect::<Vec<_>>()
    };
    let state =
        |word: &str| json!({"sessionId": "s", "terminalId": "terminal-call-1", "state": word});
    assert_eq!(
        states(cards(true)).await,
        [state("waiting"), state("running")]
    );
    assert_eq!(states(cards(false)).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_card_that_runs_is_announced_again_as_it_stands_and_goes_on() {
    let mut stage = Stage::open(cards(true));
    let output = stage.start();
    output.push(b"up\r\n");
    stage.until(is_printed("up\r\n")).await;
    stage.order(Order::Resume).await;
    stage.state(TerminalState::Waiting);
    stage
        .until(|message| message["method"] == "_placard/terminal_state")
        .await;
    stage.goes_on();
    stage.shown().await.unwrap();
    stage.order(Order::Resume).await;
    output.push(b"down\r\n");
    stage.until(is_printed("down\r\n")).await;
    output.finish();
    stage.end(ended(Some(Exit::Code(0))));
    // A card that has ended is not.
    stage.shown().await.unwrap();
    stage.order(Order::Resume).await;

    let told = stage.all().await;
    let announced = |status: &str, ours: Value| {
        let mut call = json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "call-1",
            "title": "serve",
            "kind": "execute",
            "content": [
                {"type": "content", "content": {"type": "text", "text": "Serves"}},
                {"type": "terminal", "terminalId": "terminal-call-1"},
            ],
            "rawInput": {"command": "serve"},
            "_meta": {"terminal_info": {"terminal_id": "terminal-call-1", "cwd": "/work"}},
        });
        // A pending call says nothing of it.
        if status != "pending" {
            call["status"] = status.into();
        }
        call["_meta"]
            .as_object_mut()
            .unwrap()
            .extend(ours.as_object().unwrap().clone());
        call
    };
    let waiting = json!({
        "jsonrpc": "2.0",
        "method": "_placard/terminal_state",
        "params": {"sessionId": "s", "terminalId": "terminal-call-1", "state": "waiting"},
    });
    assert_eq!(
        told,
        [
            announced("pending", json!({})),
            update(&json!({"status": "in_progress"})),
            printed("up\r\n"),
            announced("in_progress", json!({})),
            waiting.clone(),
            update(&json!({"status": "completed", "_meta": {"placard": {"background": true}}})),
            announced("completed", json!({"placard": {"background": true}})),
            waiting,
            printed("down\r\n"),
            update(
                &json!({"_meta": {"terminal_exit": {"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null}}})
            ),
        ]
    );
}

#[tokio::test]
async fn behind_a_past_that_was_told_again_a_running_card_is_shown_from_its_beginning() {
    let mut stage = Stage::open(cards(false));
    let output = stage.start();
    stage.goes_on();
    output.push(b"up\r\n");
    stage.until(is_printed("up\r\n")).await;
    stage.order(Order::Load(&["call-1"])).await;
    stage.until(is_printed("up\r\n")).await;
    output.push(b"down\r\n");
    stage.until(is_printed("down\r\n")).await;
    // The past has told its end already.
    stage.order(Order::Load(&[])).await;
    output.finish();
    stage.end(ended(Some(Exit::Code(0))));

    let told = stage.all().await;
    assert_eq!(
        told[3..],
        [printed("up\r\n"), printed("up\r\n"), printed("down\r\n")]
    );
}
