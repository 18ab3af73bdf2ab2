//! The data sets of a run: usually one, or several that were sent together.

use std::ops::Range;

use servemark_core::{RequestRecord, RunFacts, RunLog};

use super::AisbenchOptions;

/// One data set of a run. Each has a details file of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AisbenchPart {
    /// Short name of the data set.
    pub name: String,
    /// The data set's session indices within a round, and the number of sessions of all data sets;
    /// `None` if the run has one data set only.
    own: Option<(Range<usize>, usize)>,
}

impl AisbenchPart {
    /// Returns the data sets of a run in order.
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

    /// Returns whether any request of the data set failed.
    pub fn has_failed(&self, log: &RunLog) -> bool {
        let mut failed = log.measured().filter(|record| !record.is_success());
        failed.any(|record| self.place(record).is_some())
    }

    /// Returns the index of a request's session within this data set, for any round; `None` if the
    /// request belongs to another data set.
    pub(super) fn place(&self, record: &RequestRecord) -> Option<usize> {
        let Some((own, total)) = &self.own else { return Some(record.index) };
        let index = record.index % (*total).max(1);
        own.contains(&index).then(|| index - own.start)
    }
}
