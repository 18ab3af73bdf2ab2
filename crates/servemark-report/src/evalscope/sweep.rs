//! The runs of a command line in one report.

use super::field::Field;
use super::shown::short;
use super::{EvalscopeRun, EvalscopeStyle, newest, older};

/// The runs of a command line in one report.
#[derive(Clone, Copy, Debug)]
pub struct EvalscopeSweep<'a> {
    pub(super) runs: &'a [EvalscopeRun],
    pub(super) subject: &'a EvalscopeSubject,
}

/// What was measured, as the report names it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct EvalscopeSubject {
    /// The model's name: the last part of its path.
    pub model: String,
    /// Another name to show beside it.
    pub alias: Option<String>,
    /// The data set's name.
    pub dataset: String,
    /// The API's name.
    pub api: String,
    /// The server's address, of which no more is told than host and port.
    pub url: String,
    /// The folder with the run's files.
    pub outputs: String,
}

impl EvalscopeSubject {
    /// A model that a data set was sent to by an API.
    pub fn new(model: &str, dataset: &str, api: &str) -> Self {
        Self {
            model: model.rsplit('/').next().unwrap_or_default().to_owned(),
            dataset: dataset.to_owned(),
            api: api.to_owned(),
            ..Self::default()
        }
    }

    /// The same with another name beside the model's.
    #[must_use]
    pub fn with_alias(self, alias: &str) -> Self {
        Self { alias: Some(alias.trim().to_owned()).filter(|alias| !alias.is_empty()), ..self }
    }

    /// The same at an address.
    #[must_use]
    pub fn at(self, url: &str) -> Self {
        Self { url: url.to_owned(), ..self }
    }

    /// The same with its files in a folder.
    #[must_use]
    pub fn in_folder(self, outputs: &str) -> Self {
        Self { outputs: outputs.to_owned(), ..self }
    }

    /// Host and port, without scheme, path and credentials; nothing of what has no host.
    pub(super) fn endpoint(&self) -> Option<String> {
        let url = self.url.trim();
        let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = after_scheme.split(['/', '?', '#']).next()?;
        let place = authority.rsplit('@').next()?;
        let is_place = !place.is_empty() && !place.starts_with(':');
        (is_place && !place.contains(char::is_whitespace)).then(|| place.to_lowercase())
    }
}

impl<'a> EvalscopeSweep<'a> {
    /// The runs of a command line in the order in which they were made.
    pub fn of(runs: &'a [EvalscopeRun], subject: &'a EvalscopeSubject) -> Self {
        Self { runs, subject }
    }

    /// The final report, as it is printed and as `performance_summary.txt` has it. There is none of
    /// no runs.
    pub fn summary(&self) -> String {
        match self.runs.first().map(|run| run.options.style) {
            None => String::new(),
            Some(EvalscopeStyle::Newest) => newest::report(self),
            Some(style) => older::report(self, style),
        }
    }

    /// The runs, that of the smallest load first.
    pub(super) fn by_load(&self) -> Vec<&'a EvalscopeRun> {
        let mut runs: Vec<&EvalscopeRun> = self.runs.iter().collect();
        runs.sort_by(|one, other| {
            one.load().partial_cmp(&other.load()).unwrap_or(std::cmp::Ordering::Equal)
        });
        runs
    }

    /// Whether there are answers made of tokens.
    pub(super) fn generates(&self) -> bool {
        self.runs.iter().any(|run| run.generates)
    }

    /// The tokens that matter, of all runs: those of the answers, or of the prompts where there are
    /// none.
    pub(super) fn tokens(&self) -> f64 {
        let mean = if self.generates() { Field::OutputTokens } else { Field::InputTokens };
        let of = |run: &EvalscopeRun| run.numbers.at(mean) * run.numbers.at(Field::Success);
        self.runs.iter().map(of).sum()
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.runs.iter().map(|run| run.numbers.at(Field::Duration)).sum()
    }
}

/// A concurrency or a rate, with a word for that which has none.
pub(super) fn load_shown(value: f64, none: &str) -> String {
    if value < 0.0 { none.to_owned() } else { short(value, 2) }
}
