//! Compares the engine's own benchmarks with ours on the same command lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::checks::logged;
use super::client::{Client, LONGEST_RUN, OUTPUT_FILE, RUN_LOG};
use super::outcome::{Counts, RunReport, Worded};
use super::run::slug;
use super::strays::left_in;
use crate::conformance::bench::renew;
use crate::conformance::checks::{same, unless};
use crate::conformance::engine::TINY_ADAPTER;
use crate::conformance::peer::{has_keys, labelled, settings};
use crate::conformance::process::{ProcessGroup, end_of};
use crate::conformance::record::{Record, records};

/// A command line for both benchmarks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wording {
    pub(super) name: &'static str,
    /// Subcommand and arguments. [`PROMPTS`] and [`ADAPTER`] stand for paths.
    words: &'static str,
}

/// Observed results of one of the two benchmarks.
#[derive(Debug, Default)]
struct PrintedResults {
    result: Value,
    /// Printed result lines: labels, and values that are counts.
    lines: Vec<String>,
}

impl Wording {
    pub(super) fn examine(&self, client: &Client<'_>, evidence: &Path) -> RunReport {
        let folder = evidence.join(slug(client.engine, self.name));
        match self.observe(client, &folder) {
            Err(error) => RunReport::broken(self.name, &error),
            Ok((records, ours, own)) => {
                let faults = faults(&records, &ours, &own);
                let counts = Counts::Worded(worded(&records, &ours, &own));
                RunReport { name: self.name, faults, counts }
            }
        }
    }

    fn observe(
        &self,
        client: &Client<'_>,
        folder: &Path,
    ) -> anyhow::Result<(Vec<Record>, PrintedResults, PrintedResults)> {
        let mut ours = client.bench.program("servemark");
        ours.args(["vllm", "bench"]).args(self.words(client)?);
        ours.arg("--python").arg(&client.place.python).args(["--overwrite", "--run-log", RUN_LOG]);
        let ours = collect_results(client, ours, folder)?;
        let records = records(&folder.join(RUN_LOG))?;
        let mut own = Command::new(&client.place.python);
        own.args(client.offline.bench.context("it has no benchmarks")?).args(self.words(client)?);
        let own = collect_results(client, own, &folder.join("own"))
            .context("the engine's own benchmark")?;
        let measured = records.into_iter().filter(|record| !record.is_warmup).collect();
        Ok((measured, ours, own))
    }

    fn words(&self, client: &Client<'_>) -> anyhow::Result<Vec<String>> {
        let adapter = client.place.model(TINY_ADAPTER)?;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let word = |word: &str| match word {
            PROMPTS => path(client.prompts),
            ADAPTER => path(&adapter),
            word => word.to_owned(),
        };
        let model = ["--model".to_owned(), path(client.model)];
        let result = ["--output-json".to_owned(), RESULT.to_owned()];
        Ok(self.words.split_whitespace().map(word).chain(model).chain(result).collect())
    }
}

/// Runs a benchmark in a folder of its own and collects its results.
fn collect_results(
    client: &Client<'_>,
    mut command: Command,
    folder: &Path,
) -> anyhow::Result<PrintedResults> {
    renew(folder)?;
    let folder = folder.canonicalize()?;
    client.set_up(&mut command, &folder)?;
    let ended = ProcessGroup::spawn(&mut command)?.wait(LONGEST_RUN)?;
    let left = left_in(&folder)?;
    ensure!(ended.success(), "it ended with {ended}: {}", end_of(&folder.join(OUTPUT_FILE)));
    ensure!(left.is_empty(), "left behind: {}", left.join(", "));
    Ok(PrintedResults {
        result: serde_json::from_str(&fs::read_to_string(folder.join(RESULT))?)?,
        lines: result_lines(&fs::read_to_string(folder.join(OUTPUT_FILE))?),
    })
}

fn result_lines(output: &str) -> Vec<String> {
    let is_result = |line: &&str| LABELS.iter().any(|label| line.contains(label));
    output.lines().filter(is_result).map(labelled).collect()
}

/// Returns all differences between our results and the peer's.
fn faults(records: &[Record], ours: &PrintedResults, own: &PrintedResults) -> Vec<String> {
    let log = logged(records);
    let Worded { tokens, .. } = worded(records, ours, own);
    let total = tokens.0.unwrap_or(log.prompt_tokens + log.output_tokens);
    let all = [
        unless(log.requests == records.len() as u64, "not every request was answered"),
        unless(has_keys(&ours.result, &own.result), "its result has not the same keys"),
        unless(!own.lines.is_empty(), "nothing was told of a result"),
        same("tokens", &(log.prompt_tokens + log.output_tokens), &total),
        same("what is printed", &ours.lines, &own.lines),
    ];
    all.into_iter().flatten().chain(settings(&ours.result, &own.result)).collect()
}

