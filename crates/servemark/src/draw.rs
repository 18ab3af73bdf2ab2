//! What is sent, and when: both drawn from one random state.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::{
    DataPart, DrawContext, NoProgress, Prompt, RequestKey, Sample, Session, Tokenizer, Truth,
};
use servemark_plan::{BenchPlan, EarlierSpec, PlanError};
use servemark_rng::RandomState;
use servemark_runner::LoadSpec;
use servemark_schedule::{AdapterSpec, Schedule, ScheduleError};

use crate::audience::News;
use crate::{ExecuteError, RunContext, salt};

/// What is sent, and when.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) sessions: Arc<[Session]>,
    pub(crate) schedule: Schedule,
    /// The data sets that they are of, where those are several.
    pub(crate) parts: Vec<DataPart>,
    /// What is sent before them and ends first, and when.
    pub(crate) lead_in: Option<Scheduled>,
    /// What warms up in place of the first request, where the data set has a prompt for that.
    pub(crate) warm_up: Option<Sample>,
}

/// What a data set gave.
struct Drawn {
    sessions: Vec<Session>,
    parts: Vec<DataPart>,
    warm_up: Option<Sample>,
}

/// Sessions, and when each begins.
pub(crate) type Scheduled = (Arc<[Session]>, Schedule);

impl Load {
    /// How many requests the sessions make.
    pub(crate) fn requests(&self) -> usize {
        self.sessions.iter().map(Session::records).sum()
    }

    /// How many of them are measured.
    pub(crate) fn measured(&self, load: &LoadSpec) -> usize {
        self.sessions.iter().skip(self.leading(load)).map(Session::records).sum()
    }

    /// How many of the sessions lead to the measurement.
    pub(crate) fn leading(&self, load: &LoadSpec) -> usize {
        let leading = if load.lead_in.ends_first { 0 } else { load.lead_in.sessions };
        leading.min(self.sessions.len())
    }

    /// Whether a session has more than one turn.
    pub(crate) fn converses(&self) -> bool {
        converse(&self.sessions)
    }

    /// What the warm-up sends: the first prompt without the first request's name. SGLang leaves its
    /// other keys out, too, and asks for the first adapter; vLLM does neither.
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

