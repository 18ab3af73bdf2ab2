//! What is learned when the requests are done: off the clock, and never at the cost of a record.

use servemark_core::{
    ArrivalClock, Footer, Phase, RequestRecord, Retokenized, SpecialTokens, Tokenizer,
    TokenizerError, parallel,
};
use servemark_plan::BenchPlan;
use servemark_runner::Stop;

use crate::RunContext;
use crate::audience::News;
use crate::draw::Load;
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
    footer.ended = measured.ended;
    footer.interrupted = context.stop.signal().is(Stop::Drain) || measured.lost_shards > 0;
    footer.client = Some(measured.cost);
    footer.truth = load.by_turn(server.take_truth());
    let info = server.info(plan, context).await;
    footer.server_info = info.as_ref().map(|info| info.value().clone());
    let accept_length = info.and_then(|info| info.accept_length());
    footer.accept_length = accept_length.filter(|_| plan.backend.is_sglang());
    footer
}

/// By whose clock the arrivals of the measurement are known.
pub(crate) fn arrival_clock(records: &[RequestRecord]) -> Option<ArrivalClock> {
    let measured = records.iter().filter(|record| record.phase == Phase::Measure);
    let answered = measured.filter(|record| record.first_byte.is_some());
    answered.map(|record| record.arrival_clock).min()
}

/// Counts every output again with our tokenizer, on all cores. A tokenizer that fails costs the
/// run these counts and nothing else.
pub(crate) fn count(
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    records: &[RequestRecord],
) -> Vec<Retokenized> {
    let measured: Vec<&RequestRecord> =
        records.iter().filter(|record| record.phase == Phase::Measure).collect();
    let progress = context.audience.as_ref();
    let counts = parallel::map("counting output tokens", &measured, progress, |record| {
        recount(tokenizer, record)
    });
    let counts: Result<Vec<Retokenized>, TokenizerError> = counts.into_iter().collect();
    let mut counts = counts.unwrap_or_else(|error| {
        let reason = error.to_string();
        context.tell(&News::Missed { what: "count the output tokens again", reason });
        Vec::new()
    });
    counts.sort_by_key(Retokenized::key);
    counts
}

/// The pieces are counted one by one as well: where the wire gives no counts, that is how many
/// tokens each arrival stands for.
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
    Ok(Retokenized::new(record.key(), tokens, pieces))
}
