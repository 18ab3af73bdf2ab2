//! Scores one batch of prompts that was sent as one request, by SGLang's definitions.

use servemark_core::{RequestRecord, RunLog, Stamp};

/// Figures of one batch. Times count from the moment at which it was sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchScore {
    /// Number of prompts.
    pub prompts: usize,
    /// Time to the last event, in seconds.
    pub latency_s: f64,
    /// Time until every prompt has a token, in seconds.
    pub last_ttft_s: f64,
    /// Number of tokens of all prompts.
    pub input_tokens: u64,
    /// Number of tokens of all answers. If the server sends no counts, it is the number that was
    /// asked for.
    pub output_tokens: u64,
    /// Number of output tokens that had arrived when every prompt had one.
    pub tokens_before_all_started: f64,
    /// Number of answers that ended before the length that was asked for.
    pub early_stopped: usize,
    /// The part in which every prompt had a token and none was done; absent if there is no such
    /// part.
    pub steady: Option<BatchWindow>,
}

/// The part of a batch in which all of its prompts are being decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchWindow {
    /// Duration in seconds.
    pub duration_s: f64,
    /// Number of output tokens in the part. Tokens between two events of a prompt are taken to have
    /// arrived evenly.
    pub output_tokens: f64,
}

impl BatchWindow {
    /// Returns the output tokens per second.
    pub fn output_throughput(&self) -> f64 {
        self.output_tokens / self.duration_s
    }
}

impl BatchScore {
    /// Scores a log of one batch; absent if any of its prompts was not answered.
    pub fn of(log: &RunLog) -> Option<Self> {
        let answers: Option<Vec<BatchAnswer>> = log.measured().map(BatchAnswer::of).collect();
        let answers = answers.filter(|answers| !answers.is_empty())?;
        let sent = log.measured().filter_map(|record| record.sent).min()?;
        let started = answers.iter().map(|answer| answer.first).max()?;
        let ended = answers.iter().map(|answer| answer.ended).max()?;
        let since_sent = |at: Stamp| at.since(sent).as_secs_f64();
        Some(Self {
            prompts: answers.len(),
            latency_s: since_sent(ended),
            last_ttft_s: since_sent(started),
            input_tokens: log.measured().map(|one| u64::from(one.planned.prompt_tokens)).sum(),
            output_tokens: answers.iter().map(|answer| answer.tokens).sum(),
            tokens_before_all_started: tokens_at(&answers, started),
            early_stopped: answers.iter().filter(|answer| answer.stopped).count(),
            steady: steady(&answers, started),
        })
    }

    /// Returns the number of output tokens that came after every prompt had one.
    pub fn tokens_after_all_started(&self) -> f64 {
        self.output_tokens as f64 - self.tokens_before_all_started
    }
}

fn steady(answers: &[BatchAnswer], started: Stamp) -> Option<BatchWindow> {
    let end = answers.iter().map(|answer| answer.ended).min()?;
    if end <= started || answers.iter().any(|answer| !answer.is_counted) {
        return None;
    }
    let output_tokens = tokens_at(answers, end) - tokens_at(answers, started);
    let duration_s = end.since(started).as_secs_f64();
    (output_tokens > 0.0).then_some(BatchWindow { duration_s, output_tokens })
}

fn tokens_at(answers: &[BatchAnswer], at: Stamp) -> f64 {
    answers.iter().map(|answer| answer.tokens_at(at)).sum()
}

/// The answer to one prompt.
struct BatchAnswer {
    /// Cumulative number of tokens after each event.
    counts: Vec<(Stamp, u64)>,
    /// Whether the server counts the tokens.
    is_counted: bool,
    first: Stamp,
    ended: Stamp,
    tokens: u64,
    stopped: bool,
}

impl BatchAnswer {
    fn of(record: &RequestRecord) -> Option<Self> {
        let reason = record.outcome.as_ref().ok()?.reason.as_deref();
        let is_counted = record.deltas.rows().all(|row| row.tokens.is_some());
        let rows = record.deltas.rows();
        let first = rows.clone().find(|row| row.tokens != Some(0))?.at;
        let mut total = 0;
        let count = |row: servemark_core::DeltaRow| {
            total += u64::from(row.tokens.unwrap_or_default());
            (row.at, total)
        };
        let mut counts: Vec<_> = rows.map(count).collect();
        counts.push((record.ended, total));
        let requested = u64::from(record.planned.output_tokens);
        let tokens = if is_counted { total } else { requested };
        let stopped = reason == Some("stop");
        Some(Self { counts, is_counted, first, ended: record.ended, tokens, stopped })
    }

