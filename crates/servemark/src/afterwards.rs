//! What is learned when the requests are done: off the clock, and never at the cost of a record.

mod placing;

use std::error::Error;

use servemark_core::{
    Footer, Phase, RequestRecord, Retokenized, SpecialTokens, Tokenizer, TokenizerError, parallel,
};
use servemark_plan::BenchPlan;
use servemark_runner::Stop;

use self::placing::placed;
use crate::RunContext;
use crate::audience::News;
use crate::draw::Load;
use crate::journal::Closing;
use crate::server::Server;
use crate::stage::Measured;

/// Asks the server about itself, and the simulator for the truth.
pub(crate) async fn ask(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
    load: &Load,
    measured: Measured,
) -> Footer {
    let mut footer = Footer::default();
    footer.began = Some(measured.began);
    footer.ended = measured.ended;
    footer.server_counters = measured.counters;
    footer.interrupted = context.stop.signal().is(Stop::Drain) || measured.lost_shards > 0;
    footer.reuse_ended = measured.reuse_ended;
    footer.client = Some(measured.cost);
    footer.truth = load.by_turn(server.take_truth());
    let info = server.info(plan, context).await;
    footer.server_info = info.as_ref().map(|info| info.value().clone());
    let accept_length = info.and_then(|info| info.accept_length());
    footer.accept_length = accept_length.filter(|_| plan.backend.is_sglang());
    footer
}

/// Counts every output again with our tokenizer, on all cores. A tokenizer or a disk that fails
/// costs the run these counts and nothing else.
pub(crate) fn count(
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    closing: &Closing,
) -> Vec<Retokenized> {
    let mut counts = try_count(context, tokenizer, closing).unwrap_or_else(|error| {
        let reason = error.to_string();
        context.tell(&News::Missed { what: "count the output tokens again", reason });
        Vec::new()
    });
    counts.sort_by_key(Retokenized::key);
    counts
}

/// Those in memory at once; those on the disk block by block.
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

/// How many records are read again at a time.
const BLOCK: usize = 4096;

fn recount_all(
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    records: &[&RequestRecord],
) -> Result<Vec<Retokenized>, TokenizerError> {
    let is_measured = |record: &&&RequestRecord| record.phase == Phase::Measure;
    let measured: Vec<&RequestRecord> = records.iter().filter(is_measured).copied().collect();
    let progress = context.audience.as_ref();
    let recount = |record: &&RequestRecord| recount(tokenizer, record);
    let counts = parallel::map("counting output tokens", &measured, progress, recount);
    counts.into_iter().collect()
}

/// Counts the tokens of an answer and, where the wire gives no counts, of each of its pieces.
///
/// SGLang counts each piece alone. A tokenizer that puts a mark before every text counts too many
/// tokens then, so where the pieces do not add up to the whole text its tokens are placed in them.
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
    let counted = Retokenized::new(record.key(), tokens, pieces);
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
    use crate::journal::{Journal, Room};

    fn record(index: usize) -> RequestRecord {
        let mut recorder =
            Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), Stamp::ZERO);
        recorder.at(Stamp::ZERO).delta(Delta::content("one"));
        recorder.at(Stamp::ZERO).delta(Delta::content(&"x".repeat(index)));
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    #[test]
    fn texts_are_counted_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = OutputSpec::default();
        output.run_log = Some(folder.path().join("run.jsonl"));
        output.run_log_if_taken = IfTaken::Number;
        let counts = [0, 8, usize::MAX].map(|room| {
            let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
            let room = Room::with_texts(room);
            let journal = Journal::open(&output, header, Arc::default(), room, None).unwrap();
            let observer = journal.observer();
            (0..4).for_each(|index| observer.finished(record(index)));
            drop(observer);
            count(&RunContext::new(Arc::new(NoProgress)), &ByteTokenizer, &journal.close())
        });
        let expected = |index: usize| {
            let more = index as u32;
            Retokenized::new((index, 0), 3 + more, vec![3, more])
        };
        let expected: Vec<_> = (0..4).map(expected).collect();
        assert_eq!(counts, [expected.clone(), expected.clone(), expected]);
    }
}
