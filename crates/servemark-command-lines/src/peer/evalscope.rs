//! evalscope: `evalscope perf`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Peer, numbers_only, refuses_long_number};
use crate::own::DATABASE;
use crate::{Argued, ComparedPart, Difference, Line, Outcome, SentRequest};

/// evalscope: `evalscope perf`.
#[derive(Clone, Copy, Debug)]
pub struct Evalscope;

impl Peer for Evalscope {
    fn words(&self, _command: &str) -> Vec<String> {
        ["evalscope", "perf"].map(str::to_owned).to_vec()
    }

    fn model(&self) -> &'static str {
        "m"
    }

    /// Returns the summaries of all runs as one object. Each key is prefixed with the folder of its
    /// run.
    fn result(&self, files: &BTreeMap<String, String>) -> Option<(String, Map<String, Value>)> {
        let mut all = Map::new();
        let mut folders = Vec::new();
        for (name, text) in files {
            let Some(folder) = name.strip_suffix("/benchmark_summary.json") else { continue };
            let run = folder.rsplit('/').next().unwrap_or(folder);
            let summary: Map<String, Value> = serde_json::from_str(text).ok()?;
            all.extend(summary.into_iter().map(|(key, value)| (format!("{run}/{key}"), value)));
            if let Some(arguments) = files.get(&format!("{folder}/benchmark_args.json")) {
                all.insert(format!("{run}/arguments"), comparable(arguments)?);
            }
            let in_run = |name: &&String| name.starts_with(&format!("{folder}/"));
            let names = files.keys().filter(in_run).map(|name| &name[folder.len() + 1..]);
            let names: Value = names.filter(|name| !is_own(name)).collect();
            all.insert(format!("{run}/files"), names);
            if let Some(rows) = files.get(&format!("{folder}/benchmark_data.db.json")) {
                all.insert(format!("{run}/rows"), serde_json::from_str(rows).ok()?);
            }
            folders.push(folder);
        }
        (!folders.is_empty()).then(|| (folders.join(" "), all))
    }

    fn is_time(&self, key: &str) -> bool {
        let is_rate = key.ends_with("Request Rate (req/s)");
        !is_rate && ["(s)", "(ms)", "/s)"].iter().any(|unit| key.ends_with(unit))
    }

    /// Returns the titles of tables and columns, and the first word of each row.
    fn labels(&self, stdout: &str) -> Vec<String> {
        let lines: Vec<&str> = stdout.lines().filter(|line| !line.trim().is_empty()).collect();
        let after = lines.iter().skip(1).map(Some).chain([None]);
        let labels = lines.iter().zip(after).filter_map(|(line, next)| label(line, next.copied()));
        labels.filter(|label| !OF_GAPS.iter().any(|gaps| label.starts_with(gaps))).collect()
    }

    fn message(&self, stderr: &str) -> Option<String> {
        let last = stderr.lines().rfind(|line| !line.trim().is_empty())?;
        let message = last.split_once("error: ").map_or(last, |(_, message)| message);
        // Removes pydantic's text before the client's message, and Servemark's addition to
        // argparse's.
        let message = message.strip_prefix("Value error, ").unwrap_or(message);
        Some(message.split("; did you mean").next().unwrap_or(message).to_owned())
    }

    fn compares(&self, method: &str, _path: &str) -> bool {
        method == "POST"
    }

    fn drawn_anew(&self) -> &'static [(&'static str, &'static str)] {
        &[("[0-9]{8}_[0-9]{6}", "{TIME}")]
    }

    /// Sorts the rows of databases, because requests end in any order. Counts a run as crashed if
    /// evalscope raised an exception because an answer had no token counts: its remaining requests
    /// and all of its results are lost.
    fn trim(&self, line: &mut Line) {
        let values = line.result.iter_mut().flat_map(|result| &mut result.values);
        for (_, rows) in values.filter(|(key, _)| key.ends_with("/rows")) {
            rows.as_array_mut().into_iter().for_each(|rows| rows.sort_by_key(Value::to_string));
        }
        let why = line.message.as_deref().unwrap_or_default();
        let is_uncounted = why.starts_with("Error: Unable to retrieve usage information");
        // The prompt of an answer without counts has no message; more than the test was sent.
        let is_empty = why.contains("to an empty conversation") && line.requests.len() > 2;
        if is_uncounted || is_empty {
            line.outcome = Outcome::Crashed;
        }
    }

    /// Takes the end of a line at the connection test for a refusal if Servemark refuses the line:
    /// no run was begun, and evalscope had not looked at the fault yet.
    fn reconcile(&self, peer: &mut Line, own: &Line) {
        let both = peer.outcome == Outcome::Failed && own.outcome == Outcome::Refused;
        if both && peer.requests.iter().all(tests_connection) {
            peer.outcome = Outcome::Refused;
        }
    }

    fn argued(&self) -> &'static [Argued] {
        ARGUED
    }
}

