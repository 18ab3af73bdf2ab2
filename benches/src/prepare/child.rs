//! Prepares one data set with this client in this process.

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::backends::Backend;
use servemark::core::{Clock, DrawContext, MonotonicClock, NoProgress, Session};
use servemark::rng::RandomState;
use servemark_cli::{Environment, sglang};

use crate::resident::peak_mib;

/// Cost of preparing a data set.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Figures {
    /// Number of requests.
    pub requests: usize,
    /// Time to draw the requests in seconds, without loading the tokenizer.
    pub draw_s: f64,
    /// Time to encode the bodies in seconds; absent if they were not encoded.
    pub bodies_s: Option<f64>,
    /// Peak memory of the process in MiB.
    pub peak_mib: f64,
}

/// Prepares the data set that a command line of SGLang's client asks for.
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
