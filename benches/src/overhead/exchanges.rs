//! Load of short requests, a fixed number of which is always in flight.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use servemark::backends::Route;
use servemark::core::{RequestRecord, Sample};
use servemark::mock::MockSpec;
use servemark::runner::LoadSpec;
use servemark::schedule::{ArrivalSpec, Schedule};

use super::bare::Exchanges;
use super::client::Client;
use super::experiment::Experiment;
use super::load::numbered;
use super::program::{self, Program, Workload};
use super::test_bed::{Observed, ObservedRun, TestBed, observe};
use super::{Reader, Run};

/// A load of short requests, a fixed number of which is always in flight.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct ExchangeLoad {
    /// Kind of request.
    pub kind: Exchange,
    /// Number of requests.
    pub requests: usize,
    /// Number of requests in flight.
    pub in_flight: usize,
}

/// Kind of a short request. The enum is closed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exchange {
    /// A streamed chat reply of one token.
    OneToken,
    /// An embedding, in one document.
    Embedding,
}

/// Figures of one run of short requests.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct ExchangeFigures {
    /// Requests per second, from the first request to the last answer.
    pub requests_per_second: f64,
    /// CPU microseconds of the reader per request.
    pub cpu_us_per_request: f64,
    /// CPU microseconds of the server per request.
    pub server_cpu_us_per_request: f64,
    /// Share of the time in which the server was busy, from 0 to 1.
    pub server_busy: f64,
}

impl ExchangeLoad {
    /// Creates a load of `requests` requests of this kind, 64 in flight.
    pub fn new(kind: Exchange, requests: usize) -> Self {
        Self { kind, requests, in_flight: 64 }
    }

    pub(super) fn title(&self) -> String {
        let kind = match self.kind {
            Exchange::OneToken => "one-token chat replies",
            Exchange::Embedding => "embeddings",
        };
        format!("{kind}, {} in flight", self.in_flight)
    }

    fn route(&self) -> Route {
        match self.kind {
            Exchange::OneToken => Route::CHAT,
            Exchange::Embedding => Route::EMBEDDINGS,
        }
    }

    fn samples(&self) -> Vec<Sample> {
        numbered(&Sample::new("Tell me a story.", 5, 1), self.requests)
    }

    fn figures(&self, busy: Duration, cpu: Duration, server_cpu_ns: u64) -> ExchangeFigures {
        let requests = self.requests as f64;
        ExchangeFigures {
            requests_per_second: requests / busy.as_secs_f64(),
            cpu_us_per_request: cpu.as_secs_f64() * 1e6 / requests,
            server_cpu_us_per_request: server_cpu_ns as f64 / 1e3 / requests,
            server_busy: server_cpu_ns as f64 / 1e9 / busy.as_secs_f64(),
        }
    }

    fn figures_of(&self, observed: &Observed<ObservedRun>) -> anyhow::Result<ExchangeFigures> {
        let ObservedRun { records, cost, .. } = &observed.result;
        let cpu = Duration::from_nanos(cost.cpu_ns);
        Ok(self.figures(busy(records, self.requests)?, cpu, observed.account.cpu_ns))
    }
}

impl Experiment for ExchangeLoad {
    type Figures = ExchangeFigures;

    fn name(&self) -> String {
        match self.kind {
            Exchange::OneToken => "one-token".to_owned(),
            Exchange::Embedding => "embeddings".to_owned(),
        }
    }

