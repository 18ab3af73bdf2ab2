//! Compares the log with the bytes on the wire, and both with the planned requests.

use std::fmt::Debug;

use super::answer::WireAnswer;
use super::case::{Case, Expected, Promise};
use super::engine::Refusal;
use super::record::{Outcome, Record};
use super::times;

/// Pairs each record with its reply.
///
/// The log does not contain the connection of a request, so both sides are sorted by their
/// content; equal ones keep their order in time.
pub(super) fn pairs(records: Vec<Record>, answers: Vec<WireAnswer>) -> Vec<(Record, WireAnswer)> {
    let (mut records, mut answers) = (records, answers);
    records.sort_by_key(|record| record.stamps.sent);
    records.sort_by(|one, other| (&one.text, one.counts).cmp(&(&other.text, other.counts)));
    answers.sort_by(|one, other| (&one.text, one.counts).cmp(&(&other.text, other.counts)));
    records.into_iter().zip(answers).collect()
}

/// Checks that no request is missing from the log or from the wire.
pub(super) fn miscounted(case: &Case, records: &[Record], answers: &[WireAnswer]) -> Vec<String> {
    let found = [
        same("requests", &records.len(), &case.requests),
        unless(records.len() == answers.len(), "the wire had more requests than the log, or less"),
    ];
    found.into_iter().flatten().collect()
}

/// Returns all differences between the pairs and the expectation.
pub(super) fn faults(expected: &Expected, pairs: &[(Record, WireAnswer)]) -> Vec<String> {
    let of = |record: &Record, answer: &WireAnswer| match expected {
        Expected::Answers(promises) => [
            agreement(record, answer),
            compare_record(promises, record),
            times::faults(promises, record, answer),
        ]
        .concat(),
        Expected::Items(items) => {
            [agreement(record, answer), check_items(*items, record, answer)].concat()
        }
        Expected::Refusals(refusal) => {
            [agreement(record, answer), refused(refusal, record)].concat()
        }
    };
    let faults = pairs.iter().map(|(record, answer)| (record, of(record, answer)));
    faults
        .flat_map(|(record, faults)| {
            faults.into_iter().map(|fault| format!("request {}: {fault}", record.index))
        })
        .collect()
}

/// Compares a record with its reply on the wire.
fn agreement(record: &Record, answer: &WireAnswer) -> Vec<String> {
    let reason = match &record.outcome {
        Outcome::Finished(reason) => reason.clone(),
        Outcome::Failed { .. } => None,
    };
    let found = [
        same("status", &record.status, &Some(u64::from(answer.status))),
        same("text", &record.text, &answer.text),
        same("pieces", &record.pieces, &answer.pieces),
        same("counts", &record.counts, &answer.counts),
        same("finish reason", &reason, &answer.finish_reason),
    ];
    found.into_iter().flatten().collect()
}

/// Compares a record with its plan.
pub(super) fn compare_record(promises: &[Promise], record: &Record) -> Vec<String> {
    let reason = match &record.outcome {
        Outcome::Finished(reason) => reason.as_deref(),
        Outcome::Failed { kind, message } => return vec![format!("failed: {kind}: {message}")],
    };
    let is_kept = |promise, holds: bool| holds || !promises.contains(&promise);
    let (planned, counts) = (record.planned.completion, record.counts);
    let tokens: Option<u64> = record.tokens.iter().copied().sum();
    // The cache is flushed after the warm-up, so warm-up requests may use it.
    let is_cold = record.is_warmup || counts.cached == Some(0);
    let is_at_limit = matches!(reason, Some("length" | "max_output_tokens"));
    let is_full = !is_at_limit || counts.completion == planned;
    let found = [
        unless(record.pieces > 0, "it has no output"),
        unless(record.stamps.in_order().is_sorted(), "its stamps are not in order"),
        unless(is_kept(Promise::Counts, counts.completion.is_some()), "it was not counted"),
        unless(is_kept(Promise::Counts, is_full), "it has not the length planned"),
        unless(
            is_kept(Promise::Counts, is_plausible(promises, record)),
            "its prompt is not as planned",
        ),
        unless(
            is_kept(Promise::CountedPieces, tokens == counts.completion),
            "its pieces do not sum up",
        ),
        unless(is_kept(Promise::EmptyCache, is_cold), "it was in a cache"),
        unless(is_kept(Promise::FullLength, is_at_limit), "it was ended too soon"),
    ];
    found.into_iter().flatten().collect()
}

/// Checks an answer of vectors or scores.
fn check_items(items: usize, record: &Record, answer: &WireAnswer) -> Vec<String> {
    if let Outcome::Failed { kind, message } = &record.outcome {
        return vec![format!("failed: {kind}: {message}")];
    }
    let found = [
        unless(answer.items == items, &format!("it has {} items, not {items}", answer.items)),
        unless(record.counts.prompt.is_some(), "it was not counted"),
        unless(record.stamps.in_order().is_sorted(), "its stamps are not in order"),
    ];
    found.into_iter().flatten().collect()
}

