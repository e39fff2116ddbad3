//! The turn from its start to its end: hears, prints, answers, and is cancelled.

mod opening;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Heard};
use super::outcome::{Outcome, error_words};
use super::painting::Painting;
use super::permission::{Choice, Rule, answer, ask, choices, decide};
use super::printer::Printer;
use super::resume::Beginning;
use crate::arguments::Permission;
use crate::stop::{Stop, StopSignals};
use opening::Offers;

/// How a turn that is being taken is stopped. Signals are heard beside the turn, so that they are heard whatever it
/// waits for.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnStop {
    begun: Arc<AtomicBool>,
    asked: CancellationToken,
}

impl TurnStop {
    /// Waits for the signal that ends the program. The first Ctrl-C only asks the agent to stop its turn, if it has
    /// one, so that what ran is ended and told properly.
    pub(crate) async fn last_signal(&self, stop: &mut StopSignals) -> Stop {
        loop {
            let signal = stop.next().await;
            let may_ask = self.begun.load(Ordering::Relaxed) && !self.asked.is_cancelled();
            if signal != Stop::Interrupt || !may_ask {
                return signal;
            }
            self.asked.cancel();
        }
    }
}

/// A turn that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    /// What became of it.
    pub(crate) outcome: Outcome,
    /// The session that was prompted, where its agent can go on with it.
    pub(crate) session: Option<String>,
}

impl From<Outcome> for Taken {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            session: None,
        }
    }
}

/// A turn about to be taken.
#[derive(Debug)]
pub(crate) struct Turn {
    conversation: Conversation,
    rule: Rule,
    painting: Option<Painting>,
    printer: Printer,
    stop: TurnStop,
    session: Option<String>,
    offers: Offers,
    questions: VecDeque<Question>,
    asked: Option<oneshot::Receiver<Option<Choice>>>,
    cancelled: bool,
}

/// A request for permission that waits for the person; the first one is being asked.
#[derive(Debug)]
struct Question {
    id: Value,
    call: String,
    subject: String,
    choices: Vec<Choice>,
}

/// What woke the turn.
enum Event {
    Heard(Option<Heard>),
    Stop,
    Decided(Option<Choice>),
}

impl Turn {
    /// A turn over `conversation`; it is printed when there is a painting.
    pub(crate) fn new(
        conversation: Conversation,
        rule: Rule,
        painting: Option<Painting>,
        printer: Printer,
        stop: TurnStop,
    ) -> Self {
        Self {
            conversation,
            rule,
            painting,
            printer,
            stop,
            session: None,
            offers: Offers::default(),
            questions: VecDeque::new(),
            asked: None,
            cancelled: false,
        }
    }

    /// Takes the turn.
    pub(crate) async fn take(mut self, cwd: &str, prompt: &str, beginning: Beginning) -> Taken {
        let played = self.play(cwd, prompt, beginning).await;
        let (Ok(outcome) | Err(outcome)) = played;
        Taken {
            outcome,
            session: self.session.filter(|_| self.offers.goes_on()),
        }
    }