    fn readers(&self) -> &'static [Reader] {
        match self.kind {
            Exchange::OneToken => &[Reader::Floor, Reader::Chat, Reader::ChatByHyper],
            Exchange::Embedding => &[Reader::Floor, Reader::Embeddings],
        }
    }

    fn lasts(&self, reader: Reader) -> Duration {
        let (starting, chunk) = match reader {
            Reader::Program(program) => program.time_budget(),
            _ => (SETTING_UP, Duration::ZERO),
        };
        starting + (EACH + chunk * PROGRAM_REQUEST) * self.requests as u32
    }

    fn workload(&self, program: Program) -> Option<Workload> {
        let embeddings = self.kind == Exchange::Embedding;
        let workload = Workload::new(self.requests, 5, 1).in_flight(self.in_flight);
        let workload = if embeddings { workload.embeddings() } else { workload };
        program.can(&workload).then_some(workload)
    }

    fn run(&self, reader: Reader, bed: &TestBed<'_>) -> anyhow::Result<Run<ExchangeFigures>> {
        let mut server = bed.server(&MockSpec::new(Duration::ZERO, Duration::ZERO))?;
        match reader {
            Reader::Floor => {
                let bare = Exchanges::connect(self.route(), self.in_flight, server.url())?;
                let observed = observe(&mut server, || bare.run(self.requests))?;
                let busy = Duration::from_nanos(observed.result.wall_ns);
                let cpu = Duration::from_nanos(observed.result.cpu_ns);
                let figures = self.figures(busy, cpu, observed.account.cpu_ns);
                Ok(Run { figures, noise: observed.noise })
            }
            Reader::Program(program) => {
                let workload = self.workload(program).context("it cannot send this")?;
                let observed = program::observe(program, &workload, bed, &mut server)?;
                let result = &observed.result;
                let figures = self.figures(result.busy, result.cpu, observed.account.cpu_ns);
                Ok(Run { figures, noise: observed.noise })
            }
            _ => {
                let client = Client::new(reader, server.url(), self.in_flight)?;
                let mut load = LoadSpec::new(ArrivalSpec::Burst);
                load.max_concurrency = self.in_flight.try_into().ok();
                let (samples, at_once) = (self.samples(), Schedule::burst(self.requests));
                let observed = observe(&mut server, || client.run(&load, samples, &at_once))?;
                Ok(Run { figures: self.figures_of(&observed)?, noise: observed.noise })
            }
        }
    }
}

/// Returns the time from the first request to the last answer. A failed request makes the run
/// invalid.
pub(super) fn busy(records: &[RequestRecord], requests: usize) -> anyhow::Result<Duration> {
    for record in records {
        if let Err(error) = &record.outcome {
            anyhow::bail!("request {} failed: {error}", record.index);
        }
    }
    ensure!(records.len() == requests, "{} of {requests} requests were sent", records.len());
    let first = records.iter().map(RequestRecord::started).min();
    let last = records.iter().map(|record| record.ended).max();
    Ok(last.context("there were no requests")?.since(first.unwrap_or_default()))
}

/// Time that a request takes on both sides, one after the other; a generous estimate.
const EACH: Duration = Duration::from_micros(40);
/// Time that a program takes for a request, as a multiple of its time for a chunk.
const PROGRAM_REQUEST: u32 = 10;
const SETTING_UP: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use servemark::core::{ClientCost, Finish, Phase, Recorder, Stamp};

    use super::super::Noise;
    use super::super::server::Account;
    use super::*;

    fn record(index: usize, sent_ms: u64, ended_ms: u64) -> RequestRecord {
        let [sent, ended] = [sent_ms, ended_ms].map(|ms| Stamp::from_nanos(ms * 1_000_000));
        let sample = Sample::new("hi", 1, 1);
        let mut recorder = Recorder::new(index, Phase::Measure, &sample, sent);
        recorder.record_sent(sent);
        recorder.body(ended, 1);
        recorder.finish(Ok(Finish::default()), ended)
    }

    #[test]
    fn rates_count_from_the_first_request_to_the_last_answer() {
        let load = ExchangeLoad::new(Exchange::Embedding, 2);
        let records = vec![record(1, 30, 60), record(0, 20, 40)];
        let result = ObservedRun { records, cost: ClientCost::new(30_000, 1), own: None };
        let account = Account { cpu_ns: 8_000, waited_ns: 0, truth: Vec::new() };
        let observed = Observed { result, account, noise: Noise::default() };
        let figures = load.figures_of(&observed).unwrap();
        assert!((figures.requests_per_second - 50.0).abs() < 1e-9);
        let costs = (figures.cpu_us_per_request, figures.server_cpu_us_per_request);
        assert!((figures.server_busy - 2e-4).abs() < 1e-12, "{figures:?}");
        assert!((costs.0 - 15.0).abs() < 1e-9 && (costs.1 - 4.0).abs() < 1e-9, "{costs:?}");
    }

    #[test]
    fn a_run_that_lost_a_request_has_no_figures() {
        let error = busy(&[record(0, 1, 2)], 2).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 requests were sent");
    }
}
