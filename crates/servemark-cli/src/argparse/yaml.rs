//! Reads a YAML file, with limits on its bytes, its depth and its values. An alias stands for
//! everything that its anchor holds, so a short file can hold more than fits into memory; and a
//! document is built by recursion, so a deep one can exhaust the stack.

use std::collections::HashMap;

use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::{Yaml, YamlLoader};

/// Returns the first document of a text; `None` if there is none. An error says what is wrong with
/// the file, without naming it.
pub(super) fn load(text: &str) -> Result<Option<Yaml>, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("has more than {MOST_BYTES} bytes, which is the limit"));
    }
    check(text)?;
    let documents = YamlLoader::load_from_str(text).map_err(|error| not_yaml(&error))?;
    Ok(documents.into_iter().next())
}

/// Checks the limits on depth and values without building anything. An alias counts as much as its
/// anchor stands for.
fn check(text: &str) -> Result<(), String> {
    let mut parser = Parser::new_from_str(text);
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    // The anchors and sizes of the lists and maps that are open.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut total = 0_usize;
    loop {
        let (anchor, size) = match parser.next_token().map_err(|error| not_yaml(&error))?.0 {
            Event::StreamEnd => return Ok(()),
            Event::Scalar(text, _, anchor, _) => (anchor, 1 + text.len() / TEXT_UNIT),
            Event::Alias(anchor) => (0, sizes.get(&anchor).copied().unwrap_or(1)),
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push((anchor, 1));
                if open.len() > MOST_DEPTH {
                    return Err(format!(
                        "is nested more than {MOST_DEPTH} deep, which is the limit"
                    ));
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().unwrap_or_default(),
            _ => continue,
        };
        if anchor > 0 {
            sizes.insert(anchor, size);
        }
        match open.last_mut() {
            Some((_, outer)) => *outer = outer.saturating_add(size),
            None => total = total.saturating_add(size),
        }
        let largest = open.last().map_or(total, |(_, outer)| *outer);
        if largest > MOST_VALUES {
            return Err(format!(
                "holds more than {MOST_VALUES} values, aliases counted with what they stand for, \
                 which is the limit"
            ));
        }
    }
}

fn not_yaml(error: &yaml_rust2::ScanError) -> String {
    format!("is not YAML: {error}")
}

const MOST_BYTES: usize = 1 << 20;
const MOST_DEPTH: usize = 100;
const MOST_VALUES: usize = 100_000;
/// Number of bytes of text that count as one more value.
const TEXT_UNIT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(text: &str, expected: &str) {
        let error = load(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn an_alias_is_what_its_anchor_holds() {
        let Ok(Some(yaml)) = load("a: &a [1, 2]\nb: [*a, *a]\n") else { panic!("it is YAML") };
        assert_eq!(yaml["b"][1][1].as_i64(), Some(2));
        assert_eq!(load(""), Ok(None));
        refuses("a: [1", "is not YAML");
    }

    #[test]
    fn a_billion_laughs_are_refused() {
        let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..10 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &["a", &level.to_string(), ": &a", &level.to_string(), " [", &inner, "]\n"]
                .concat();
        }
        refuses(&bomb, "holds more than 100000 values");
        let text = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), vec!["*a"; 1000].join(", "));
        refuses(&text, "holds more than 100000 values");
    }

    #[test]
    fn deep_nesting_and_large_files_are_refused() {
        refuses(&format!("a: {}{}", "[".repeat(150), "]".repeat(150)), "nested more than 100 deep");
        refuses(&"- ".repeat(50_000), "nested more than 100 deep");
        refuses(&"- ".repeat(1 << 20), "has more than 1048576 bytes");
        let lines = (0..5_000).map(|depth| format!("{}a:\n", " ".repeat(depth)));
        refuses(&lines.take(1_000).collect::<String>(), "nested more than 100 deep");
    }
}