    /// The sessions that a warm-up sends, without the names of those that are measured; none where
    /// it sends copies of one request.
    pub(crate) fn warm_up_sessions(&self, plan: &BenchPlan) -> Option<Arc<[Session]>> {
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

    /// Copies of the first conversation, where that is what warms up: SGLang's warm-up plays it to its
    /// end, without the pauses between its turns.
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

    /// What a probe asks: next to nothing, with the keys of the first request.
    pub(crate) fn probe(&self) -> Sample {
        let keys = self.sessions[0].first.extra_body.clone();
        Sample::new("Hi", 1, 1).with_extra_body(keys)
    }

    /// The simulator's truth, which goes by the numbers that it was told, by session and turn.
    pub(crate) fn by_turn(&self, truth: Vec<Truth>) -> Vec<Truth> {
        let keys: Vec<RequestKey> = keys(&self.sessions).collect();
        let known = |row: Truth| Some(Truth::new(*keys.get(row.index)?, row.sent_ns));
        truth.into_iter().filter_map(known).collect()
    }
}

/// Draws the sessions and then, from where that leaves the random state, the arrivals. This is the
/// order of SGLang's one global state, so both are its own for the same seed. For the simulator
/// (`is_simulated`) each request is numbered, so that its truth can be matched.
pub(crate) fn load(
    plan: &BenchPlan,
    context: &RunContext,
    is_simulated: bool,
    tokenizer: &dyn Tokenizer,
    run: u64,
) -> Result<Load, ExecuteError> {
    let mut random = RandomState::seeded(plan.workload.seed.into());
    for earlier in &plan.workload.after {
        pass_over(earlier, tokenizer, &mut random)?;
    }
    load_from(plan, context, is_simulated, tokenizer, run, &mut random)
}

/// The same from a random state that others have drawn from.
pub(crate) fn load_from(
    plan: &BenchPlan,
    context: &RunContext,
    is_simulated: bool,
    tokenizer: &dyn Tokenizer,
    run: u64,
    random: &mut RandomState,
) -> Result<Load, ExecuteError> {
    let Drawn { mut sessions, parts, warm_up } = sessions(plan, context, tokenizer, random)?;
    if converse(&sessions) && !plan.wire.takes_messages() {
        let (dataset, backend) = (plan.workload.dataset.name(), plan.backend);
        return Err(PlanError::NeedsChat { dataset, backend }.into());
    }
    if let Some(salt) = &plan.workload.prompt_salt {
        salt::season(&mut sessions, salt, tokenizer)?;
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
    Ok(Load { sessions: sessions.into(), schedule, parts, lead_in, warm_up })
}

/// Leaves the random state where an earlier run left it.
fn pass_over(
    earlier: &EarlierSpec,
    tokenizer: &dyn Tokenizer,
    random: &mut RandomState,
) -> Result<(), ExecuteError> {
    let mut drawing = DrawContext::new(tokenizer, random, &NoProgress);
    let mut sessions = earlier.dataset.pass_over(earlier.requests, &mut drawing)?;
    lead_in(&earlier.load, &mut sessions, random)?;
    arrivals(&earlier.load, &mut sessions, random)?;
    pace(&earlier.load, &mut sessions, random);
    Ok(())
}

/// Draws how long each turn is waited for, session by session.
fn pace(load: &LoadSpec, sessions: &mut [Session], random: &mut RandomState) {
    let Some(rate) = load.sessions.turn_rate else { return };
    let mut gap = || Duration::from_secs_f64(random.numpy.exponential(1.0 / rate.per_second()));
    for session in sessions {
        session.pause += gap();
        session.follow_ups.iter_mut().for_each(|turn| turn.pause += gap());
    }
}

/// The first sessions with a schedule of their own, if they are to end before the others begin.
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
) -> Result<Drawn, ExecuteError> {
    let audience = context.audience.as_ref();
    let mut drawing = DrawContext::new(tokenizer, random, audience);
    let texts = plan.workload.requests * plan.workload.grouping.texts();
    let draw = plan.workload.dataset.draw(texts, &mut drawing)?;
    let skipped = draw.skipped.as_ref();
    audience.tell(&News::Drawn { summary: &draw.summary, skipped, notices: &draw.notices });
    let drawn = draw.sessions.len();
    if drawn < texts && plan.workload.dataset.counts_requests() {
        let dataset = plan.workload.dataset.name();
        audience.tell(&News::Fewer { dataset: dataset.as_str(), asked: texts, drawn });
    }
    let sessions = plan.workload.grouping.group(draw.sessions)?;
    Ok(Drawn { sessions, parts: draw.parts, warm_up: draw.warm_up })
}

fn converse(sessions: &[Session]) -> bool {
    sessions.iter().any(|session| session.turns() > 1)
}

/// Draws when each session begins, and which adapter it asks for.
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

/// Every prompt of a batch has an adapter of its own.
fn ask_for(sample: &mut Sample, adapters: &[&str]) {
    match (&sample.prompt, adapters) {
        (Prompt::Batch(_), adapters) => {
            sample.extra_body.insert("lora_path".to_owned(), adapters.into());
        }
        (_, [adapter, ..]) => sample.adapter = Some((*adapter).to_owned()),
        (_, []) => {}
    }
}

/// Lets every turn say which session it belongs to, by a name that no other run has used.
fn name_sessions(sessions: &mut [Session], header: &str, run: u64) {
    for (index, session) in sessions.iter_mut().enumerate() {
        for sample in session.samples_mut() {
            sample.headers.push((header.to_owned(), format!("{run:x}-{index}")));
        }
    }
}

/// Tells the simulator which request is which, so that its truth can be matched.
fn number_turns(sessions: &mut [Session]) {
    let mut number = 0;
    for sample in sessions.iter_mut().flat_map(Session::samples_mut) {
        sample.headers.push(("x-servemark-request".to_owned(), number.to_string()));
        number += sample.prompt.records();
    }
}

/// The keys of all requests, in the order of their numbers.
fn keys(sessions: &[Session]) -> impl Iterator<Item = RequestKey> {
    let keys = |(index, session): (usize, &Session)| -> Vec<RequestKey> {
        // The prompts of a batch are as many records, and it has no second turn.
        match session.first.prompt.records() {
            1 => (0..).take(session.turns()).map(|turn| (index, turn)).collect(),
            count => (0..count).map(|place| (index * count + place, 0)).collect(),
        }
    };
    sessions.iter().enumerate().flat_map(keys)
}
