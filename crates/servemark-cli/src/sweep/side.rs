//! Flags of a sweep that change together.

use crate::python;

/// Flags that a sweep adds to a run, with their values.
pub(super) type Settings = Vec<(String, String)>;

/// Flags that change together, each with the same number of values.
#[derive(Debug)]
pub(super) struct Side {
    flags: Vec<(String, Vec<String>)>,
}

impl Side {
    /// Parses flags that change together: `max-concurrency=1,8+num-prompts=10,80`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected FLAG=V,V or FLAG=V,V+FLAG=V,V, got {}", python::repr(text));
        let flag = |part: &str| {
            let (flag, values) = part.split_once('=').ok_or_else(expected)?;
            let values: Vec<String> = values.split(',').map(str::to_owned).collect();
            let flag = flag.trim_start_matches("--").to_owned();
            let is_whole = !flag.is_empty() && values.iter().all(|value| !value.is_empty());
            is_whole.then_some((flag, values)).ok_or_else(expected)
        };
        Ok(Self { flags: text.split('+').map(flag).collect::<Result<_, _>>()? })
    }

    /// Returns the number of values of each flag. The error says which numbers differ.
    pub(super) fn steps(&self) -> Result<usize, String> {
        let mut counts = self.flags.iter().map(|(_, values)| values.len());
        let first = counts.next().unwrap_or_default();
        match counts.find(|count| *count != first) {
            None => Ok(first),
            Some(other) => Err(format!(
                "flags that move together need equally many values, not {first} and {other}"
            )),
        }
    }

    pub(super) fn at(&self, step: usize) -> Settings {
        self.flags.iter().map(|(flag, values)| (flag.clone(), values[step].clone())).collect()
    }
}