    /// Returns the number of tokens at a moment, interpolated linearly between two events; zero
    /// before the first event.
    fn tokens_at(&self, at: Stamp) -> f64 {
        let behind = self.counts.partition_point(|(when, _)| *when <= at);
        let Some((before, known)) = behind.checked_sub(1).map(|last| self.counts[last]) else {
            return 0.0;
        };
        match self.counts.get(behind) {
            Some((after, more)) if at > before => {
                let share = at.since(before).as_secs_f64() / after.since(before).as_secs_f64();
                known as f64 + (more - known) as f64 * share
            }
            _ => known as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use servemark_core::{
        Delta, ErrorKind, Finish, Header, Phase, Prompt, Recorder, RequestError, RunFacts, Sample,
        Sink,
    };

    use super::*;

    fn at(ms: u64) -> Stamp {
        Stamp::ZERO + Duration::from_millis(ms)
    }

    /// Returns a log of a batch of two prompts with the given events: time in ms, prompt, tokens,
    /// and the reason for the end.
    fn log(events: &[(u64, usize, Option<u32>, Option<&str>)]) -> RunLog {
        let sample = Sample::new(Prompt::Batch(vec![vec![1, 2], vec![3]]), 3, 4);
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, at(0));
        recorder.record_sent(at(10));
        for (ms, place, tokens, reason) in events {
            recorder.body(at(*ms), 1);
            let mut sink = recorder.at(at(*ms));
            sink.prompt(*place);
            sink.delta(Delta::content("a").with_tokens(*tokens));
            if let Some(reason) = reason {
                sink.finish_reason(reason);
            }
        }
        let (first, others) = recorder.finish_each(Ok(Finish::default()), at(999));
        let records = [first].into_iter().chain(others).collect();
        RunLog::new(Header::new(0, RunFacts::default(), serde_json::Value::Null), records, None)
    }

    #[test]
    fn a_batch_is_measured_from_its_sending() {
        let length = Some("length");
        let score = BatchScore::of(&log(&[
            (20, 0, Some(1), None),
            (30, 1, Some(1), None),
            (40, 0, Some(2), None),
            (50, 1, Some(3), Some("stop")),
            (60, 0, Some(1), length),
        ]))
        .unwrap();
        assert_eq!((score.latency_s, score.last_ttft_s), (0.05, 0.02));
        assert_eq!((score.input_tokens, score.output_tokens, score.early_stopped), (3, 8, 1));
        // At 30 ms the first prompt has one token and half of its next two, the second has its
        // first.
        assert_eq!((score.tokens_before_all_started, score.steady.is_some()), (3.0, true));
        let steady = score.steady.unwrap();
        // At 50 ms the first prompt has three tokens and half of its last, the second has all four.
        assert_eq!((steady.duration_s, steady.output_tokens), (0.02, 7.5 - 3.0));
    }

    #[test]
    fn a_prompt_that_ends_before_another_begins_leaves_no_steady_part() {
        let length = Some("length");
        let score =
            BatchScore::of(&log(&[(20, 0, Some(4), length), (30, 1, Some(4), length)])).unwrap();
        assert_eq!(score.steady, None);
    }

    #[test]
    fn without_counts_as_many_tokens_came_as_were_asked_for() {
        let length = Some("length");
        let score = BatchScore::of(&log(&[
            (20, 0, None, None),
            (20, 1, None, None),
            (30, 0, None, length),
            (30, 1, None, length),
        ]))
        .unwrap();
        assert_eq!((score.output_tokens, score.steady), (8, None));
    }

    #[test]
    fn a_batch_of_which_a_prompt_has_failed_has_no_numbers() {
        assert_eq!(BatchScore::of(&log(&[(20, 0, Some(4), Some("length"))])), None);
        let none = RunLog::new(
            Header::new(0, RunFacts::default(), serde_json::Value::Null),
            vec![
                Recorder::new(0, Phase::Measure, &Sample::new("", 1, 1), at(0))
                    .finish(Err(RequestError::new(ErrorKind::Connect, "refused")), at(1)),
            ],
            None,
        );
        assert_eq!(BatchScore::of(&none), None);
    }
}
