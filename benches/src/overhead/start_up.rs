//! From a program's start to its first request.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use servemark::core::Clock;
use servemark::metrics::statistics;
use servemark::mock::MockSpec;
use servemark::pacer::MachineClock;

use super::bed::Bed;
use super::experiment::Experiment;
use super::figures::sorted;
use super::program::{self, Program, Workload};
use super::{Reader, Run};

/// So many random prompts of so many tokens, made and sent by a whole program.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StartUp {
    /// How many prompts.
    pub requests: usize,
    /// How many tokens each has, by a real tokenizer.
    pub prompt_tokens: u32,
}

/// How long a program takes before it measures anything.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StartUpFigures {
    /// From its start to its first request's arrival, in milliseconds.
    pub first_request_ms: f64,
    /// How long it takes to print its help, in milliseconds; the median of five.
    pub help_ms: f64,
}

impl StartUp {
    pub(super) fn title(&self) -> String {
        format!("{} prompts of {} tokens", self.requests, self.prompt_tokens)
    }
}

impl Experiment for StartUp {
    type Figures = StartUpFigures;

    fn name(&self) -> String {
        "start-up".to_owned()
    }

    /// Whole programs only.
    fn readers(&self) -> &'static [Reader] {
        &[]
    }

    fn lasts(&self, reader: Reader) -> Duration {
        match reader {
            Reader::Program(program) => program.takes().0 * 3,
            _ => Duration::ZERO,
        }
    }

    fn workload(&self, _program: Program) -> Option<Workload> {
        Some(Workload::new(self.requests, self.prompt_tokens, 1))
    }

    fn run(&self, reader: Reader, bed: &Bed<'_>) -> anyhow::Result<Run<StartUpFigures>> {
        let Reader::Program(program) = reader else { bail!("it has no start of its own") };
        let workload = self.workload(program).context("it cannot send this")?;
        let mut server = bed.server(&MockSpec::new(Duration::ZERO, Duration::ZERO))?;
        let observed = program::observe(program, &workload, bed, &mut server)?;
        let first = observed.account.truth.iter().map(|row| row.received).min();
        let first = first.context("it sent nothing")?;
        let figures = StartUpFigures {
            first_request_ms: first.since(observed.seen.started).as_secs_f64() * 1e3,
            help_ms: help_ms(program, bed)?,
        };
        Ok(Run { figures, noise: observed.noise })
    }
}

fn help_ms(program: Program, bed: &Bed<'_>) -> anyhow::Result<f64> {
    let once = || {
        let mut command = bed.places.command(program)?;
        command.arg("--help").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = MachineClock.now();
        let status = command.status()?;
        ensure!(status.success(), "its --help ends with {status}");
        Ok(MachineClock.now().since(started).as_secs_f64() * 1e3)
    };
    let times: Vec<f64> = (0..5).map(|_| once()).collect::<anyhow::Result<_>>()?;
    statistics::median(&sorted(times)).context("it was never asked")
}
