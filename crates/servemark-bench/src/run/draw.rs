//! Draws the requests and their schedule from one random state.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::{
    DataPart, DrawContext, NoProgress, Prompt, RequestKey, Sample, Session, SimulatedTimes,
    Tokenizer,
};
use servemark_plan::{BenchPlan, EarlierSpec, PlanError};
use servemark_rng::RandomState;
use servemark_runner::LoadSpec;
use servemark_schedule::{AdapterSpec, Schedule, ScheduleError};

use super::cache_bust;
use crate::observer::RunEvent;
use crate::{ExecuteError, RunContext};

/// Drawn sessions and their schedule.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) sessions: Arc<[Session]>,
    pub(crate) schedule: Schedule,
    /// Data sets of the sessions, if there are several.
    pub(crate) parts: Vec<DataPart>,
    /// Sessions that are sent and finished before the others, with their schedule.
    pub(crate) lead_in: Option<Scheduled>,
    /// Warm-up request of the data set, used instead of the first request.
    pub(crate) warm_up: Option<Sample>,
    /// Connection test request of the data set.
    pub(crate) greeting: Option<Sample>,
    /// Sessions of the warm-up, if their requests were encoded before the run.
    pub(crate) encoded_warm_up: Option<Arc<[Session]>>,
}

/// Result of drawing from a data set.
struct DrawOutcome {
    sessions: Vec<Session>,
    parts: Vec<DataPart>,
    warm_up: Option<Sample>,
    greeting: Option<Sample>,
}

/// Sessions and the schedule of their starts.
pub(crate) type Scheduled = (Arc<[Session]>, Schedule);

impl Load {
    /// Number of requests in the sessions.
    pub(crate) fn requests(&self) -> usize {
        self.sessions.iter().map(Session::records).sum()
    }

    /// Number of requests that are measured.
    pub(crate) fn measured(&self, load: &LoadSpec) -> usize {
        self.sessions.iter().skip(self.leading(load)).map(Session::records).sum()
    }

    /// Number of sessions at the beginning that are not measured.
    pub(crate) fn leading(&self, load: &LoadSpec) -> usize {
        let leading = if load.lead_in.ends_first { 0 } else { load.lead_in.sessions };
        leading.min(self.sessions.len())
    }

    /// Whether a session has more than one turn.
    pub(crate) fn converses(&self) -> bool {
        converse(&self.sessions)
    }

    /// Returns the warm-up request: the first prompt without the session header. SGLang also
    /// omits the other extra keys and asks for the first adapter; vLLM does neither.
    pub(crate) fn warm_up(&self, plan: &BenchPlan) -> Sample {
        let mut sample = self.warm_up.as_ref().unwrap_or(&self.sessions[0].first).clone();
        sample.headers.clear();
        if plan.load.warmup.alike {
            sample.adapter = None;
            return sample;
        }
        sample.extra_body.clear();
        sample.adapter = plan.load.adapters.as_ref().map(|adapters| adapters.first().to_owned());
        sample
    }

    /// Returns the sessions of a warm-up without session headers, or `None` if the warm-up sends
    /// copies of one request.
    pub(crate) fn warm_up_sessions(&self, plan: &BenchPlan) -> Option<Arc<[Session]>> {
        if let Some(encoded) = &self.encoded_warm_up {
            return Some(Arc::clone(encoded));
        }
        let warmup = plan.load.warmup;
        let Some(stride) = warmup.stride else { return self.warm_up_conversations(plan) };
        let stride = stride.get() as usize;
        let places = (0..self.sessions.len()).step_by(stride).cycle().take(warmup.requests);
        let nameless = |place: usize| {
            let mut session = self.sessions[place].clone();
            session.samples_mut().for_each(|sample| sample.headers.clear());
            session
        };
        Some(places.map(nameless).collect())
    }

    /// Returns copies of the first conversation if it is the warm-up: SGLang plays it to its end
    /// without the pauses between turns.
    fn warm_up_conversations(&self, plan: &BenchPlan) -> Option<Arc<[Session]>> {
        let warmup = plan.load.warmup;
        let first = self.sessions.first().filter(|session| session.turns() > 1)?;
        if warmup.alike {
            return None;
        }
        let adapter = plan.load.adapters.as_ref().map(|adapters| adapters.first().to_owned());
        let mut session = first.clone();
        session.pause = Duration::ZERO;
        session.follow_ups.iter_mut().for_each(|turn| turn.pause = Duration::ZERO);
        for sample in session.samples_mut() {
            sample.headers.clear();
            sample.extra_body.clear();
            sample.adapter.clone_from(&adapter);
            sample.output_tokens = sample.output_tokens.min(warmup.most_output_tokens);
        }
        Some(vec![session; warmup.requests].into())
    }