fn worded(records: &[Record], ours: &PrintedResults, own: &PrintedResults) -> Worded {
    let tokens = |printed: &PrintedResults| printed.result["total_num_tokens"].as_u64();
    let seconds = |printed: &PrintedResults| {
        let of = |key: &str| printed.result[key].as_f64();
        of("elapsed_time").or_else(|| of("avg_latency")).unwrap_or_default()
    };
    Worded {
        log: logged(records),
        tokens: (tokens(ours), tokens(own)),
        seconds: (seconds(ours), seconds(own)),
    }
}

/// Placeholders for the file of prompts and for the adapter's folder.
const PROMPTS: &str = "PROMPTS";
const ADAPTER: &str = "ADAPTER";
const RESULT: &str = "result.json";

/// Phrases that identify printed result lines.
const LABELS: [&str; 4] = ["Throughput: ", "Total num ", "Avg latency: ", "% percentile latency: "];

/// Each run has sixteen prompts, or as many in several batches. Output lengths are fixed where
/// vLLM counts requested tokens and our program counts generated ones.
pub(super) const WORDINGS: [Wording; 9] = [
    wording(
        "throughput, random",
        "throughput --num-prompts 16 --random-input-len 64 --random-output-len 32 \
         --random-range-ratio 0.5 --num-warmups 4",
    ),
    wording(
        "throughput, sharegpt",
        "throughput --num-prompts 16 --dataset-name sharegpt --dataset-path PROMPTS --output-len 32",
    ),
    wording(
        "throughput, one by one",
        "throughput --num-prompts 16 --random-input-len 64 --random-output-len 32 --async-engine",
    ),
    wording(
        "throughput, queued before",
        "throughput --num-prompts 16 --random-input-len 64 --random-output-len 32 --n 2 \
         --prequeue-requests --disable-detokenize",
    ),
    wording(
        "throughput, conversations",
        "throughput --num-prompts 16 --random-input-len 64 --random-output-len 32 \
         --backend vllm-chat",
    ),
    wording(
        "throughput, adapters",
        "throughput --num-prompts 16 --random-input-len 64 --random-output-len 32 --enable-lora \
         --max-loras 2 --lora-path ADAPTER",
    ),
    wording(
        "throughput, Transformers",
        "throughput --num-prompts 16 --random-input-len 64 --random-output-len 8 --backend hf \
         --hf-max-batch-size 6",
    ),
    wording(
        "latency",
        "latency --input-len 32 --output-len 16 --batch-size 4 --num-iters-warmup 1 --num-iters 4",
    ),
    wording(
        "latency, beams",
        "latency --input-len 32 --output-len 8 --batch-size 4 --num-iters-warmup 1 --num-iters 4 \
         --n 2 --use-beam-search",
    ),
];

const fn wording(name: &'static str, words: &'static str) -> Wording {
    Wording { name, words }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conformance::record::tests::finished;

    /// Results of both benchmarks for two requests, and our log.
    fn both() -> (Vec<Record>, PrintedResults, PrintedResults) {
        let records = vec![finished(), finished()];
        let log = logged(&records);
        let total = log.prompt_tokens + log.output_tokens;
        let output =
            format!("noise: 3\nThroughput: 0.27 requests/s\nTotal num prompt tokens:  {total}\n");
        let printed = |seconds: f64| PrintedResults {
            result: json!({"elapsed_time": seconds, "num_requests": 2, "total_num_tokens": total}),
            lines: result_lines(&output),
        };
        let mut ours = printed(1.5);
        ours.result["measured_over"] = json!("calls");
        (records, ours, printed(2.5))
    }

    #[test]
    fn two_that_tell_alike_have_no_fault() {
        let (records, ours, own) = both();
        assert_eq!(faults(&records, &ours, &own), Vec::<String>::new());
        let worded = worded(&records, &ours, &own);
        assert_eq!((worded.log.requests, worded.seconds), (2, (1.5, 2.5)));
        assert_eq!(ours.lines[0], "Throughput");
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Vec<Record>, &mut PrintedResults), fault: &str) {
        let (mut records, mut ours, own) = both();
        change(&mut records, &mut ours);
        let faults = faults(&records, &ours, &own);
        assert!(faults.iter().any(|found| found.starts_with(fault)), "{faults:?}");
    }

    #[test]
    fn what_is_told_otherwise_is_a_fault() {
        check(|records, _| drop(records.pop()), "tokens: ");
        check(|_, ours| ours.result["total_num_tokens"] = json!(1), "total_num_tokens: ");
        check(|_, ours| ours.result = json!({"num_requests": 2}), "its result has not the same");
        check(|_, ours| ours.lines.clear(), "what is printed: ");
    }

    #[test]
    fn words_that_stand_for_paths_stand_alone() {
        let words = WORDINGS.iter().flat_map(|wording| wording.words.split_whitespace());
        let paths = words.filter(|word| [PROMPTS, ADAPTER].contains(word));
        assert_eq!(paths.collect::<Vec<_>>(), [PROMPTS, ADAPTER]);
    }
}
