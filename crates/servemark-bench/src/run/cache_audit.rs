//! Audits the server's prefix cache after the measurement: sends a sample of the measured prompts
//! behind prefixes that no cache holds, and then again, when a cache holds them.
//!
//! The times to the first token of both, beside that of the measured request, show whether the
//! measured prompts came out of a cache, also where the server reports nothing.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;

use servemark_core::{Phase, Prompt, RequestRecord, Session};
use servemark_pacer::SystemPacer;
use servemark_runner::{Backlog, LoadSpec, Observer, Runner, Stop};
use servemark_schedule::ArrivalSpec;

use super::cache_bust;
use super::run_log_sink::RunLogSink;
use super::server::WireTransport;
use super::system::Job;
use crate::ExecuteError;
use crate::observer::RunEvent;

/// Sends the audit's requests with `at_once` of them in flight, about as many as the measurement
/// had on average, so that their times can be compared. Returns the positions of the
/// sessions whose prompts were audited.
pub(super) async fn audit(
    job: &Job<'_>,
    transport: &Arc<WireTransport>,
    sink: &RunLogSink,
    at_once: NonZeroUsize,
) -> Result<Vec<usize>, ExecuteError> {
    let Some(prompts) = job.plan.control.cache_audit else { return Ok(Vec::new()) };
    let chosen = chosen(job, prompts.get() as usize);
    if chosen.is_empty() {
        let (what, reason) = (
            "audit the prefix cache",
            "no prompt is a text, messages or token ids, before which a prefix can be put"
                .to_owned(),
        );
        job.context.emit(&RunEvent::Missed { what, reason });
        return Ok(Vec::new());
    }
    job.context.emit(&RunEvent::AuditingCache { prompts: chosen.len() });
    let mut load = LoadSpec::new(ArrivalSpec::Burst);
    load.max_concurrency = Some(at_once);
    // Each block is repeated soon, so that a small cache still holds it and a delay of the machine
    // meets both of its phases.
    for block in chosen.chunks(FEWEST_IN_A_BLOCK.max(at_once.get())) {
        let sessions = salted(job, block)?;
        let observer = Arc::new(Renumbered { places: block.to_vec(), inner: sink.observer() });
        let pacer = SystemPacer::new(job.clock.clock).map_err(ExecuteError::Machine)?;
        let runner = Runner::new(pacer, &load, observer, job.context.stop.signal());
        for phase in [Phase::CacheCold, Phase::CacheWarm] {
            runner.aside(transport, phase, &sessions).await;
        }
        if job.context.stop.signal().is(Stop::Drain) {
            break;
        }
    }
    Ok(chosen)
}

/// Returns the positions of evenly spaced measured sessions whose first prompt takes a prefix, in
/// ascending order.
fn chosen(job: &Job<'_>, count: usize) -> Vec<usize> {
    let (load, live) = (job.load(), &job.context.live);
    let leading = load.leading(&job.plan.load);
    // Sessions start in the order of the plan, so the later ones of a run that ended early were
    // not measured.
    let ended = usize::try_from(live.finished()).unwrap_or(usize::MAX);
    let sent = if load.converses() { usize::MAX } else { leading.saturating_add(ended) };
    let sessions = load.sessions.iter().enumerate().take(sent).skip(leading);
    let fit: Vec<usize> =
        sessions.filter(|(_, session)| takes_prefix(session)).map(|(place, _)| place).collect();
    let count = count.min(fit.len());
    (0..count).map(|place| fit[place * fit.len() / count]).collect()
}

fn takes_prefix(session: &Session) -> bool {
    match &session.first.prompt {
        Prompt::Text(_) | Prompt::Lazy(_) | Prompt::TokenIds(_) => true,
        Prompt::Messages(messages) => !messages.is_empty(),
        _ => false,
    }
}

/// Returns the first turns of sessions, each with a unique prefix.
fn salted(job: &Job<'_>, places: &[usize]) -> Result<Arc<[Session]>, ExecuteError> {
    let tokenizer = (!job.plan.model.untokenized).then_some(job.prepared.tokenizer.as_ref());
    let mut sessions = Vec::with_capacity(places.len());
    for &place in places {
        let mut session = [Session::from(job.load().sessions[place].first.clone())];
        let mut hasher = DefaultHasher::new();
        (job.clock.started_unix_ns, place).hash(&mut hasher);
        let salt = format!("{:08x}", hasher.finish() as u32);
        cache_bust::prefix_prompts(&mut session, &salt, tokenizer)?;
        sessions.extend(session);
    }
    Ok(sessions.into())
}

/// Passes records on under the positions that their sessions have in the plan.
struct Renumbered {
    places: Vec<usize>,
    inner: Arc<dyn Observer>,
}

impl Observer for Renumbered {
    fn started(&self, phase: Phase) {
        self.inner.started(phase);
    }

    fn finished(&self, mut record: RequestRecord) {
        record.index = self.places[record.index];
        self.inner.finished(record);
    }

    fn backlog(&self) -> Option<&Backlog> {
        self.inner.backlog()
    }
}

/// Number of prompts that are sent before the first of them is repeated, unless more are in flight.
const FEWEST_IN_A_BLOCK: usize = 2;
