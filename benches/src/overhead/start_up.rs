//! Measures the time from a program's start to its first request.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use servemark::core::Clock;
use servemark::metrics::statistics;
use servemark::mock::MockSpec;
use servemark::pacer::MachineClock;

use super::experiment::Experiment;
use super::figures::sorted;
use super::program::{self, Program, Workload};
use super::test_bed::TestBed;
use super::{Reader, Run};

/// Random prompts that a whole program makes and sends.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct StartUp {
    /// Number of prompts.
    pub requests: usize,
    /// Number of tokens of a prompt, by a real tokenizer.
    pub prompt_tokens: u32,
}

/// Time that a program takes before it measures anything.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct StartUpFigures {
    /// Time from its start to its first request's arrival, in milliseconds.
    pub first_request_ms: f64,
    /// Time to print its help, in milliseconds; the median of five.
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

    /// Returns no readers: only whole programs have a start.
    fn readers(&self) -> &'static [Reader] {
        &[]
    }

    fn lasts(&self, reader: Reader) -> Duration {
        match reader {
            Reader::Program(program) => program.time_budget().0 * 3,
            _ => Duration::ZERO,
        }
    }

    fn workload(&self, _program: Program) -> Option<Workload> {
        Some(Workload::new(self.requests, self.prompt_tokens, 1))
    }

    fn run(&self, reader: Reader, bed: &TestBed<'_>) -> anyhow::Result<Run<StartUpFigures>> {
        let Reader::Program(program) = reader else { bail!("it has no start of its own") };
        let workload = self.workload(program).context("it cannot send this")?;
        let mut server = bed.server(&MockSpec::new(Duration::ZERO, Duration::ZERO))?;
        let observed = program::observe(program, &workload, bed, &mut server)?;
        let first = observed.account.truth.iter().map(|row| row.received).min();
        let first = first.context("it sent nothing")?;
        let figures = StartUpFigures {
            first_request_ms: first.since(observed.result.started).as_secs_f64() * 1e3,
            help_ms: help_ms(program, bed)?,
        };
        Ok(Run { figures, noise: observed.noise })
    }
}

fn help_ms(program: Program, bed: &TestBed<'_>) -> anyhow::Result<f64> {
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
