//! What a page is sent next: a cursor over the spool, a credit window, and the pace of batches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::envelope::{self, AgentState, Batch};
use crate::ids::PageId;
use crate::spool::Spool;

/// Bytes of frames in a batch.
pub(crate) const BATCH_BYTES: usize = 64 * 1024;
/// The least time between two batches that are not full.
pub(crate) const BATCH_PACE: Duration = Duration::from_millis(16);
/// Batches that may be under way without an acknowledgement.
pub(crate) const CREDITS: usize = 16;
/// Answers of the hub itself that may wait for a page; a page that asks for more and takes none is gone.
const ANSWERS: usize = 1024;

/// One page as its hub knows it.
#[derive(Debug)]
pub(crate) struct Delivery {
    id: PageId,
    woken: Arc<Notify>,
    attachment: Attachment,
    cursor: u64,
    under_way: VecDeque<u64>,
    answers: VecDeque<(u64, String)>,
    agent_seen: u64,
    last_batch: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attachment {
    /// The page has not said `attach`.
    None,
    /// It has, and waits for `attached`.
    Asked,
    /// Frames flow.
    Done,
}

/// What the agent's state is, and since which frame.
#[derive(Debug)]
pub(crate) struct AgentNews {
    /// Counts the changes.
    pub(crate) version: u64,
    /// The last frame before the change: the news come after it.
    pub(crate) after: u64,
    /// The state.
    pub(crate) state: AgentState,
}

/// The next thing for a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This message.
    Message(String),
    /// More may come together until then; a batch that becomes full does not wait.
    At(Instant),
    /// Nothing before the page is woken.
    Idle,
    /// The page is to be closed.
    Close,
}

impl Delivery {
    /// A page that has not attached yet.
    pub(crate) fn new(id: PageId, woken: Arc<Notify>) -> Self {
        Self {
            id,
            woken,
            attachment: Attachment::None,
            cursor: 0,
            under_way: VecDeque::new(),
            answers: VecDeque::new(),
            agent_seen: 0,
            last_batch: None,
        }
    }

    /// Starts over after frame `after`.
    pub(crate) fn attach(&mut self, after: u64) {
        self.attachment = Attachment::Asked;
        self.cursor = after;
        self.under_way.clear();
        self.wake();
    }

    /// True once the page has said `attach`.
    pub(crate) fn is_attached(&self) -> bool {
        self.attachment != Attachment::None
    }

    /// The page has processed the frames up to `n`.
    pub(crate) fn acknowledge(&mut self, n: u64) {
        while self.under_way.front().is_some_and(|last| *last <= n) {
            self.under_way.pop_front();
        }
        self.wake();
    }

    /// Puts up an answer of the hub itself, received at `t`.
    pub(crate) fn answer(&mut self, t: u64, frame: String) {
        self.answers.push_back((t, frame));
        self.wake();
    }

    /// Has the page look again.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    /// Takes what comes next for the page.
    pub(crate) fn next(
        &mut self,
        spool: &mut Spool,
        news: &AgentNews,
        cwd: &str,
        now: Instant,
    ) -> Next {
        if self.answers.len() > ANSWERS {
            return Next::Close;
        }
        let lost = self.attachment == Attachment::Done && self.cursor < spool.held_after();
        if self.attachment == Attachment::Asked || lost {
            self.attachment = Attachment::Done;
            self.under_way.clear();
            self.cursor = self.cursor.clamp(spool.held_after(), spool.last());
            self.agent_seen = news.version;
            return Next::Message(envelope::attached(
                self.cursor,
                spool.last(),
                cwd,
                &news.state,
            ));
        }
        if !self.answers.is_empty() {
            let mut batch = Batch::new();
            for (t, frame) in self.answers.drain(..) {
                batch.push_answer(t, &frame);
            }
            return Next::Message(batch.finish());
        }
        if self.attachment == Attachment::None {
            return Next::Idle;
        }
        if self.agent_seen < news.version && self.cursor >= news.after {
            self.agent_seen = news.version;
            return Next::Message(envelope::agent(&news.state));
        }
        if self.cursor >= spool.last() || self.under_way.len() >= CREDITS {
            return Next::Idle;
        }
        // News have their place between two frames: a batch does not run over it.
        let until = if self.agent_seen < news.version {
            news.after
        } else {
            u64::MAX
        };
        self.batch(spool, until, now)
    }

