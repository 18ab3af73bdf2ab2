//! The subjects of a group's messages.

/// The subjects of the messages of one group of ranks.
#[derive(Clone, Debug)]
pub(crate) struct Subjects {
    name: String,
}

impl Subjects {
    /// Returns the subjects of the group with this name. Characters that have a meaning in a subject
    /// are replaced.
    pub(crate) fn of(name: &str) -> Self {
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' }
        };
        Self { name: name.chars().map(plain).collect() }
    }

    /// What ranks send to rank 0.
    pub(crate) fn lead(&self) -> String {
        format!("servemark.{}.lead", self.name)
    }

    /// Questions for the time of rank 0.
    pub(crate) fn clock(&self) -> String {
        format!("servemark.{}.clock", self.name)
    }

    /// What rank 0 tells all ranks.
    pub(crate) fn all(&self) -> String {
        format!("servemark.{}.all", self.name)
    }

    /// Questions for the results of a rank.
    pub(crate) fn rank(&self, rank: usize) -> String {
        format!("servemark.{}.rank.{rank}", self.name)
    }
}
