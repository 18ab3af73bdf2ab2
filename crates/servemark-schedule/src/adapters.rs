//! Chooses an adapter for each session.

use std::iter::Cycle;
use std::slice;

use serde::{Deserialize, Serialize};
use servemark_rng::RandomState;

use crate::ScheduleError;

/// The adapters (`LoRA`) of a run, and how one is chosen for each session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Unchecked")]
pub struct AdapterSpec {
    names: Vec<String>,
    choice: AdapterChoice,
}

/// How an adapter is chosen.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdapterChoice {
    /// All adapters are equally likely.
    #[default]
    Uniform,
    /// The adapters in turn, starting over after the last one.
    Distinct,
    /// Each adapter is `alpha` times as likely as the next one.
    Skewed {
        /// Ratio of the probabilities of an adapter and the next one; above one.
        alpha: f64,
    },
}

impl AdapterSpec {
    /// Creates a spec from the names by which the server knows the adapters.
    pub fn new(names: Vec<String>, choice: AdapterChoice) -> Result<Self, ScheduleError> {
        if names.is_empty() {
            return Err(ScheduleError::NoAdapter);
        }
        match choice {
            AdapterChoice::Distinct | AdapterChoice::Skewed { .. } if names.len() < 2 => {
                Err(ScheduleError::OneAdapter)
            }
            AdapterChoice::Skewed { alpha } if !(alpha > 1.0 && alpha.is_finite()) => {
                Err(ScheduleError::Skew(alpha))
            }
            _ => Ok(Self { names, choice }),
        }
    }

    /// Returns the first adapter, which a warm-up asks for.
    pub fn first(&self) -> &str {
        &self.names[0]
    }

    /// Returns a chooser for the sessions in order, which chooses as SGLang does.
    pub fn chooser(&self) -> AdapterChooser<'_> {
        let weight = |place: usize| match self.choice {
            AdapterChoice::Skewed { alpha } => alpha.powf(-(place as f64)),
            _ => 1.0,
        };
        let weights: Vec<f64> = (0..self.names.len()).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        AdapterChooser {
            spec: self,
            turns: self.names.iter().cycle(),
            chances: weights.iter().map(|weight| weight / sum).collect(),
        }
    }
}

/// Chooses an adapter for one session after the other.
#[derive(Clone, Debug)]
pub struct AdapterChooser<'a> {
    spec: &'a AdapterSpec,
    turns: Cycle<slice::Iter<'a, String>>,
    chances: Vec<f64>,
}

impl<'a> AdapterChooser<'a> {
    /// Returns the next session's adapter.
    pub fn choose(&mut self, random: &mut RandomState) -> &'a str {
        let names = &self.spec.names;
        let chosen = match self.spec.choice {
            AdapterChoice::Uniform => random.python.choice(names),
            AdapterChoice::Distinct => self.turns.next(),
            AdapterChoice::Skewed { .. } => {
                random.numpy.choice_weighted(&self.chances).and_then(|place| names.get(place))
            }
        };
        chosen.map_or(self.spec.first(), String::as_str)
    }
}

/// The spec as it is written in a file.
#[derive(Deserialize)]
struct Unchecked {
    names: Vec<String>,
    #[serde(default)]
    choice: AdapterChoice,
}

impl TryFrom<Unchecked> for AdapterSpec {
    type Error = ScheduleError;

    fn try_from(Unchecked { names, choice }: Unchecked) -> Result<Self, ScheduleError> {
        Self::new(names, choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(json: &str, message: &str) {
        let error = serde_json::from_str::<AdapterSpec>(json).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }

    #[test]
    fn a_file_cannot_hold_what_cannot_be_chosen() {
        refuses(r#"{"names":[]}"#, "there is no adapter to choose from");
        refuses(r#"{"names":["a"],"choice":"distinct"}"#, "two adapters or more are needed");
        refuses(
            r#"{"names":["a","b"],"choice":{"skewed":{"alpha":1}}}"#,
            "the first adapter must be more likely than the next by a factor above 1, not 1",
        );
    }

    #[test]
    fn specs_survive_a_file() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let spec = AdapterSpec::new(names, AdapterChoice::Skewed { alpha: 2.5 }).unwrap();
        let json = r#"{"names":["a","b"],"choice":{"skewed":{"alpha":2.5}}}"#;
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        assert_eq!(serde_json::from_str::<AdapterSpec>(json).unwrap(), spec);
    }
}
