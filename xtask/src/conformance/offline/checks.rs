//! Checks of offline runs: log, result and table must agree with each other and with the engine's
//! own benchmark, and a run that was stopped must be reported as stopped.

use super::client::ObservedRun;
use super::outcome::{Outcomes, Sides, Toll};
use super::own::{OwnAnswer, OwnRun};
use super::run::{End, REQUESTS, Run, Submission};
use crate::conformance::case::Promise;
use crate::conformance::checks::{compare_record, same, unless};
use crate::conformance::record::{Outcome, Record};
use crate::conformance::tally::Tally;

impl ObservedRun {
    pub(super) fn sides(&self, own: &OwnRun) -> Sides {
        let seconds = self.result["total_latency"].as_f64().unwrap_or_default();
        Sides {
            log: logged(self.records()),
            result: self.result_counts(),
            own: own.tally(),
            same_texts: alike(&answers(self.records()), &own.answers),
            seconds: (seconds, own.seconds),
        }
    }

    pub(super) fn toll(&self) -> Toll {
        Toll {
            code: self.code,
            outcomes: self.log.as_ref().map(|log| outcomes(&log.records)),
            left: self.left.len(),
        }
    }

    /// Returns all faults of a complete run, including differences from the engine's own
    /// benchmark.
    pub(super) fn whole_faults(&self, own: &OwnRun) -> Vec<String> {
        let sides = self.sides(own);
        let is_whole = self.log.as_ref().is_some_and(|log| !log.interrupted);
        let all = [
            self.unclean(Some(0)),
            unless(is_whole, "the log does not end with a whole run"),
            same("requests", &self.records().len(), &REQUESTS),
            same("the result's counts", &sides.log, &sides.result),
            same("the table's counts", &sides.log, &self.table_counts()),
            same("the counts of the engine's own benchmark", &sides.log, &sides.own),
            same("texts of the engine's own benchmark", &sides.same_texts, &REQUESTS),
        ];
        let of = |record: &Record| {
            let faults = compare_record(&PROMISES, record).into_iter();
            faults.map(|fault| format!("request {}: {fault}", record.index)).collect::<Vec<_>>()
        };
        all.into_iter().flatten().chain(self.records().iter().flat_map(of)).collect()
    }

    /// Returns all faults in the report of a stopped run.
    pub(super) fn ended_faults(&self, run: Run) -> Vec<String> {
        let Outcomes { answered, lost } = self.toll().outcomes.unwrap_or_default();
        let is_interrupted = self.log.as_ref().is_some_and(|log| log.interrupted);
        let tells_the_end = self.printed.contains("the engine ended: ");
        let lost_by_that = self.records().iter().all(|record| match &record.outcome {
            Outcome::Finished(_) => true,
            Outcome::Failed { message, .. } => message.starts_with("the engine ended: "),
        });
        let faults = match (run.end, run.submission) {
            (End::Done, _) => vec![same("exit code", &self.code, &Some(0))],
            (End::ProgramKilled, _) => vec![self.unclean(None)],
            (End::Interrupted, _) => vec![
                self.unclean(Some(INTERRUPTED)),
                unless(is_interrupted, "the log tells of a whole run"),
                unless(answered > 0 && answered < REQUESTS, "not some of it was answered"),
            ],
            (End::EngineKilled, submission) => {
                let is_batch = submission == Submission::AtOnce;
                let code = if is_batch { NOTHING_DONE } else { TOO_MANY_FAILED };
                vec![
                    self.unclean(Some(code)),
                    unless(is_interrupted, "the log tells of a whole run"),
                    unless(tells_the_end, "it does not print that the engine ended"),
                    unless((answered == 0) == is_batch, "what was answered is not as expected"),
                    unless(lost > 0 && lost_by_that, "its log has not what was lost, and how"),
                ]
            }
        };
        faults.into_iter().flatten().collect()
    }

    /// Returns a fault if the exit code differs or processes are left behind.
    fn unclean(&self, code: Option<i32>) -> Option<String> {
        let left = || self.left.join(", ");
        same("exit code", &self.code, &code)
            .or_else(|| (!self.left.is_empty()).then(|| format!("left behind: {}", left())))
    }

    fn records(&self) -> &[Record] {
        self.log.as_ref().map_or(&[], |log| &log.records)
    }

    /// Counts of the result file.
    fn result_counts(&self) -> Tally {
        let count = |key: &str| self.result[key].as_u64().unwrap_or_default();
        Tally {
            requests: count("successful_requests"),
            prompt_tokens: count("total_input_tokens"),
            output_tokens: count("total_output_tokens"),
        }
    }

    /// Counts of the printed table.
    fn table_counts(&self) -> Tally {
        let count = |label: &str| {
            let value = self.printed.lines().find_map(|line| line.strip_prefix(label));
            value.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
        };
        Tally {
            requests: count("Successful requests:"),
            prompt_tokens: count("Total input tokens:"),
            output_tokens: count("Total generated tokens:"),
        }
    }
}

impl OwnRun {
    fn tally(&self) -> Tally {
        let sum = |count: fn(&OwnAnswer) -> u64| self.answers.iter().map(count).sum();
        Tally {
            requests: self.requests,
            prompt_tokens: sum(|answer| answer.prompt_tokens),
            output_tokens: sum(|answer| answer.output_tokens),
        }
    }
}

/// Counts of the log, as reported by the engine.
pub(super) fn logged(records: &[Record]) -> Tally {
    let answers = answers(records);
    let sum = |count: fn(&OwnAnswer) -> u64| answers.iter().map(count).sum();
    Tally {
        requests: answers.len() as u64,
        prompt_tokens: sum(|answer| answer.prompt_tokens),
        output_tokens: sum(|answer| answer.output_tokens),
    }
}

