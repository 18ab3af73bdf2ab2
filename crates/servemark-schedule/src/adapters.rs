//! Which adapter each session asks for.

use std::iter::Cycle;
use std::slice;

use serde::{Deserialize, Serialize};
use servemark_rng::RandomState;

use crate::ScheduleError;

/// The adapters (`LoRA`) that are asked for, and how one is chosen for a session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Unchecked")]
pub struct AdapterSpec {
    names: Vec<String>,
    choice: AdapterChoice,
}

/// How an adapter is chosen.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AdapterChoice {
    /// Each as likely as any other.
    #[default]
    Uniform,
    /// One after the other, and from the first again.
    Distinct,
    /// Each so many times as likely as the one after it.
    Skewed {
        /// How many times; above one.
        alpha: f64,
    },
}

impl AdapterSpec {
    /// Adapters by the names that the server knows them by.
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

    /// The first of them, for which a warm-up asks.
    pub fn first(&self) -> &str {
        &self.names[0]
    }

    /// Chooses for one session after the other, as SGLang does.
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

/// Chooses for one session after the other.
#[derive(Clone, Debug)]
pub struct AdapterChooser<'a> {
    spec: &'a AdapterSpec,
    turns: Cycle<slice::Iter<'a, String>>,
    chances: Vec<f64>,
}

impl<'a> AdapterChooser<'a> {
    /// The next session's adapter.
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

/// What a file holds.
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
            "the first adapter must be more than once as likely as the next, not 1",
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