    async fn play(
        &mut self,
        cwd: &str,
        prompt: &str,
        beginning: Beginning,
    ) -> Result<Outcome, Outcome> {
        self.wait_for_agent().await?;
        let session = self.open(cwd, beginning).await?;
        self.session = Some(session.clone());
        self.stop.begun.store(true, Ordering::Relaxed);
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt}]});
        let turn = self.conversation.request("session/prompt", params).await;
        let (t, answer) = self.wait_for_answer(turn).await?;
        if let Some(painting) = &mut self.painting {
            self.printer.print(&painting.turn_ended(&session, t));
        }
        Ok(Outcome::of_answer(&answer, self.cancelled))
    }

    /// Waits until the agent can be spoken to; gives the outcome when it never can.
    async fn wait_for_agent(&mut self) -> Result<(), Outcome> {
        loop {
            match self.conversation.hear().await {
                Some(Heard::Agent { state, message, .. }) => match state.as_str() {
                    "running" => return Ok(()),
                    "ended" => {
                        let why = message.unwrap_or_else(|| "the agent did not start".to_owned());
                        return Err(Outcome::NotStarted(why));
                    }
                    _ => {}
                },
                Some(_) => {}
                None => return Err(Outcome::NotStarted("the agent is gone".to_owned())),
            }
        }
    }

    /// Lives through everything until the request is answered: the answer with its time.
    async fn wait_for_answer(
        &mut self,
        request: u64,
    ) -> Result<(u64, Result<Value, Value>), Outcome> {
        loop {
            match self.next_event().await {
                Event::Heard(Some(Heard::Answer { t, id, outcome })) if id == request => {
                    return Ok((t, outcome));
                }
                Event::Heard(Some(heard)) => self.hear(heard).await,
                Event::Heard(None) => {
                    return Err(Outcome::Failed("the agent is gone".to_owned()));
                }
                Event::Decided(choice) => self.decided(choice.as_ref()).await,
                Event::Stop => self.cancel().await,
            }
        }
    }

    async fn next_event(&mut self) -> Event {
        let decided = async {
            match &mut self.asked {
                Some(asked) => asked.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.asked.cancelled(), if !self.cancelled => Event::Stop,
            choice = decided => Event::Decided(choice),
            heard = self.conversation.hear() => Event::Heard(heard),
        }
    }

    async fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Update { t, session, update } => {
                if let Some(painting) = &mut self.painting {
                    self.printer.print(&painting.update(&session, &update, t));
                }
            }
            Heard::Question {
                t,
                id,
                method,
                params,
            } if method == "session/request_permission" => {
                self.asks(t, id, &params).await;
            }
            Heard::Question { id, method, .. } => self.conversation.refuse(&id, &method).await,
            // An ended agent has answered every request with an error, which is what is waited for.
            Heard::Agent { .. } | Heard::Answer { .. } => {}
        }
    }

    // ---- permission --------------------------------------------------------------------------------------------

    async fn asks(&mut self, t: u64, id: Value, params: &Value) {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let call = &params["toolCall"];
        let subject = match &mut self.painting {
            Some(painting) => {
                let (text, subject) = painting.asks(session, call, t);
                self.printer.print(&text);
                subject
            }
            None => call["title"].as_str().unwrap_or("a tool call").to_owned(),
        };
        let question = Question {
            id,
            call: call["toolCallId"].as_str().unwrap_or_default().to_owned(),
            subject,
            choices: choices(params),
        };
        if self.cancelled || question.choices.is_empty() {
            self.conversation.answer(&question.id, answer(None)).await;
        } else if self.rule.answer == Permission::Ask {
            self.questions.push_back(question);
            self.ask_next();
        } else {
            let choice = decide(&question.choices, self.rule.answer).cloned();
            self.settle(&question, choice.as_ref()).await;
        }
    }

    /// Asks the person the first question, unless one is being asked. A thread waits for the terminal; nothing can
    /// call it back, but nothing has to wait for it either.
    fn ask_next(&mut self) {
        if let (None, Some(question)) = (&self.asked, self.questions.front()) {
            let (tell, asked) = oneshot::channel();
            let (subject, choices) = (question.subject.clone(), question.choices.clone());
            let printer = self.printer.clone();
            std::thread::spawn(move || {
                // Stdout and the terminal that the person is asked on may be the same.
                printer.wait_until_written();
                let _ = tell.send(ask(&subject, &choices));
            });
            self.asked = Some(asked);
        }
    }

    async fn decided(&mut self, choice: Option<&Choice>) {
        self.asked = None;
        if let Some(question) = self.questions.pop_front() {
            let refusal = decide(&question.choices, Permission::Reject).cloned();
            self.settle(&question, choice.or(refusal.as_ref())).await;
        }
        self.ask_next();
    }

    async fn settle(&mut self, question: &Question, choice: Option<&Choice>) {
        if !choice.is_some_and(Choice::allows) {
            self.rule.note_refusal();
            if let Some(painting) = &mut self.painting {
                painting.refused(&question.call);
            }
        }
        self.conversation.answer(&question.id, answer(choice)).await;
    }

    // ---- the end -----------------------------------------------------------------------------------------------

    async fn cancel(&mut self) {
        self.cancelled = true;
        self.asked = None;
        if let Some(session) = &self.session {
            self.conversation
                .notify("session/cancel", json!({ "sessionId": session }))
                .await;
        }
        for question in std::mem::take(&mut self.questions) {
            self.conversation.answer(&question.id, answer(None)).await;
        }
    }
}

#[cfg(test)]
mod tests;
