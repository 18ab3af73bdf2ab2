//! AISBench: `ais_bench … -m perf`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Peer;
use crate::{Argued, ComparedPart, Difference, Line, Outcome, SentRequest};

/// AISBench: `ais_bench … -m perf`.
#[derive(Clone, Copy, Debug)]
pub struct Aisbench;

impl Peer for Aisbench {
    /// Returns the words that select the tables of the client's version.
    fn words(&self, _command: &str) -> Vec<String> {
        ["ais_bench", "--style", "2026-06"].map(str::to_owned).to_vec()
    }

    fn model(&self) -> &'static str {
        "m"
    }

    /// Returns the second tables of all tasks as one object. Each key is prefixed with the name of
    /// its task; the counts of values in the first table are added.
    fn result(&self, files: &BTreeMap<String, String>) -> Option<(String, Map<String, Value>)> {
        let mut all = Map::new();
        let mut names = Vec::new();
        for (path, text) in files {
            let Some((_, name)) = path.split_once("/performances/") else { continue };
            let Some(task) = name.strip_suffix(".json").filter(|task| !task.ends_with("_plot"))
            else {
                continue;
            };
            let common: Map<String, Value> = serde_json::from_str(text).ok()?;
            all.extend(common.into_iter().map(|(key, value)| (format!("{task}/{key}"), value)));
            let rows = files.get(&path.replace(".json", ".csv")).map_or("", String::as_str);
            for row in rows.lines().skip(1) {
                let cells: Vec<&str> = row.split(',').collect();
                let (first, last) = (cells[0], cells[cells.len() - 1]);
                if OF_GAPS.contains(&first) {
                    continue;
                }
                all.insert(format!("{task}/N of {first}"), last.trim().into());
            }
            names.push(name);
        }
        (!names.is_empty()).then(|| (names.join(" "), all))
    }

    fn is_time(&self, key: &str) -> bool {
        let name = key.rsplit('/').next().unwrap_or(key);
        let is_count = name == "Max Concurrency" || name.starts_with("N of ");
        let is_timed = |figure: &str| name.contains(figure) && !is_count;
        ["Concurrency", "Duration", "Throughput"].iter().any(|figure| is_timed(figure))
    }

    /// Returns the first cell of each row.
    fn labels(&self, stdout: &str) -> Vec<String> {
        let rows = stdout.lines().filter(|line| line.starts_with('│'));
        let cells = rows.filter_map(|row| row.split('│').nth(1)).map(str::trim);
        cells.filter(|cell| !OF_GAPS.contains(cell)).map(str::to_owned).collect()
    }

    /// Counts an error before the first request as a refusal: AISBench ends with 1 where a config
    /// is missing. Of a line that asks for the stable stage, keeps only the requests: whether there
    /// is a stable stage, and when, depends on times.
    fn trim(&self, line: &mut Line) {
        if line.outcome == Outcome::Failed && line.requests.is_empty() {
            line.outcome = Outcome::Refused;
        }
        if asks_for_stable_stage(line) && !line.requests.is_empty() {
            line.result = None;
            line.labels.clear();
            if line.outcome == Outcome::Failed {
                line.outcome = Outcome::Done;
            }
        }
    }

    fn compares(&self, method: &str, _path: &str) -> bool {
        method == "POST"
    }

    fn repeats(&self, argv: &[String]) -> bool {
        argv.iter().any(|word| word == "--pressure")
    }

    fn drawn_anew(&self) -> &'static [(&'static str, &'static str)] {
        &[("[0-9]{8}_[0-9]{6}", "{TIME}")]
    }

    fn argued(&self) -> &'static [Argued] {
        ARGUED
    }
}

/// Rows that exist only if the pieces of an answer were read one by one.
const OF_GAPS: [&str; 2] = ["ITL", "TPOT"];

/// The kinds in `docs/compat/aisbench.md`.
const ARGUED: &[Argued] = &[
    Argued {
        kind: "stream of MindIE",
        is: |peer, own, _| own.outcome == Outcome::Done && is_unread(peer),
    },
    Argued { kind: "tokenizer of the first model", is: tokenizer_of_the_first_model },
    Argued { kind: "uncounted", is: uncounted },
    Argued { kind: "words", is: |_, _, difference| difference.part == ComparedPart::Message },
];

/// The routes of Triton, TGI and `MindIE` report no token counts. AISBench then tokenizes the whole
/// text; Servemark counts the words of a synthetic one, and the turns of a conversation one by one.
fn uncounted(peer: &Line, _: &Line, difference: &Difference) -> bool {
    let is_uncounted = |request: &SentRequest| !request.path.starts_with("/v1/");
    let counts = |key: &String| key.ends_with("/Total Input Tokens");
    peer.requests.iter().any(is_uncounted)
        && matches!(&difference.part, ComparedPart::Value(key) if counts(key))
}

/// `MindIE` is asked for a stream even with `stream=False`, and AISBench cannot read it then.
fn is_unread(peer: &Line) -> bool {
    let configs = || peer.inputs.values();
    configs().any(|text| text.contains("mindie_stream_api"))
        && configs().any(|text| text.contains(r#"["stream"] = False"#))
        && peer.outcome == Outcome::Failed
}

/// AISBench draws token ids and traces for all models with the tokenizer of the first.
fn tokenizer_of_the_first_model(peer: &Line, _: &Line, difference: &Difference) -> bool {
    let texts = || peer.inputs.values().map(String::as_str);
    let drawn = ["'Type': 'tokenid'", "mooncake_trace", "synthetic_gen_tokenid"];
    let is_drawn = texts().any(|text| drawn.iter().any(|source| text.contains(source)));
    let depends = match &difference.part {
        ComparedPart::Requests => true,
        ComparedPart::Value(key) => key.ends_with("/Total Input Tokens"),
        _ => false,
    };
    is_drawn && depends && peer.argv.iter().any(|word| word == "another_model")
}

/// Returns whether the figures of a line are those of its stable stage.
fn asks_for_stable_stage(line: &Line) -> bool {
    line.argv.iter().any(|word| word.ends_with(STABLE))
        || line.inputs.values().any(|text| text.contains(STABLE))
}

/// Name of the summary of the stable stage.
const STABLE: &str = "stable_stage";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_of_a_task_are_one_result() {
        let files = [
            ("o/t/performances/m/d.json", r#"{"Total Requests": {"total": 3}}"#),
            ("o/t/performances/m/d.csv", "Performance Parameters,Stage,N\nE2EL,total,3\n"),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let (name, result) = Aisbench.result(&files).unwrap();
        let expected = r#"{"m/d/Total Requests":{"total":3},"m/d/N of E2EL":"3"}"#;
        assert_eq!(
            (name.as_str(), Value::Object(result).to_string()),
            ("m/d.json", expected.to_owned())
        );
    }

    #[test]
    fn figures_of_time_are_known_by_their_names() {
        let timed = ["m/d/Benchmark Duration", "m/d/Concurrency", "m/d/Output Token Throughput"];
        assert!(timed.iter().all(|key| Aisbench.is_time(key)));
        assert!(!Aisbench.is_time("m/d/Max Concurrency") && !Aisbench.is_time("m/d/N of E2EL"));
    }
}
