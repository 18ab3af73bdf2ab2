//! Groups data sets that are sent as one: those with the same class, inferencer and mode.

use super::data::Data;

/// Data sets that are sent as one: a single data set, or several of one kind.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) first: &'a Data,
    pub(super) others: Vec<&'a Data>,
}

impl<'a> Group<'a> {
    /// Groups data sets by kind, in the order of their first data sets. A data set with a short
    /// name that an earlier one has is left out with a warning, because both would write the same
    /// files.
    pub(super) fn all(sets: &'a [Data], warnings: &mut Vec<String>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (index, data) in sets.iter().enumerate() {
            if sets[..index].iter().any(|before| before.abbr == data.abbr) {
                let Data { place, abbr, .. } = data;
                warnings.push(format!(
                    "{place}: a data set {abbr} was there before: this one is left out, as with \
                     AISBench; give it another abbr"
                ));
                continue;
            }
            match groups.iter_mut().find(|group| group.first.kind == data.kind) {
                Some(group) => group.others.push(data),
                None => groups.push(Self { first: data, others: Vec::new() }),
            }
        }
        groups
    }

    /// Returns the name of the group: the short name of its only data set, or the name of the class
    /// in lower case.
    pub(super) fn name(&self) -> String {
        match self.others.as_slice() {
            [] => self.first.abbr.clone(),
            _ => self.first.kind.0.to_lowercase(),
        }
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &'a Data> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Returns the positions of the data sets in the config, separated by commas.
    pub(super) fn places(&self) -> String {
        self.sets().map(|data| data.place.to_string()).collect::<Vec<_>>().join(", ")
    }
}