/// Whether the server's prompt token count is close to the plan's. Random tokens change when they
/// are decoded and encoded again, and a chat template adds tokens.
fn is_plausible(promises: &[Promise], record: &Record) -> bool {
    let (Some(planned), Some(counted)) = (record.planned.prompt, record.counts.prompt) else {
        return false;
    };
    if promises.contains(&Promise::ExactPrompt) {
        return planned == counted;
    }
    (planned / 2..=2 * planned + TEMPLATE).contains(&counted)
}

fn refused(refusal: &Refusal, record: &Record) -> Vec<String> {
    let Outcome::Failed { kind, message } = &record.outcome else {
        return vec!["it was not refused".to_owned()];
    };
    let found = [
        same("kind of failure", kind, &refusal.kind.to_owned()),
        same("status", &record.status, &Some(u64::from(refusal.status))),
        unless(
            message.contains(refusal.excerpt),
            &format!("{message:?} does not say {:?}", refusal.excerpt),
        ),
    ];
    found.into_iter().flatten().collect()
}

pub(super) fn same<T: Debug + PartialEq>(what: &str, log: &T, other: &T) -> Option<String> {
    (log != other).then(|| format!("{what}: the log has {log:?}, it should be {other:?}"))
}

pub(super) fn unless(holds: bool, fault: &str) -> Option<String> {
    (!holds).then(|| fault.to_owned())
}

/// Maximum number of tokens that a template may add to a prompt.
const TEMPLATE: u64 = 16;

#[cfg(test)]
mod tests {
    use super::super::answer::Counts;
    use super::super::record::tests::finished;
    use super::*;

    fn expected() -> Expected {
        use Promise::{CountedPieces, Counts, ExactPrompt, FullLength};
        Expected::Answers(vec![Counts, CountedPieces, ExactPrompt, FullLength])
    }

    fn answer() -> WireAnswer {
        WireAnswer {
            status: 200,
            text: "ab".to_owned(),
            pieces: 2,
            finish_reason: Some("length".to_owned()),
            counts: Counts { prompt: Some(4), completion: Some(3), cached: None },
            ..WireAnswer::default()
        }
    }

    #[track_caller]
    fn check(record: Record, answer: WireAnswer, fault: &str) {
        let faults = faults(&expected(), &[(record, answer)]);
        assert!(faults.iter().any(|found| found.contains(fault)), "{faults:?}");
    }

    #[test]
    fn what_agrees_has_no_fault() {
        let faults = faults(&expected(), &[(finished(), answer())]);
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn what_the_wire_had_and_the_log_has_not_is_a_fault() {
        check(finished(), WireAnswer { text: "abc".to_owned(), ..answer() }, "request 0: text: ");
        check(
            finished(),
            WireAnswer { pieces: 3, ..answer() },
            "pieces: the log has 2, it should be 3",
        );
        check(finished(), WireAnswer { counts: Counts::default(), ..answer() }, "counts: ");
    }

    #[test]
    fn what_was_planned_and_not_done_is_a_fault() {
        let planned = Counts { prompt: Some(5), completion: Some(4), cached: None };
        check(Record { planned, ..finished() }, answer(), "the length planned");
        check(Record { planned, ..finished() }, answer(), "its prompt is not");
        check(Record { tokens: vec![Some(1), None], ..finished() }, answer(), "do not sum up");
    }

    #[test]
    fn time_that_runs_backwards_is_a_fault() {
        let mut record = finished();
        record.stamps.headers = Some(5);
        check(record, answer(), "not in order");
    }

    #[test]
    fn a_refusal_has_its_kind_and_the_servers_words() {
        let refusal = &super::super::engine::ALL[2].servers[0].refusals[0];
        let outcome = |message: &str| Outcome::Failed {
            kind: "status".to_owned(),
            message: message.to_owned(),
        };
        let record =
            |message| Record { status: Some(404), outcome: outcome(message), ..Record::default() };
        let answer = WireAnswer { status: 404, ..WireAnswer::default() };
        let found = |message| {
            faults(&Expected::Refusals(refusal), &[(record(message), answer.clone())]).len()
        };
        assert_eq!((found("404: it does not exist"), found("404"),), (0, 1));
        assert_eq!(refused(refusal, &finished()), ["it was not refused"]);
    }

    #[test]
    fn a_request_that_is_missing_is_a_fault() {
        let case = super::super::case::cases(&super::super::engine::ALL[0].servers[0]).remove(0);
        assert!(miscounted(&case, &vec![finished(); 9], &vec![answer(); 9]).is_empty());
        assert_eq!(miscounted(&case, &vec![finished(); 9], &vec![answer(); 8]).len(), 1);
        assert_eq!(miscounted(&case, &[], &[]), ["requests: the log has 0, it should be 9"]);
    }

    #[test]
    fn equals_are_paired_in_the_order_of_their_time() {
        let late = Record { index: 1, ..finished() };
        let mut early = finished();
        early.stamps.sent = Some(1);
        let answers = vec![WireAnswer { pieces: 7, ..answer() }, answer()];
        let pairs = pairs(vec![late, early], answers);
        let order: Vec<_> =
            pairs.iter().map(|(record, answer)| (record.index, answer.pieces)).collect();
        assert_eq!(order, [(0, 7), (1, 2)]);
    }
}