/// Parses the arguments of a run. Servemark hides the values of headers and keys, and the peer
/// writes some numbers now as integers, now as floats.
fn comparable(arguments: &str) -> Option<Value> {
    let mut arguments: Map<String, Value> = serde_json::from_str(&numbers_only(arguments)).ok()?;
    let hide = |value: &mut Value| *value = "hidden".into();
    arguments.get_mut("headers")?.as_object_mut()?.values_mut().for_each(hide);
    arguments.get_mut("api_key").filter(|key| !key.is_null()).map(hide);
    for name in ["rate", "warmup_num"] {
        if let Some(number) = arguments.get_mut(name) {
            *number = number.as_f64().into();
        }
    }
    Some(Value::Object(arguments))
}

/// Returns whether only Servemark, or only the recording script, writes this file of a run.
fn is_own(name: &str) -> bool {
    name.contains(".runlog.") || name.ends_with(DATABASE) || name.ends_with(".db.json")
}

/// Rows that exist only if the pieces of an answer were read one by one.
const OF_GAPS: [&str; 5] = ["Avg ITL", "Avg TPOT", "Decode", "ITL", "TPOT"];

/// The kinds in `docs/compat/evalscope.md`, the specific ones first.
const ARGUED: &[Argued] = &[
    Argued { kind: "embeddings in a conversation", is: embeddings_in_a_conversation },
    Argued { kind: "negative length", is: negative_length },
    Argued {
        kind: "negative offset",
        is: |_, own, _| has_warning(own, "--dataset-offset must be 0"),
    },
    Argued { kind: "no address", is: no_address },
    Argued {
        kind: "no duration",
        is: |_, own, _| has_warning(own, "--duration must be more than 0"),
    },
    Argued {
        kind: "nothing to send",
        is: |_, own, _| has_warning(own, "--number must be 1 or more"),
    },
    Argued { kind: "pairs of a text API", is: pairs_of_a_text_api },
    Argued { kind: "several conversations at once", is: draws_at_once },
    Argued { kind: "whole numbers of 64 bits", is: |peer, own, _| refuses_long_number(peer, own) },
    Argued { kind: "words", is: |_, _, difference| difference.part == ComparedPart::Message },
];

fn negative_length(_: &Line, own: &Line, _: &Difference) -> bool {
    ["-prompt-length", "--max-tokens"]
        .iter()
        .any(|flag| has_warning(own, &format!("{flag} must be 0")))
}

fn no_address(_: &Line, own: &Line, _: &Difference) -> bool {
    has_warning(own, "the base URL must begin with")
}

/// Returns whether a request is evalscope's test of the connection, which says "hello".
fn tests_connection(request: &SentRequest) -> bool {
    let keys = ["messages", "prompt", "input", "input_text"];
    let texts = keys.iter().map(|key| &request.body[*key]);
    texts.into_iter().any(|text| *text == "hello" || text[0]["content"] == "hello")
}

