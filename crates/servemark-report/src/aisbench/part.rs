//! The data sets of a run: usually one, or several that were sent as one.

use std::ops::Range;

use servemark_core::{RequestRecord, RunFacts, RunLog};

use super::AisbenchOptions;

/// A data set of a run, which has details of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AisbenchPart {
    /// Its short name.
    pub name: String,
    /// Which sessions are its own, and how many there are of all parts; none where all are.
    own: Option<(Range<usize>, usize)>,
}

impl AisbenchPart {
    /// The parts of a run in their order.
    pub fn all(options: &AisbenchOptions, facts: &RunFacts) -> Vec<Self> {
        if facts.parts.is_empty() {
            return vec![Self { name: options.dataset(facts).to_owned(), own: None }];
        }
        let total = facts.parts.iter().map(|part| part.sessions).sum();
        let mut until = 0;
        let parts = facts.parts.iter().map(|part| {
            let from = until;
            until += part.sessions;
            Self { name: part.name.clone(), own: Some((from..until, total)) }
        });
        parts.collect()
    }

    /// Whether any of its requests failed.
    pub fn has_failed(&self, log: &RunLog) -> bool {
        let mut failed = log.measured().filter(|record| !record.is_success());
        failed.any(|record| self.place(record).is_some())
    }

    /// Which of its sessions a request is of, in whichever round; none where it is of another part.
    pub(super) fn place(&self, record: &RequestRecord) -> Option<usize> {
        let Some((own, total)) = &self.own else { return Some(record.index) };
        let index = record.index % (*total).max(1);
        own.contains(&index).then(|| index - own.start)
    }
}
