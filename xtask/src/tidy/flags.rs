//! Refuses flags of command lines in the messages of libraries.
//!
//! A message of a library names a setting by its key in a plan, in backquotes. The command line puts
//! its own flag in the key's place.

use std::path::Path;

/// Crates whose messages may name flags: they read command lines or write to a terminal.
const OWNERS: &[&str] =
    &["servemark-cli", "servemark-command-lines", "servemark-terminal", "servemark-testkit"];

/// Files of other crates that name flags: what a program prints in a peer's words, the names of gates
/// in reports, and advice about the command lines of servers.
const KNOWN: &[&str] = &[
    "servemark-report/src/comparison/changes.rs",
    "servemark-report/src/gates.rs",
    "servemark-report/src/native/summary.rs",
    "servemark-report/src/native/table.rs",
    "servemark-report/src/vllm_extras.rs",
    "servemark-bench/src/explore/server.rs",
    "servemark-bench/src/observer/words.rs",
    "servemark-bench/src/score/gates.rs",
];

/// Returns the flags in the messages of a library's sources.
pub(crate) fn faults<'a>(sources: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in sources.filter(|(path, _)| is_library(path)) {
        for (number, line) in lines_before_tests(text).enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if let Some(flag) = flag_in(line).filter(|_| !is_comment) {
                let place = format!("{}:{}", path.display(), number + 1);
                faults.push(format!("{place} names the flag {flag} where a plan's key belongs"));
            }
        }
    }
    faults
}

fn is_library(path: &Path) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let is_in = |name: &&str| parts.contains(name);
    let is_test = path.ends_with("tests.rs") || ["tests", "examples", "benches"].iter().any(is_in);
    let path = path.to_string_lossy();
    parts.contains(&"crates")
        && !is_test
        && !OWNERS.iter().any(is_in)
        && !KNOWN.iter().any(|known| path.ends_with(&format!("crates/{known}")))
}

/// Returns the lines of a file that stand before its tests.
fn lines_before_tests(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| *line != "mod tests {")
}

/// Returns the first flag in a line.
fn flag_in(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let starts = line.match_indices("--").map(|(start, _)| start);
    let is_flag = |start: &usize| {
        let before = start.checked_sub(1).map_or(b' ', |place| bytes[place]);
        let after = bytes.get(start + 2).copied().unwrap_or_default();
        after.is_ascii_lowercase() && !before.is_ascii_alphanumeric() && before != b'-'
    };
    let flag = &line[starts.into_iter().find(is_flag)?..];
    let length = flag.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
    Some(&flag[..length.unwrap_or(flag.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        faults([(Path::new(path), text)].into_iter()).len()
    }

    #[test]
    fn a_flag_in_a_message_of_a_library_is_a_fault() {
        let text = "#[error(\"give one (--model NAME)\")]\n";
        assert_eq!(count("/w/crates/servemark-hub/src/error.rs", text), 1);
        assert_eq!(count("/w/crates/servemark-cli/src/error.rs", text), 0);
        assert_eq!(count("/w/crates/servemark-hub/tests/it/main.rs", text), 0);
        let tested = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert_eq!(count("/w/crates/servemark-hub/src/error.rs", &tested), 0);
        assert_eq!(count("/w/crates/servemark-hub/src/error.rs", "// as --model does\n"), 0);
    }

    #[test]
    fn a_flag_is_told_from_other_dashes() {
        assert_eq!(flag_in("a (--no-resend, b)"), Some("--no-resend"));
        for line in ["x--y", "a -- b", "---rule", "\"--\"", "a --1"] {
            assert_eq!(flag_in(line), None, "{line}");
        }
    }
}
