//! Which request of which page a number on the wire to the agent stands for.

use std::collections::BTreeMap;

use crate::frame::Id;

/// A page, by the order of arrival at its hub. Never used again for another page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageId(pub(crate) u64);

/// Who sent a request to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The hub itself: its `initialize`.
    Hub,
    /// A page, under an id of its own.
    Page(PageId, Id),
}

/// The requests to the agent that have no answer yet.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    last: u64,
    open: BTreeMap<u64, Asker>,
}

impl OpenRequests {
    /// Gives a request its number on the wire. Numbers are not used twice, not even after a restart of the agent.
    pub(crate) fn issue(&mut self, asker: Asker) -> u64 {
        self.last += 1;
        self.open.insert(self.last, asker);
        self.last
    }

    /// The asker of the request that `id` answers. A second answer to the same request finds none.
    pub(crate) fn settle(&mut self, id: &Id) -> Option<(u64, Asker)> {
        let number = id.number()?;
        self.open.remove(&number).map(|asker| (number, asker))
    }

    /// The number of a page's open request.
    pub(crate) fn number_of(&self, page: PageId, id: &Id) -> Option<u64> {
        let key = id.key();
        self.open
            .iter()
            .rev()
            .find_map(|(number, asker)| match asker {
                Asker::Page(owner, theirs) if *owner == page && theirs.key() == key => {
                    Some(*number)
                }
                _ => None,
            })
    }

    /// Takes all that is open, oldest first.
    pub(crate) fn take_all(&mut self) -> Vec<(u64, Asker)> {
        std::mem::take(&mut self.open).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::value::RawValue;

    fn id(text: &str) -> Id {
        Id::from(&*RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn two_pages_may_use_the_same_id() {
        let mut requests = OpenRequests::default();
        let first = Asker::Page(PageId(1), id("1"));
        let second = Asker::Page(PageId(2), id("1"));
        assert_eq!(requests.issue(first.clone()), 1);
        assert_eq!(requests.issue(second.clone()), 2);
        assert_eq!(requests.number_of(PageId(2), &id("1")), Some(2));
        assert_eq!(requests.settle(&id("\"2\"")), Some((2, second)));
        assert_eq!(requests.settle(&id("2")), None, "answered twice");
        assert_eq!(requests.settle(&id("\"x\"")), None);
        assert_eq!(requests.take_all(), vec![(1, first)]);
        assert_eq!(requests.issue(Asker::Hub), 3);
    }
}