fn has_warning(own: &Line, why: &str) -> bool {
    own.message.as_ref().is_some_and(|message| message.contains(why))
}

/// evalscope adds the printed form of an embedding to the conversation as the answer.
fn embeddings_in_a_conversation(peer: &Line, _: &Line, _: &Difference) -> bool {
    let is_answer =
        |text: &Value| text.as_str().is_some_and(|text| text.starts_with("embedding_dim="));
    let holds = |request: &SentRequest| {
        request.body["input"].as_array().is_some_and(|texts| texts.iter().any(is_answer))
    };
    peer.requests.iter().any(holds)
}

/// evalscope draws the lengths of an agent's answers while conversations run concurrently, so the
/// state of the generators at the start of a search's next run depends on the order of the answers.
fn draws_at_once(peer: &Line, own: &Line, _: &Difference) -> bool {
    let has = |start: &str| peer.argv.iter().any(|word| word.starts_with(start));
    let is_agents = peer.argv.iter().any(|word| word.contains("trie_"));
    own.outcome == Outcome::Done && is_agents && has("--sla-a")
}

/// evalscope sends the pairs of a rerank data set with the settings of a text API, too.
fn pairs_of_a_text_api(peer: &Line, own: &Line, _: &Difference) -> bool {
    let is_pair = |request: &SentRequest| request.body.get("documents").is_some();
    let is_of_texts = |request: &SentRequest| request.body.get("stream").is_some();
    own.outcome == Outcome::Done
        && peer.requests.iter().any(|request| is_pair(request) && is_of_texts(request))
}

/// Returns the label in a line. A title stands directly above its table.
fn label(line: &str, next: Option<&str>) -> Option<String> {
    if !line.contains(['│', '┃']) {
        let is_title = line.contains(char::is_alphabetic)
            && next.is_some_and(|next| next.starts_with(['┌', '┏']));
        return is_title.then(|| line.trim().split(" (").next().unwrap_or_default().to_owned());
    }
    let cells: Vec<&str> = line.split(['│', '┃']).map(str::trim).collect();
    // This line continues a value that takes several lines.
    if let ["", "", _, ""] = cells[..] {
        return None;
    }
    let cells = cells.into_iter();
    let mut words = cells.filter(|cell| cell.contains(char::is_alphabetic) && *cell != "INF");
    if line.contains('┃') {
        return Some(words.collect::<Vec<_>>().join(", "));
    }
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_what_is_no_figure() {
        let table = "Workload throughput (3 samples):\n┌─────┬────┐\n│ Metric (tok/s) │ Overall │\n├─┼─┤\n\
                     │ New tok/s │ 5 │\n└─┴─┘\n       Overview\n┏━━━┳━━┓\n┃Conc. ┃ Rate┃\n│ 2 │ INF │ TTFT │ 1 │\n\
                     │   │     │ 5    │\n";
        let expected = [
            "Workload throughput",
            "Metric (tok/s)",
            "New tok/s",
            "Overview",
            "Conc., Rate",
            "TTFT",
        ];
        assert_eq!(Evalscope.labels(table), expected);
    }

    #[test]
    fn summaries_of_all_runs_are_one_result() {
        let files = [
            ("o/a/benchmark_summary.json", r#"{"N": 1}"#),
            ("o/b/benchmark_summary.json", r#"{"N": 2}"#),
            ("o/b/benchmark_data.db.json", "[[1]]"),
            ("o/b/run.runlog.jsonl", ""),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let (name, result) = Evalscope.result(&files).unwrap();
        let expected = serde_json::json!({
            "a/N": 1, "a/files": ["benchmark_summary.json"],
            "b/N": 2, "b/files": ["benchmark_summary.json"], "b/rows": [[1]],
        });
        assert_eq!((name.as_str(), Value::Object(result)), ("o/a o/b", expected));
    }
}