    /// Returns a minimal request for probes, with the extra keys of the first request.
    pub(crate) fn probe(&self) -> Sample {
        let keys = self.sessions[0].first.extra_body.clone();
        Sample::new("Hi", 1, 1).with_extra_body(keys)
    }

    /// Converts the simulator's ground truth from request numbers to session and turn.
    pub(crate) fn by_turn(&self, truth: Vec<SimulatedTimes>) -> Vec<SimulatedTimes> {
        let keys: Vec<RequestKey> = keys(&self.sessions).collect();
        let known = |row: SimulatedTimes| {
            let key = *keys.get(row.index)?;
            Some(SimulatedTimes::new(key, row.sent_ns).with_parts(row.parts))
        };
        truth.into_iter().filter_map(known).collect()
    }
}

/// Draws the sessions and then, from the resulting random state, the arrivals. This is the order
/// in which SGLang uses its one global state, so the same seed gives SGLang's sessions and
/// arrivals. If `is_simulated`, each request carries a number, so that the simulator's ground
/// truth can be matched to it.
pub(crate) fn load(
    plan: &BenchPlan,
    context: &RunContext,
    is_simulated: bool,
    tokenizer: &dyn Tokenizer,
    run: u64,
) -> Result<Load, ExecuteError> {
    let mut random = RandomState::seeded(plan.workload.seed.into());
    for earlier in &plan.workload.after {
        advance(earlier, tokenizer, &mut random)?;
    }
    load_from(plan, context, is_simulated, tokenizer, run, &mut random)
}

/// Draws a load from an existing random state; see [`load`].
pub(crate) fn load_from(
    plan: &BenchPlan,
    context: &RunContext,
    is_simulated: bool,
    tokenizer: &dyn Tokenizer,
    run: u64,
    random: &mut RandomState,
) -> Result<Load, ExecuteError> {
    let DrawOutcome { mut sessions, parts, warm_up, greeting } =
        sessions(plan, context, tokenizer, random)?;
    if converse(&sessions) && !plan.wire.takes_messages() {
        let (dataset, backend) = (plan.workload.dataset.name(), plan.backend);
        return Err(PlanError::NeedsChat { dataset, backend }.into());
    }
    if let Some(salt) = &plan.workload.prompt_salt {
        let tokenizer = (!plan.model.untokenized).then_some(tokenizer);
        cache_bust::prefix_prompts(&mut sessions, salt, tokenizer)?;
    }
    if let Some(header) = &plan.load.sessions.header {
        name_sessions(&mut sessions, header, run);
    }
    let lead_in = lead_in(&plan.load, &mut sessions, random)?;
    let schedule = arrivals(&plan.load, &mut sessions, random)?;
    pace(&plan.load, &mut sessions, random);
    if is_simulated {
        number_turns(&mut sessions);
    }
    Ok(Load {
        sessions: sessions.into(),
        schedule,
        parts,
        lead_in,
        warm_up,
        greeting,
        encoded_warm_up: None,
    })
}

/// Returns the load of sessions that were drawn before; only their starts and adapters are drawn.
pub(crate) fn load_of(
    plan: &BenchPlan,
    mut sessions: Vec<Session>,
    is_simulated: bool,
    random: &mut RandomState,
) -> Result<Load, ExecuteError> {
    let schedule = arrivals(&plan.load, &mut sessions, random)?;
    if is_simulated {
        number_turns(&mut sessions);
    }
    let parts = Vec::new();
    Ok(Load {
        sessions: sessions.into(),
        schedule,
        parts,
        lead_in: None,
        warm_up: None,
        greeting: None,
        encoded_warm_up: None,
    })
}

/// Advances the random state past an earlier run.
fn advance(
    earlier: &EarlierSpec,
    tokenizer: &dyn Tokenizer,
    random: &mut RandomState,
) -> Result<(), ExecuteError> {
    let mut drawing = DrawContext::new(tokenizer, random, &NoProgress);
    let mut sessions = earlier.dataset.advance(earlier.requests, &mut drawing)?;
    lead_in(&earlier.load, &mut sessions, random)?;
    arrivals(&earlier.load, &mut sessions, random)?;
    pace(&earlier.load, &mut sessions, random);
    Ok(())
}

/// Draws the pauses before the turns, session by session.
fn pace(load: &LoadSpec, sessions: &mut [Session], random: &mut RandomState) {
    let Some(rate) = load.sessions.turn_rate else { return };
    let mut gap = || Duration::from_secs_f64(random.numpy.exponential(1.0 / rate.per_second()));
    for session in sessions {
        session.pause += gap();
        session.follow_ups.iter_mut().for_each(|turn| turn.pause += gap());
    }
}

