//! What is sent, and when: both drawn from one random state.

use std::time::Duration;

use servemark_core::{DrawContext, Sample, Session, Tokenizer};
use servemark_plan::BenchPlan;
use servemark_rng::RandomState;
use servemark_schedule::Schedule;

use crate::audience::News;
use crate::server::Server;
use crate::{ExecuteError, RunContext};

/// What is sent, and when.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) samples: Vec<Sample>,
    pub(crate) schedule: Schedule,
}

/// Draws the samples and then, from where that leaves the random state, the arrivals. This is the
/// order of SGLang's one global state, so both are its own for the same seed.
pub(crate) fn load(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
    tokenizer: &dyn Tokenizer,
) -> Result<Load, ExecuteError> {
    let mut random = RandomState::seeded(plan.workload.seed.into());
    let sessions = sessions(plan, context, tokenizer, &mut random)?;
    let begins: Vec<Option<Duration>> = sessions.iter().map(|session| session.begins).collect();
    let schedule = plan.load.arrivals.schedule(&begins, &mut random)?;
    let samples = sessions.into_iter().map(|session| session.first).collect();
    let samples = if server.is_simulated() { numbered(samples) } else { samples };
    Ok(Load { samples, schedule })
}

fn sessions(
    plan: &BenchPlan,
    context: &RunContext,
    tokenizer: &dyn Tokenizer,
    random: &mut RandomState,
) -> Result<Vec<Session>, ExecuteError> {
    let audience = context.audience.as_ref();
    let mut drawing = DrawContext::new(tokenizer, random, audience);
    let draw = plan.workload.dataset.draw(plan.workload.requests, &mut drawing)?;
    audience.tell(&News::Drawn { summary: &draw.summary, skipped: draw.skipped.as_ref() });
    Ok(draw.sessions)
}

/// Tells the simulator which request is which, so that its truth can be matched.
fn numbered(samples: Vec<Sample>) -> Vec<Sample> {
    let number = |(index, mut sample): (usize, Sample)| {
        sample.headers.push(("x-servemark-request".to_owned(), index.to_string()));
        sample
    };
    samples.into_iter().enumerate().map(number).collect()
}
