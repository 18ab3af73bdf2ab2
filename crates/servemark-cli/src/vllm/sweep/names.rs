//! Names of the folders and files of results, and the levels of load.

use super::{Combination, Workload};

/// Returns the name of a combination's folder: each part with its role, and the level of load if
/// there is one.
pub fn folder_name(parts: &[(&str, &Combination)], level: Option<(&str, i64)>) -> String {
    let own = parts.iter().filter(|(_, combination)| !combination.parameters().is_empty());
    let mut words: Vec<String> =
        own.flat_map(|(kind, combination)| [format!("{kind}-"), combination.name()]).collect();
    if let Some((variable, value)) = level {
        words.extend(["WL-".to_owned(), format!("{variable}={value}")]);
    }
    file_name(&words.join("-"))
}

/// Replaces the characters of a text that a file name must not have.
pub fn file_name(text: &str) -> String {
    let plain = text.replace('/', "_").replace("..", "__");
    plain.trim_matches('\'').trim_matches('"').to_owned()
}

impl Workload {
    /// Returns the levels between two ends, without the ends.
    pub fn between(&self, low: i64, high: i64) -> Vec<i64> {
        let steps = self.levels - 1;
        let step = (high - low) as f64 / steps as f64;
        let level = |index: usize| (index as f64 * step + low as f64).round_ties_even() as i64;
        let mut levels: Vec<i64> = (1..steps).map(level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }
}

/// Returns the command with its result written to `path`, in place of its own setting.
pub fn with_output(command: &[String], path: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        if OUTPUT.contains(&word.as_str()) {
            rest.next();
        } else if !OUTPUT.iter().any(|flag| is_with_value(word, flag)) {
            words.push(word.clone());
        }
    }
    words.extend([OUTPUT[0].to_owned(), path.to_owned()]);
    words
}

fn is_with_value(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
}

const OUTPUT: [&str; 2] = ["--output-json", "--output_json"];
