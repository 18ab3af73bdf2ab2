//! Counts the output tokens after the measurement. This is not timed, and a failure in it never
//! loses a record.

mod placing;

use std::error::Error;

use servemark_core::{
    Phase, RequestRecord, Retokenized, SpecialTokens, Tokenizer, TokenizerError, parallel,
};

use self::placing::placed;
use crate::RunContext;
use crate::observer::RunEvent;
use crate::run::run_log_sink::Closing;

/// Counts the tokens of every output with the run's tokenizer, on all cores. If the tokenizer or
/// the disk fails, the run loses only these counts.
pub(crate) fn count(
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    closing: &Closing,
) -> Vec<Retokenized> {
    let mut counts = try_count(context, tokenizer, closing).unwrap_or_else(|error| {
        let reason = error.to_string();
        context.emit(&RunEvent::Missed { what: "count the output tokens again", reason });
        Vec::new()
    });
    counts.sort_by_key(Retokenized::key);
    counts
}

/// Counts the records that are in memory at once, and those on disk in blocks.
fn try_count(
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    closing: &Closing,
) -> Result<Vec<Retokenized>, Box<dyn Error>> {
    let (records, left) = (&closing.records, &closing.texts_left);
    let in_memory: Vec<&RequestRecord> =
        records[..left.start].iter().chain(&records[left.end..]).collect();
    let mut counts = recount_all(context, tokenizer, &in_memory)?;
    let mut on_disk = closing.texts_left()?.peekable();
    while on_disk.peek().is_some() {
        let block = on_disk.by_ref().take(BLOCK).collect::<Result<Vec<_>, _>>()?;
        counts.extend(recount_all(context, tokenizer, &block.iter().collect::<Vec<_>>())?);
    }
    Ok(counts)
}

/// Number of records that are read from disk at a time.
const BLOCK: usize = 4096;

fn recount_all(
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    records: &[&RequestRecord],
) -> Result<Vec<Retokenized>, TokenizerError> {
    let is_measured = |record: &&&RequestRecord| record.phase == Phase::Measure;
    let measured: Vec<&RequestRecord> = records.iter().filter(is_measured).copied().collect();
    let progress = context.observer.as_ref();
    let recount = |record: &&RequestRecord| recount(tokenizer, record);
    let counts = parallel::map("counting output tokens", &measured, progress, recount);
    counts.into_iter().collect()
}

/// Counts the tokens of an answer and, if the wire gives no token counts, of each chunk.
///
/// SGLang counts each chunk by itself. A tokenizer that puts a marker before every text then
/// counts too many tokens, so if the chunk counts do not add up to the count of the whole text,
/// the tokens of the whole text are assigned to the chunks.
fn recount(
    tokenizer: &dyn Tokenizer,
    record: &RequestRecord,
) -> Result<Retokenized, TokenizerError> {
    let tokens = tokenizer.count(&record.text, SpecialTokens::Omit)?;
    let counted_by_wire = record.deltas.rows().all(|row| row.tokens.is_some());
    let pieces = if counted_by_wire {
        Vec::new()
    } else {
        let pieces = record.pieces().map(|(_, text)| tokenizer.count(text, SpecialTokens::Omit));
        pieces.collect::<Result<Vec<_>, _>>()?
    };
    let sum: u64 = pieces.iter().copied().map(u64::from).sum();
    let is_placed = !pieces.is_empty() && sum != u64::from(tokens);
    let joined = record.is_restated.then(|| {
        let joined = record.joined_text();
        tokenizer.count(&joined, SpecialTokens::Omit)
    });
    let counted = Retokenized::new(record.key(), tokens, pieces).with_joined(joined.transpose()?);
    Ok(match is_placed.then(|| placed(tokenizer, record)).flatten() {
        Some(placed) => counted.with_placed(placed),
        None => counted,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use servemark_core::{
        Delta, Finish, Header, IfTaken, NoProgress, Recorder, RunFacts, Sample, Sink, Stamp,
    };
    use servemark_plan::OutputSpec;
    use servemark_testkit::ByteTokenizer;

    use super::*;
    use crate::run::run_log_sink::{MemoryLimits, RecordSteps, RunLogSink};

    fn record(index: usize) -> RequestRecord {
        let mut recorder =
            Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), Stamp::ZERO);
        recorder.at(Stamp::ZERO).delta(Delta::content("one"));
        recorder.at(Stamp::ZERO).delta(Delta::content(&"x".repeat(index)));
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    #[test]
    fn a_restated_answer_is_counted_as_a_text_and_as_it_is_joined() {
        let mut restated = record(2);
        restated.is_restated = true;
        let counted = recount(&ByteTokenizer, &restated).unwrap();
        assert_eq!((counted.tokens, counted.joined), (5, Some(8)));
        assert_eq!(recount(&ByteTokenizer, &record(2)).unwrap().joined, None);
    }

    #[test]
    fn texts_are_counted_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let output = OutputSpec {
            run_log: Some(folder.path().join("run.jsonl")),
            run_log_if_taken: IfTaken::Number,
            ..OutputSpec::default()
        };
        let counts = [0, 8, usize::MAX].map(|room| {
            let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
            let (room, steps) = (MemoryLimits::with_texts(room), RecordSteps::default());
            let sink =
                RunLogSink::open(&output, header, &RunContext::default(), room, steps).unwrap();
            let observer = sink.observer();
            (0..4).for_each(|index| observer.finished(record(index)));
            drop(observer);
            count(&RunContext::new(Arc::new(NoProgress)), &ByteTokenizer, &sink.close())
        });
        let expected = |index: usize| {
            let more = index as u32;
            Retokenized::new((index, 0), 3 + more, vec![3, more])
        };
        let expected: Vec<_> = (0..4).map(expected).collect();
        assert_eq!(counts, [expected.clone(), expected.clone(), expected]);
    }
}