    fn batch(&mut self, spool: &mut Spool, until: u64, now: Instant) -> Next {
        if let Some(due) = self.last_batch.map(|last| last + BATCH_PACE)
            && now < due
            && !spool.holds_more_than(self.cursor, BATCH_BYTES as u64)
        {
            return Next::At(due);
        }
        let mut frames = spool.read(self.cursor + 1, BATCH_BYTES);
        frames.retain(|(number, _)| *number <= until);
        if frames.is_empty() {
            // The file was lost just now: the next look starts the page over from what is left.
            self.wake();
            return Next::Idle;
        }
        let mut batch = Batch::new();
        for (number, spooled) in &frames {
            batch.push(*number, spooled, self.id);
            self.cursor = *number;
        }
        self.under_way.push_back(self.cursor);
        self.last_batch = Some(now);
        Next::Message(batch.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::AgentPhase;
    use crate::spool::{Direction, Spooled};
    use pretty_assertions::assert_eq;

    struct Desk {
        spool: Spool,
        news: AgentNews,
        page: Delivery,
        now: Instant,
    }

    impl Desk {
        fn new() -> Self {
            let state = AgentState {
                state: AgentPhase::Running,
                name: "a".into(),
                message: None,
            };
            Self {
                spool: Spool::new(&std::env::temp_dir(), 1 << 20),
                news: AgentNews {
                    version: 1,
                    after: 0,
                    state,
                },
                page: Delivery::new(PageId(1), Arc::new(Notify::new())),
                now: Instant::now(),
            }
        }

        fn put(&mut self, length: usize) {
            let frame = "x".repeat(length);
            self.spool.append(Spooled {
                t: 0,
                direction: Direction::FromAgent,
                owner: None,
                frame,
            });
        }

        fn next(&mut self) -> Next {
            self.page.next(&mut self.spool, &self.news, "/w", self.now)
        }

        /// The numbers of the frames of the next message.
        fn numbers(&mut self) -> Vec<u64> {
            match self.next() {
                Next::Message(text) => text
                    .split(r#""n":"#)
                    .skip(1)
                    .filter_map(|rest| rest.split(',').next()?.parse().ok())
                    .collect(),
                _ => Vec::new(),
            }
        }
    }

    #[test]
    fn a_page_hears_nothing_before_it_attaches() {
        let mut desk = Desk::new();
        desk.put(1);
        assert_eq!(desk.next(), Next::Idle);
        desk.page.attach(7);
        assert_eq!(
            desk.next(),
            Next::Message(
                r#"{"type":"attached","after":1,"last":1,"cwd":"/w","agent":{"state":"running","name":"a"}}"#
                    .to_owned()
            )
        );
    }

    #[test]
    fn the_first_frame_goes_at_once_and_later_ones_gather() {
        let mut desk = Desk::new();
        desk.page.attach(0);
        desk.next();
        desk.put(1);
        assert_eq!(desk.numbers(), [1]);
        desk.put(1);
        desk.put(1);
        let due = desk.now + BATCH_PACE;
        assert_eq!(desk.next(), Next::At(due));
        desk.put(BATCH_BYTES);
        assert_eq!(
            desk.numbers(),
            [2, 3],
            "a full batch does not wait, and a large frame travels alone"
        );
        assert_eq!(desk.numbers(), [4]);
        desk.put(1);
        desk.now = due;
        assert_eq!(desk.numbers(), [5]);
    }

    #[test]
    fn without_acknowledgements_sixteen_batches_go_out() {
        let mut desk = Desk::new();
        desk.page.attach(0);
        desk.next();
        for _ in 0..20 {
            desk.put(BATCH_BYTES);
        }
        let sent: Vec<_> = (0..20)
            .map(|_| desk.numbers())
            .filter(|numbers| !numbers.is_empty())
            .collect();
        assert_eq!(sent.len(), CREDITS);
        desk.page.acknowledge(2);
        assert_eq!(
            [desk.numbers(), desk.numbers(), desk.numbers()],
            [vec![17], vec![18], vec![]]
        );
    }

    #[test]
    fn news_of_the_agent_come_between_the_frames_before_and_after_them() {
        let mut desk = Desk::new();
        desk.page.attach(0);
        desk.next();
        desk.put(1);
        desk.news.version = 2;
        desk.news.after = 1;
        desk.put(1);
        assert_eq!(desk.numbers(), [1]);
        assert_eq!(
            desk.next(),
            Next::Message(envelope::agent(&desk.news.state))
        );
        desk.now += BATCH_PACE;
        assert_eq!(desk.numbers(), [2]);
        assert_eq!(desk.next(), Next::Idle);
    }

    #[test]
    fn a_page_that_lags_behind_a_lost_file_starts_over_from_what_is_held() {
        let mut desk = Desk::new();
        desk.spool = Spool::new(std::path::Path::new("/nowhere/at/all"), 10);
        desk.page.attach(0);
        desk.next();
        for _ in 0..3 {
            desk.put(10);
        }
        let Next::Message(text) = desk.next() else {
            panic!("a message")
        };
        assert!(
            text.starts_with(r#"{"type":"attached","after":2,"last":3,"#),
            "{text}"
        );
        assert_eq!(desk.numbers(), [3]);
    }

    #[test]
    fn a_page_that_only_asks_is_closed() {
        let mut desk = Desk::new();
        for _ in 0..=ANSWERS {
            desk.page.answer(0, "{}".to_owned());
        }
        assert_eq!(desk.next(), Next::Close);
    }
}