/// Removes the first sessions from `sessions` and gives them a schedule of their own, if they are
/// to end before the others begin.
fn lead_in(
    load: &LoadSpec,
    sessions: &mut Vec<Session>,
    random: &mut RandomState,
) -> Result<Option<Scheduled>, ScheduleError> {
    let count = load.lead_in.sessions.min(sessions.len().saturating_sub(1));
    if !load.lead_in.ends_first || count == 0 {
        return Ok(None);
    }
    let mut first: Vec<Session> = sessions.drain(..count).collect();
    let schedule = arrivals(load, &mut first, random)?;
    Ok(Some((first.into(), schedule)))
}

fn sessions(
    plan: &BenchPlan,
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    random: &mut RandomState,
) -> Result<DrawOutcome, ExecuteError> {
    let observer = context.observer.as_ref();
    let mut drawing = DrawContext::new(tokenizer, random, observer);
    let texts = plan.workload.requests * plan.workload.grouping.texts();
    let draw = context.parts.draw(&plan.workload.dataset, texts, &mut drawing)?;
    let skipped = draw.skipped.as_ref();
    observer.on_event(&RunEvent::Drawn { summary: &draw.summary, skipped, notices: &draw.notices });
    let drawn = draw.sessions.len();
    if drawn < texts && plan.workload.dataset.counts_requests() {
        let dataset = plan.workload.dataset.label();
        observer.on_event(&RunEvent::Fewer { dataset, asked: texts, drawn });
    }
    let sessions = plan.workload.grouping.group(draw.sessions)?;
    Ok(DrawOutcome { sessions, parts: draw.parts, warm_up: draw.warm_up, greeting: draw.greeting })
}

fn converse(sessions: &[Session]) -> bool {
    sessions.iter().any(|session| session.turns() > 1)
}

/// Draws the start of each session and the adapter of each request.
fn arrivals(
    load: &LoadSpec,
    sessions: &mut [Session],
    random: &mut RandomState,
) -> Result<Schedule, ScheduleError> {
    let begins: Vec<Option<Duration>> = sessions.iter().map(|session| session.begins).collect();
    let mut chooser = load.adapters.as_ref().map(AdapterSpec::chooser);
    let mut chosen: Vec<Vec<&str>> = Vec::new();
    let mut counts = sessions.iter().map(|session| session.first.prompt.records());
    let schedule = load.arrivals.schedule_with(&begins, random, |random| {
        let Some((chooser, count)) = chooser.as_mut().zip(counts.next()) else { return };
        chosen.push((0..count).map(|_| chooser.choose(random)).collect());
    })?;
    for (session, adapters) in sessions.iter_mut().zip(chosen) {
        session.samples_mut().for_each(|sample| ask_for(sample, &adapters));
    }
    Ok(schedule)
}

/// Sets the adapter of a request; each prompt of a batch has its own adapter.
fn ask_for(sample: &mut Sample, adapters: &[&str]) {
    match (&sample.prompt, adapters) {
        (Prompt::Batch(_), adapters) => {
            sample.extra_body.insert("lora_path".to_owned(), adapters.into());
        }
        (_, [adapter, ..]) => sample.adapter = Some((*adapter).to_owned()),
        (_, []) => {}
    }
}

/// Adds a header with the session's name, which no other run uses, to every turn.
fn name_sessions(sessions: &mut [Session], header: &str, run: u64) {
    for (index, session) in sessions.iter_mut().enumerate() {
        for sample in session.samples_mut() {
            sample.headers.push((header.to_owned(), format!("{run:x}-{index}")));
        }
    }
}

/// Adds a header with the request's number, so that the simulator's ground truth can be matched.
fn number_turns(sessions: &mut [Session]) {
    let mut number = 0;
    for sample in sessions.iter_mut().flat_map(Session::samples_mut) {
        sample.headers.push(("x-servemark-request".to_owned(), number.to_string()));
        number += sample.prompt.records();
    }
}

/// Returns the keys of all requests in order of their numbers.
fn keys(sessions: &[Session]) -> impl Iterator<Item = RequestKey> {
    let keys = |(index, session): (usize, &Session)| -> Vec<RequestKey> {
        // A batch has one record for each prompt and no second turn.
        match session.first.prompt.records() {
            1 => (0..).take(session.turns()).map(|turn| (index, turn)).collect(),
            count => (0..count).map(|place| (index * count + place, 0)).collect(),
        }
    };
    sessions.iter().enumerate().flat_map(keys)
}
