//! The runs of a command line in one report.

use super::EvalscopeRun;
use super::field::Field;

/// The runs of a command line in one report.
#[derive(Clone, Copy, Debug)]
pub struct EvalscopeSweep<'a> {
    pub(super) runs: &'a [EvalscopeRun],
    pub(super) subject: &'a EvalscopeSubject,
}

/// What was measured, as the report names it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EvalscopeSubject {
    /// Name of the model: the last part of its path.
    pub model: String,
    /// Another name, shown beside the model's.
    pub alias: Option<String>,
    /// Name of the data set.
    pub dataset: String,
    /// Name of the API.
    pub api: String,
    /// URL of the server; only its host and port are shown.
    pub url: String,
    /// Folder with the files of the run.
    pub outputs: String,
}

impl EvalscopeSubject {
    /// Returns the subject for a model, a data set and an API.
    pub fn new(model: &str, dataset: &str, api: &str) -> Self {
        Self {
            model: model.rsplit('/').next().unwrap_or_default().to_owned(),
            dataset: dataset.to_owned(),
            api: api.to_owned(),
            ..Self::default()
        }
    }

    /// Sets the name shown beside the model's; a blank name is ignored.
    #[must_use]
    pub fn with_alias(self, alias: &str) -> Self {
        Self { alias: Some(alias.trim().to_owned()).filter(|alias| !alias.is_empty()), ..self }
    }

    /// Sets the server's URL.
    #[must_use]
    pub fn at(self, url: &str) -> Self {
        Self { url: url.to_owned(), ..self }
    }

    /// Sets the folder with the files of the run.
    #[must_use]
    pub fn in_folder(self, outputs: &str) -> Self {
        Self { outputs: outputs.to_owned(), ..self }
    }

    /// Returns host and port of the URL, without scheme, path and credentials; `None` if the URL
    /// has no host.
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
    /// Returns a sweep of the runs, which are in the order in which they were made.
    pub fn of(runs: &'a [EvalscopeRun], subject: &'a EvalscopeSubject) -> Self {
        Self { runs, subject }
    }

    /// Returns the runs sorted by load, the smallest first.
    pub(super) fn by_load(&self) -> Vec<&'a EvalscopeRun> {
        let mut runs: Vec<&EvalscopeRun> = self.runs.iter().collect();
        runs.sort_by(|one, other| {
            one.load().partial_cmp(&other.load()).unwrap_or(std::cmp::Ordering::Equal)
        });
        runs
    }

    /// Returns whether any run generates output tokens.
    pub(super) fn generates(&self) -> bool {
        self.runs.iter().any(|run| run.generates)
    }

    /// Returns the total number of output tokens of all runs, or of input tokens if no run
    /// generates output.
    pub(super) fn tokens(&self) -> f64 {
        let mean = if self.generates() { Field::OutputTokens } else { Field::InputTokens };
        let of = |run: &EvalscopeRun| run.numbers.at(mean) * run.numbers.at(Field::Success);
        self.runs.iter().map(of).sum()
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.runs.iter().map(|run| run.numbers.at(Field::Duration)).sum()
    }
}
