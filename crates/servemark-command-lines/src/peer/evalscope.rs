//! evalscope: `evalscope perf`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Peer;
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

    /// Counts a run as crashed if evalscope raised an exception because an answer had no token
    /// counts: its remaining requests and all of its results are lost.
    fn trim(&self, line: &mut Line) {
        let why = line.message.as_deref().unwrap_or_default();
        if why.starts_with("Error: Unable to retrieve usage information") {
            line.outcome = Outcome::Crashed;
        }
    }

    fn argued(&self) -> &'static [Argued] {
        ARGUED
    }
}

/// Rows that exist only if the pieces of an answer were read one by one.
const OF_GAPS: [&str; 5] = ["Avg ITL", "Avg TPOT", "Decode", "ITL", "TPOT"];

/// The kinds in `docs/compat/evalscope.md`, the specific ones first.
const ARGUED: &[Argued] = &[
    Argued { kind: "no address", is: no_address },
    Argued { kind: "pairs of a text API", is: pairs_of_a_text_api },
    Argued { kind: "refused sooner", is: refused_sooner },
    Argued { kind: "words", is: |_, _, difference| difference.part == ComparedPart::Message },
    Argued { kind: "failed without a stream", is: failed_without_a_stream },
];

fn no_address(_: &Line, own: &Line, _: &Difference) -> bool {
    own.message.as_ref().is_some_and(|why| why.contains("the base URL must begin with"))
}

/// evalscope sends the pairs of a rerank data set with the settings of a text API, too.
fn pairs_of_a_text_api(peer: &Line, own: &Line, _: &Difference) -> bool {
    let is_pair = |request: &SentRequest| request.body.get("documents").is_some();
    let is_of_texts = |request: &SentRequest| request.body.get("stream").is_some();
    own.outcome == Outcome::Done
        && peer.requests.iter().any(|request| is_pair(request) && is_of_texts(request))
}

/// The connection test of evalscope fails before it reads a setting that Servemark refuses.
fn refused_sooner(peer: &Line, own: &Line, difference: &Difference) -> bool {
    let both = peer.outcome == Outcome::Failed && own.outcome == Outcome::Refused;
    both && own.requests.is_empty()
        && [ComparedPart::Outcome, ComparedPart::Requests].contains(&difference.part)
}

/// Servemark counts a failed request as streamed if the run streams; a line of JSON may ask for no
/// stream.
fn failed_without_a_stream(peer: &Line, _: &Line, difference: &Difference) -> bool {
    let whole = peer.requests.iter().any(|request| request.body["stream"] == false);
    let counts = match &difference.part {
        ComparedPart::Value(key) => key.ends_with("Stream Requests"),
        ComparedPart::Labels => difference.peer.contains("Stream / Non-Stream"),
        _ => false,
    };
    whole && counts
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
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let (name, result) = Evalscope.result(&files).unwrap();
        assert_eq!(
            (name.as_str(), Value::Object(result).to_string()),
            ("o/a o/b", r#"{"a/N":1,"b/N":2}"#.to_owned())
        );
    }
}
