//! The turn from its start to its end: hears, prints, answers, and is cancelled.

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::conversation::{Conversation, Heard};
use super::outcome::{Outcome, error_words};
use super::painting::Painting;
use super::permission::{Choice, answer, ask, choices, decide};
use crate::arguments::Permission;
use crate::error::ProgramError;
use crate::stop::{Stop, StopSignals};

/// A turn about to be taken.
#[derive(Debug)]
pub(crate) struct Turn<'p> {
    conversation: Conversation,
    permission: Permission,
    painting: Option<&'p mut Painting>,
    session: Option<String>,
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
    Stop(Stop),
    Decided(Option<Choice>),
}

impl<'p> Turn<'p> {
    /// A turn over `conversation`; it prints when there is a painting.
    pub(crate) fn new(
        conversation: Conversation,
        permission: Permission,
        painting: Option<&'p mut Painting>,
    ) -> Self {
        Self {
            conversation,
            permission,
            painting,
            session: None,
            questions: VecDeque::new(),
            asked: None,
            cancelled: false,
        }
    }

    /// Takes the turn.
    pub(crate) async fn take(
        mut self,
        cwd: &Path,
        prompt: &str,
        stop: &mut StopSignals,
    ) -> Result<Outcome, ProgramError> {
        if let Some(outcome) = self.wait_for_agent(stop).await {
            return Ok(outcome);
        }
        let params = json!({"cwd": cwd, "mcpServers": []});
        let new = self.conversation.request("session/new", params).await;
        let session = match self.wait_for_answer(new, stop).await? {
            Ok((_, Ok(result))) if result["sessionId"].is_string() => {
                result["sessionId"].as_str().unwrap_or_default().to_owned()
            }
            Ok((_, Ok(_))) => {
                return Ok(Outcome::NotStarted(
                    "the agent gave a session without an id".to_owned(),
                ));
            }
            Ok((_, Err(error))) => {
                let words = error_words(&error);
                return Ok(Outcome::NotStarted(format!(
                    "the agent gave no session: {words}"
                )));
            }
            Err(outcome) => return Ok(outcome),
        };
        self.session = Some(session.clone());
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt}]});
        let turn = self.conversation.request("session/prompt", params).await;
        match self.wait_for_answer(turn, stop).await? {
            Ok((t, answer)) => {
                let rest = self
                    .painting
                    .as_deref_mut()
                    .map(|painting| painting.turn_ended(&session, t));
                print(rest.as_deref().unwrap_or_default())?;
                Ok(Outcome::of_answer(&answer, self.cancelled))
            }
            Err(outcome) => Ok(outcome),
        }
    }

    /// Waits until the agent can be spoken to; gives the outcome when it never can.
    async fn wait_for_agent(&mut self, stop: &mut StopSignals) -> Option<Outcome> {
        loop {
            match self.next_event(stop).await {
                Event::Heard(Some(Heard::Agent { state, message, .. })) => match state.as_str() {
                    "running" => return None,
                    "ended" => {
                        let why = message.unwrap_or_else(|| "the agent did not start".to_owned());
                        return Some(Outcome::NotStarted(why));
                    }
                    _ => {}
                },
                Event::Heard(Some(_)) | Event::Decided(_) => {}
                Event::Heard(None) => {
                    return Some(Outcome::NotStarted("the agent is gone".to_owned()));
                }
                Event::Stop(signal) => return Some(stopped(signal)),
            }
        }
    }

    /// Lives through everything until the request is answered: the answer with its time, or the outcome when the
    /// person wants no answer any more.
    async fn wait_for_answer(
        &mut self,
        request: u64,
        stop: &mut StopSignals,
    ) -> Result<Result<(u64, Result<Value, Value>), Outcome>, ProgramError> {
        loop {
            match self.next_event(stop).await {
                Event::Heard(Some(Heard::Answer { t, id, outcome })) if id == request => {
                    return Ok(Ok((t, outcome)));
                }
                Event::Heard(Some(heard)) => self.hear(heard).await?,
                Event::Heard(None) => {
                    return Ok(Err(Outcome::Failed("the agent is gone".to_owned())));
                }
                Event::Decided(choice) => self.decided(choice.as_ref()).await,
                // The first Ctrl-C asks the agent to stop, so that what ran is ended and told properly.
                Event::Stop(Stop::Interrupt) if !self.cancelled && self.session.is_some() => {
                    self.cancel().await;
                }
                Event::Stop(signal) => return Ok(Err(stopped(signal))),
            }
        }
    }

    async fn next_event(&mut self, stop: &mut StopSignals) -> Event {
        let decided = async {
            match &mut self.asked {
                Some(asked) => asked.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            signal = stop.next() => Event::Stop(signal),
            choice = decided => Event::Decided(choice),
            heard = self.conversation.hear() => Event::Heard(heard),
        }
    }

    async fn hear(&mut self, heard: Heard) -> Result<(), ProgramError> {
        match heard {
            Heard::Update { t, session, update } => {
                if let Some(painting) = self.painting.as_deref_mut() {
                    print(&painting.update(&session, &update, t))?;
                }
            }
            Heard::Question {
                t,
                id,
                method,
                params,
            } if method == "session/request_permission" => {
                self.asks(t, id, &params).await?;
            }
            Heard::Question { id, method, .. } => self.conversation.refuse(&id, &method).await,
            // An ended agent has answered every request with an error, which is what is waited for.
            Heard::Agent { .. } | Heard::Answer { .. } => {}
        }
        Ok(())
    }

    // ---- permission --------------------------------------------------------------------------------------------

    async fn asks(&mut self, t: u64, id: Value, params: &Value) -> Result<(), ProgramError> {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let call = &params["toolCall"];
        let subject = match self.painting.as_deref_mut() {
            Some(painting) => {
                let (text, subject) = painting.asks(session, call, t);
                print(&text)?;
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
        } else if self.permission == Permission::Ask {
            self.questions.push_back(question);
            self.ask_next();
        } else {
            let choice = decide(&question.choices, self.permission).cloned();
            self.settle(&question, choice.as_ref()).await;
        }
        Ok(())
    }

    /// Asks the person the first question, unless one is being asked. A thread waits for the terminal; nothing can
    /// call it back, but nothing has to wait for it either.
    fn ask_next(&mut self) {
        if let (None, Some(question)) = (&self.asked, self.questions.front()) {
            let (tell, asked) = oneshot::channel();
            let (subject, choices) = (question.subject.clone(), question.choices.clone());
            std::thread::spawn(move || {
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
        if !choice.is_some_and(Choice::allows)
            && let Some(painting) = self.painting.as_deref_mut()
        {
            painting.refused(&question.call);
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

fn stopped(signal: Stop) -> Outcome {
    match signal {
        Stop::Interrupt => Outcome::Cancelled,
        Stop::Terminate | Stop::HangUp => Outcome::Stopped(signal.exit_status()),
    }
}

fn print(text: &str) -> Result<(), ProgramError> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(ProgramError::Stdout)
}

#[cfg(test)]
mod tests;
