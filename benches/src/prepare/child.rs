//! One data set, prepared by this client in this process.

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::backends::Backend;
use servemark::core::{Clock, DrawContext, MonotonicClock, NoProgress, Session};
use servemark::rng::RandomState;
use servemark_cli::{Environment, sglang};

use crate::resident::peak_mib;

/// What it cost to prepare a data set.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// How many requests there are.
    pub requests: usize,
    /// How long they took to draw; loading the tokenizer is not in it.
    pub draw_s: f64,
    /// How long their bodies took to write, where they were written.
    pub bodies_s: Option<f64>,
    /// The most memory that the process ever had.
    pub peak_mib: f64,
}

/// Prepares what a command line of SGLang's client asks for.
pub fn prepare(argv: &[String]) -> anyhow::Result<Figures> {
    let plan = sglang::parse("prepare", argv.iter().map(Into::into), &Environment::default())?.plan;
    let tokenizer = plan.model.tokenizer.context("a case has a --tokenizer")?.load()?;
    let mut random = RandomState::seeded(plan.workload.seed.into());
    let mut context = DrawContext::new(&tokenizer, &mut random, &NoProgress);
    let clock = MonotonicClock::start();
    let draw = plan.workload.dataset.draw(plan.workload.requests, &mut context)?;
    let drawn = clock.now();
    let backend = plan.wire.build();
    let samples = || draw.sessions.iter().flat_map(Session::samples);
    for sample in samples() {
        backend.encode(sample)?;
    }
    Ok(Figures {
        requests: samples().count(),
        draw_s: drawn.as_secs_f64(),
        bodies_s: Some(clock.now().since(drawn).as_secs_f64()),
        peak_mib: peak_mib()?,
    })
}