fn answers(records: &[Record]) -> Vec<OwnAnswer> {
    let finished = records.iter().filter(|record| is_answered(record));
    let answer = |record: &Record| OwnAnswer {
        text: record.text.clone(),
        prompt_tokens: record.counts.prompt.unwrap_or_default(),
        output_tokens: record.counts.completion.unwrap_or_default(),
    };
    finished.map(answer).collect()
}

fn outcomes(records: &[Record]) -> Outcomes {
    let answered = records.iter().filter(|record| is_answered(record)).count();
    Outcomes { answered, lost: records.len() - answered }
}

fn is_answered(record: &Record) -> bool {
    matches!(record.outcome, Outcome::Finished(_))
}

/// Number of answers that both have; the benchmarks send their prompts in different orders.
fn alike(ours: &[OwnAnswer], own: &[OwnAnswer]) -> usize {
    let mut rest = own.to_vec();
    let found = ours.iter().filter(|answer| {
        let place = rest.iter().position(|other| other == *answer);
        place.map(|place| rest.swap_remove(place)).is_some()
    });
    found.count()
}

/// An offline engine reports all counts, and its answers have the requested length.
const PROMISES: [Promise; 4] =
    [Promise::Counts, Promise::CountedPieces, Promise::ExactPrompt, Promise::FullLength];

const NOTHING_DONE: i32 = 1;
const TOO_MANY_FAILED: i32 = 5;
const INTERRUPTED: i32 = 130;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::run::RUNS;
    use super::*;
    use crate::conformance::record::Log;
    use crate::conformance::record::tests::finished;

    fn lost() -> Record {
        let (kind, message) = ("truncated".to_owned(), "the engine ended: signal 9".to_owned());
        Record { outcome: Outcome::Failed { kind, message }, ..finished() }
    }

    fn observed_run(code: i32, records: Vec<Record>, interrupted: bool) -> ObservedRun {
        let log = Some(Log { records, interrupted });
        ObservedRun { code: Some(code), log, ..ObservedRun::default() }
    }

    /// Returns a complete run and the result of the engine's own benchmark.
    fn whole() -> (ObservedRun, OwnRun) {
        let output = "Successful requests:   16\nTotal input tokens:   64   \n\
                    Total generated tokens:   48\n";
        let result = json!({"successful_requests": 16, "total_input_tokens": 64,
                            "total_output_tokens": 48, "total_latency": 0.25});
        let ours = ObservedRun {
            printed: output.to_owned(),
            result,
            ..observed_run(0, vec![finished(); 16], false)
        };
        let own = OwnRun { requests: 16, seconds: 0.5, answers: answers(ours.records()) };
        (ours, own)
    }

    #[test]
    fn a_run_that_all_sides_tell_alike_has_no_fault() {
        let (ours, own) = whole();
        assert_eq!(ours.whole_faults(&own), Vec::<String>::new());
        let sides = ours.sides(&own);
        assert_eq!((sides.same_texts, sides.seconds), (16, (0.25, 0.5)));
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut ObservedRun, &mut OwnRun), fault: &str) {
        let (mut ours, mut own) = whole();
        change(&mut ours, &mut own);
        let faults = ours.whole_faults(&own);
        assert!(faults.iter().any(|found| found.starts_with(fault)), "{faults:?}");
    }

    #[test]
    fn what_the_engine_did_elsewise_is_a_fault() {
        check(|_, own| own.answers[3].output_tokens += 1, "the counts of the engine's own");
        check(|_, own| own.answers[3].text.push('x'), "texts of the engine's own benchmark");
        check(|ours, _| ours.result["total_output_tokens"] = json!(47), "the result's counts");
        check(|ours, _| ours.printed.clear(), "the table's counts");
        check(|ours, _| ours.left.push("VLLM::Worker".to_owned()), "left behind: VLLM::Worker");
        check(|ours, _| ours.log = None, "the log does not end with a whole run");
    }

    #[test]
    fn an_end_has_its_exit_code_and_its_log() {
        let [.., batch, stream, interrupted, killed] = RUNS;
        let mut at_once = observed_run(1, vec![lost(); 16], true);
        at_once.printed = "error: the engine ended: signal 9".to_owned();
        assert_eq!(at_once.ended_faults(batch), Vec::<String>::new());
        let half = [vec![finished(); 4], vec![lost(); 12]].concat();
        let mut one_by_one = observed_run(5, half, true);
        one_by_one.printed.clone_from(&at_once.printed);
        assert_eq!(one_by_one.ended_faults(stream), Vec::<String>::new());
        let stopped = observed_run(130, vec![finished(); 8], true);
        assert_eq!(stopped.ended_faults(interrupted), Vec::<String>::new());
        assert_eq!(ObservedRun::default().ended_faults(killed), Vec::<String>::new());
        let code = "exit code: the log has Some(5), it should be Some(1)";
        assert_eq!(one_by_one.ended_faults(batch), [code, "what was answered is not as expected"]);
    }

    #[test]
    fn a_log_that_hides_the_end_is_a_fault() {
        let [.., stream, _, killed] = RUNS;
        let quiet = observed_run(5, vec![finished(); 16], false);
        let faults = quiet.ended_faults(stream);
        let expected = [
            "the log tells of a whole run",
            "it does not print that the engine ended",
            "its log has not what was lost, and how",
        ];
        assert_eq!(faults, expected);
        let left = ObservedRun { left: vec!["x".to_owned()], ..ObservedRun::default() };
        assert_eq!(left.ended_faults(killed), ["left behind: x"]);
    }
}
