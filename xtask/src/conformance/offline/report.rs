//! Writes the results of offline runs as Markdown tables.

use std::fmt::Write;

use super::outcome::{Counts, Outcomes, RunReport, Sides, Toll, Worded};
use super::run::REQUESTS;
use crate::conformance::tally::Tally;
use crate::conformance::verdict::verdict;

/// Formats one run as a line, followed by its faults.
pub(in crate::conformance) fn line(report: &RunReport) -> String {
    let mut line = format!("  {}: {}", report.name, verdict(&report.faults));
    for fault in &report.faults {
        let _ = write!(line, "\n    {fault}");
    }
    line
}

/// Formats an engine's tables as Markdown.
pub(in crate::conformance) fn markdown(runs: &[RunReport]) -> String {
    let whole: String = runs.iter().filter_map(whole).collect();
    let ended: String = runs.iter().filter_map(toll_row).collect();
    let worded: String = runs.iter().filter_map(worded).collect();
    let tables = [(WHOLE_HEAD, whole), (WORDED_HEAD, worded), (ENDED_HEAD, ended)];
    let tables = tables.into_iter().filter(|(_, rows)| !rows.is_empty());
    let tables: Vec<_> = tables.map(|(head, rows)| format!("{head}{rows}")).collect();
    format!("{}{}", tables.join("\n"), failures(runs))
}

fn whole(report: &RunReport) -> Option<String> {
    let Counts::Whole(sides) = &report.counts else { return None };
    let Sides { log, result, own, same_texts, seconds: (ours, its_own) } = sides;
    let row =
        |count: fn(&Tally) -> u64| format!("{} / {} / {}", count(log), count(result), count(own));
    Some(format!(
        "| {} | {} | {} | {} | {same_texts} of {REQUESTS} | {ours:.2} / {its_own:.2} | {} |\n",
        report.name,
        row(|tally| tally.requests),
        row(|tally| tally.prompt_tokens),
        row(|tally| tally.output_tokens),
        verdict(&report.faults),
    ))
}

fn worded(report: &RunReport) -> Option<String> {
    let Counts::Worded(Worded { log, tokens: (ours, its_own), seconds }) = &report.counts else {
        return None;
    };
    let summary =
        |count: &Option<u64>| count.map_or_else(|| "–".to_owned(), |count| count.to_string());
    let total = log.prompt_tokens + log.output_tokens;
    let (ours, its_own) = (summary(ours), summary(its_own));
    Some(format!(
        "| {} | {} | {} + {} = {total} / {ours} / {its_own} | {:.2} / {:.2} | {} |\n",
        report.name,
        log.requests,
        log.prompt_tokens,
        log.output_tokens,
        seconds.0,
        seconds.1,
        verdict(&report.faults),
    ))
}

fn toll_row(report: &RunReport) -> Option<String> {
    let Counts::Ended(Toll { code, outcomes, left }) = &report.counts else { return None };
    let code = code.map_or_else(|| "–".to_owned(), |code| code.to_string());
    let outcomes = outcomes.map_or_else(|| "– | –".to_owned(), outcome_cells);
    let verdict = verdict(&report.faults);
    Some(format!("| {} | {code} | {outcomes} | {left} | {verdict} |\n", report.name))
}

fn outcome_cells(Outcomes { answered, lost }: Outcomes) -> String {
    format!("{answered} | {lost}")
}

fn failures(runs: &[RunReport]) -> String {
    let failed = runs.iter().filter(|run| !run.faults.is_empty());
    let lines: Vec<_> = failed.map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\nWhat failed:\n\n```text\n{}\n```\n", lines.join("\n"))
}

const WHOLE_HEAD: &str = "\
By our log / by our result file / by the engine's own benchmark.

| run | requests | input tokens | output tokens | same texts | seconds, ours / its own | result |
|---|---|---|---|---|---|---|
";
const WORDED_HEAD: &str = "\
In its own words. Tokens by our log / by our result file / by the engine's own benchmark.

| run | requests | input + output tokens | seconds, ours / its own | result |
|---|---|---|---|---|
";
const ENDED_HEAD: &str = "\
| run | exit code | answered | lost | left behind | result |
|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &'static str, counts: Counts, faults: &[&str]) -> RunReport {
        let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
        RunReport { name, faults, counts }
    }

    #[test]
    fn a_whole_run_is_a_row_with_three_sides() {
        let tally = Tally { requests: 16, prompt_tokens: 640, output_tokens: 512 };
        let seconds = (1.5, 1.25);
        let sides = Sides { log: tally, result: tally, own: tally, same_texts: 16, seconds };
        let text = markdown(&[report("at once", Counts::Whole(sides), &[])]);
        let row = "| at once | 16 / 16 / 16 | 640 / 640 / 640 | 512 / 512 / 512 | 16 of 16 | \
                   1.50 / 1.25 | ok |\n";
        assert!(text.ends_with(row), "{text}");
    }

    #[test]
    fn a_run_in_its_words_is_a_row_with_tokens_from_three_sides() {
        let log = Tally { requests: 16, prompt_tokens: 640, output_tokens: 512 };
        let throughput = Worded { log, tokens: (Some(1152), Some(1152)), seconds: (1.5, 1.25) };
        let latency = Worded { tokens: (None, None), ..throughput };
        let text = markdown(&[
            report("random", Counts::Worded(throughput), &[]),
            report("batches", Counts::Worded(latency), &[]),
        ]);
        let row = "| random | 16 | 640 + 512 = 1152 / 1152 / 1152 | 1.50 / 1.25 | ok |\n";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| batches | 16 | 640 + 512 = 1152 / – / – | 1.50 /"), "{text}");
    }

    #[test]
    fn an_end_is_a_row_with_its_toll() {
        let outcomes = Some(Outcomes { answered: 4, lost: 12 });
        let toll = Toll { code: Some(5), outcomes, left: 0 };
        let killed = Toll { code: None, outcomes: None, left: 2 };
        let text = markdown(&[
            report("engine killed", Counts::Ended(toll), &[]),
            report("program killed", Counts::Ended(killed), &["left behind: a, b"]),
        ]);
        assert!(text.contains("| engine killed | 5 | 4 | 12 | 0 | ok |\n"), "{text}");
        assert!(text.contains("| program killed | – | – | – | 2 | 1 check failed |\n"), "{text}");
        assert!(text.ends_with("  program killed: 1 check failed\n    left behind: a, b\n```\n"));
    }
}
