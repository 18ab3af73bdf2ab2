//! Token counts that servers reported, compared with planned ones and with the pieces received.

use serde::Serialize;
use servemark_core::{OddCount, RequestRecord, RunLog};

/// Token counts that the server reported in the successful answers of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerCounts {
    /// Number of answers in which the server counted the prompt.
    pub prompt_answers: usize,
    /// Prompt tokens of those answers by the server's count.
    pub prompt_tokens: u64,
    /// Planned prompt tokens of those answers.
    pub planned_prompt_tokens: u64,
    /// Number of answers with counted output tokens and no text. Such an answer has tokens and no
    /// piece.
    pub without_text: usize,
    /// Number of answers with a token count that is no JSON integer.
    pub odd_answers: usize,
    /// Number of answers in which such a count was ignored, because it is no whole number.
    pub left_out_answers: usize,
    /// First count that is no JSON integer; an ignored one is preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odd_example: Option<OddCount>,
}

impl ServerCounts {
    /// Collects the counts of a run's measurement.
    pub fn of(log: &RunLog) -> Self {
        let generates = log.header().facts.generates();
        let mut counts = Self::default();
        for record in log.measured() {
            counts.add_odd(record);
            if record.is_success() {
                counts.add_prompt(record);
                counts.without_text += usize::from(generates && is_without_text(record));
            }
        }
        counts
    }

    /// Returns a warning about counts that are no JSON integers; absent if there are none.
    ///
    /// ```
    /// assert_eq!(servemark_metrics::ServerCounts::default().warning(), None);
    /// ```
    pub fn warning(&self) -> Option<String> {
        let example = self.odd_example.as_ref()?;
        let (odd, left_out) = (self.odd_answers, self.left_out_answers);
        let end = match left_out {
            0 => "whole numbers, which were read as such".to_owned(),
            _ => format!("in {left_out} of them left out, and our own count stands in"),
        };
        Some(format!(
            "the server's token counts are no JSON integers in {odd} answers, such as {example}: \
             {end}"
        ))
    }

    fn add_prompt(&mut self, record: &RequestRecord) {
        let Some(tokens) = record.usage.and_then(|usage| usage.prompt_tokens) else { return };
        self.prompt_answers += 1;
        self.prompt_tokens += u64::from(tokens);
        self.planned_prompt_tokens += u64::from(record.planned.prompt_tokens);
    }

    fn add_odd(&mut self, record: &RequestRecord) {
        let Some(odd) = record.odd_count.as_deref() else { return };
        self.odd_answers += 1;
        self.left_out_answers += usize::from(!odd.is_read);
        if self.odd_example.as_ref().is_none_or(|known| known.is_read && !odd.is_read) {
            self.odd_example = Some(odd.clone());
        }
    }
}

fn is_without_text(record: &RequestRecord) -> bool {
    let counted = record.usage.and_then(|usage| usage.completion_tokens);
    record.deltas.is_empty() && counted.is_some_and(|tokens| tokens > 0)
}

#[cfg(test)]
mod tests {
    use servemark_core::{
        Delta, Finish, Header, Phase, Recorder, RunFacts, Sample, Sink, Stamp, Usage,
    };

    use super::*;

    fn record(text: &str, usage: Usage, odd: Option<OddCount>) -> RequestRecord {
        let sample = Sample::new("a", 5, 8);
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        let mut sink = recorder.at(Stamp::ZERO);
        sink.usage(usage);
        if !text.is_empty() {
            sink.delta(Delta::content(text));
        }
        if let Some(odd) = odd {
            sink.odd_count(odd);
        }
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    fn counts(records: Vec<RequestRecord>) -> ServerCounts {
        let mut facts = RunFacts::default();
        facts.api_path = "/v1/completions".to_owned();
        ServerCounts::of(&RunLog::new(
            Header::new(0, facts, serde_json::Value::Null),
            records,
            None,
        ))
    }

    #[test]
    fn prompts_by_the_server_stand_beside_the_planned_ones_of_the_same_answers() {
        let counts = counts(vec![
            record("a", Usage::new(Some(7), Some(1)), None),
            record("a", Usage::new(None, Some(1)), None),
            record("a", Usage::new(Some(9), None), None),
        ]);
        assert_eq!((counts.prompt_answers, counts.prompt_tokens), (2, 16));
        assert_eq!(counts.planned_prompt_tokens, 10);
    }

    #[test]
    fn an_answer_with_counted_tokens_and_no_text_is_told_apart() {
        let counts = counts(vec![
            record("", Usage::new(Some(7), Some(32)), None),
            record("a", Usage::new(Some(7), Some(32)), None),
            record("", Usage::new(Some(7), Some(0)), None),
        ]);
        assert_eq!(counts.without_text, 1);
    }

    #[test]
    fn odd_counts_are_one_warning_with_an_example() {
        let odd = |value, is_read| Some(OddCount::new("completion_tokens", value, is_read));
        let usage = Usage::new(Some(1), None);
        let read = || record("a", usage, odd("8.0", true));
        assert_eq!(
            counts(vec![read(), read(), record("a", usage, None)]).warning().unwrap(),
            "the server's token counts are no JSON integers in 2 answers, such as \
             completion_tokens: 8.0: whole numbers, which were read as such"
        );
        assert_eq!(
            counts(vec![read(), record("a", usage, odd("-3", false))]).warning().unwrap(),
            "the server's token counts are no JSON integers in 2 answers, such as \
             completion_tokens: -3: in 1 of them left out, and our own count stands in"
        );
    }
}
