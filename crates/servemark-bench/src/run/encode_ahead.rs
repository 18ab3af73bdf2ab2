//! Encodes all requests of a run before it, for dialects that work outside the measured path.

use std::sync::Arc;

use servemark_backends::{Backend, DeferredBackend, DeferredCodec};
use servemark_core::{ErrorKind, Progress, Prompt, RequestError, Sample, Session};
use servemark_plan::{BenchPlan, PlanError};
use servemark_runner::History;

use super::draw::Load;
use crate::{ExecuteError, RunContext};

/// Returns the load with each request encoded: those of the warm-up, of the lead-in and of the
/// measurement.
pub(super) fn encode_ahead(
    plan: &BenchPlan,
    context: &RunContext,
    backend: &dyn DeferredBackend,
    model: &str,
    mut load: Load,
) -> Result<Load, ExecuteError> {
    if load.converses() && plan.load.sessions.history == History::Kept {
        return Err(PlanError::DeferredHistory.into());
    }
    // The requests of the warm-up are made of those of the measurement.
    let (first, mut warm_up) = (load.warm_up(plan), warm_up(plan, &load));
    let requests = load.requests() + warm_up.len();
    let encoder = Encoder { backend, model, progress: context.observer.as_ref() };
    encoder.progress.begin("encoding requests", requests as u64);
    let encoded = encoder.encode_load(plan, &mut load, first, &mut warm_up);
    encoder.progress.end();
    encoded?;
    load.encoded_warm_up = Some(warm_up.into());
    Ok(load)
}

/// Returns the sessions of the warm-up.
fn warm_up(plan: &BenchPlan, load: &Load) -> Vec<Session> {
    let warmup = plan.load.warmup;
    if warmup.requests == 0 {
        return Vec::new();
    }
    if let Some(sessions) = load.warm_up_sessions(plan) {
        return sessions.to_vec();
    }
    let mut copy = load.warm_up(plan);
    copy.output_tokens = copy.output_tokens.min(warmup.most_output_tokens);
    vec![Session::from(copy); warmup.requests]
}

struct Encoder<'a> {
    backend: &'a dyn DeferredBackend,
    model: &'a str,
    progress: &'a dyn Progress,
}

impl Encoder<'_> {
    fn encode_load(
        &self,
        plan: &BenchPlan,
        load: &mut Load,
        mut first: Sample,
        warm_up: &mut [Session],
    ) -> Result<(), ExecuteError> {
        self.encode_sessions(warm_up)?;
        if let Some((sessions, _)) = &mut load.lead_in {
            self.encode_sessions(Arc::make_mut(sessions))?;
        }
        self.encode_sessions(Arc::make_mut(&mut load.sessions))?;
        if plan.control.first_request.is_some() {
            self.encode(0, &mut first)?;
            load.warm_up = Some(first);
        }
        Ok(())
    }

    fn encode_sessions(&self, sessions: &mut [Session]) -> Result<(), ExecuteError> {
        for (index, session) in sessions.iter_mut().enumerate() {
            for sample in session.samples_mut() {
                self.encode(index, sample)?;
                self.progress.advance(1);
            }
        }
        Ok(())
    }

    /// Replaces the prompt of a sample by its encoded request.
    fn encode(&self, index: usize, sample: &mut Sample) -> Result<(), ExecuteError> {
        let encode = |sample: &mut Sample| {
            check(sample)?;
            let request = self.backend.encode(sample, self.model)?;
            sample.prompt = Prompt::Ready(request.into_ready());
            // Finds headers of the data set that cannot be sent.
            DeferredCodec::new(self.backend.framing()).encode(sample).map(drop)
        };
        encode(sample).map_err(|reason| ExecuteError::Encode { index, reason })
    }
}

/// Refuses a sample with several answers.
fn check(sample: &Sample) -> Result<(), RequestError> {
    if sample.prompt.records() != 1 || sample.prompt.items() != 1 {
        let story = "its prompt asks for several answers, such as a batch or documents to rank";
        return Err(RequestError::new(ErrorKind::Encode, story));
    }
    Ok(())
}
