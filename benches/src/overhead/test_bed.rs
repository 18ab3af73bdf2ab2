//! Test bed of every experiment: a server on its own core, and a noise meter.

use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use servemark::core::{ClientCost, Clock, RequestRecord, RunLog, Stamp};
use servemark::metrics::{Audit, Verdict};
use servemark::mock::MockSpec;

use super::hog::Hog;
use super::machine::{pin, pin_to};
use super::noise::NoiseMeter;
use super::server::{Account, Server};
use super::{Cores, Noise, ProgramPaths};
use crate::logs;

/// Path of this program, to start it again, and the assignment of cores.
#[derive(Debug)]
pub(super) struct TestBed<'a> {
    pub(super) program: &'a Path,
    pub(super) cores: Option<Cores>,
    pub(super) places: &'a ProgramPaths,
}

/// Result of one observation.
#[derive(Debug)]
pub(super) struct Observed<S> {
    pub(super) result: S,
    /// The server's account of this observation alone.
    pub(super) account: Account,
    pub(super) noise: Noise,
}

/// The requests of one observation, as records.
#[derive(Debug)]
pub(super) struct ObservedRun {
    pub(super) records: Vec<RequestRecord>,
    /// Cost from the first request to the last answer, without connecting.
    pub(super) cost: ClientCost,
    /// The client's own figures of its run; absent for a bare reader.
    pub(super) own: Option<ClientFigures>,
}

/// Figures that the client keeps of itself at the end of a run.
#[derive(Debug)]
pub(super) struct ClientFigures {
    pub(super) cost: ClientCost,
    pub(super) ended: Stamp,
}

impl ObservedRun {
    /// Returns the verdict of the client's own audit of the run; absent for a bare reader.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let own = self.own.as_ref()?;
        let mut footer = logs::footer(own.ended);
        footer.client = Some(own.cost.clone());
        let header = logs::header(self.records.len());
        let log = RunLog::new(header, self.records.clone(), Some(footer));
        Some(Audit::of(&log).verdict)
    }
}

/// Measures the CPU time of this process, all threads together.
#[derive(Debug)]
pub(super) struct CostMeter {
    cpu: Duration,
    wall: Stamp,
}

impl CostMeter {
    pub(super) fn start(clock: &dyn Clock) -> Self {
        Self { cpu: process_cpu(), wall: clock.now() }
    }

    pub(super) fn stop(self, clock: &dyn Clock) -> ClientCost {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let cpu = process_cpu().saturating_sub(self.cpu);
        ClientCost::new(nanos(cpu), nanos(clock.now().since(self.wall)))
    }
}

fn process_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

impl TestBed<'_> {
    /// Starts a server that never sleeps if it has a core of its own, so that it keeps its schedule
    /// to the microsecond.
    pub(super) fn punctual_server(&self, mut spec: MockSpec) -> anyhow::Result<Server> {
        spec.spin = self.cores.is_some();
        self.server(&spec)
    }

    /// Starts a server that may sleep, so that its CPU time shows whether it is the limit.
    pub(super) fn server(&self, spec: &MockSpec) -> anyhow::Result<Server> {
        Server::start(self.program, spec, self.cores.map(|cores| cores.server))
    }

    /// Runs `work` on the server's core.
    pub(super) fn on_servers_core<T>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let Some(Cores { server, reader }) = self.cores else { return work() };
        pin(server)?;
        let done = work();
        pin(reader)?;
        done
    }

    /// Runs `work` on the client's core and the server's.
    pub(super) fn on_both_cores<T>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let Some(Cores { server, reader }) = self.cores else { return work() };
        pin_to(&[server, reader])?;
        let done = work();
        pin(reader)?;
        done
    }

    /// Starts a CPU hog on the client's core, if the client has one.
    pub(super) fn hog(&self) -> anyhow::Result<Option<Hog>> {
        self.cores.map(|cores| Hog::start(self.program, cores.reader)).transpose()
    }
}

/// Runs `observe`, during which the server must do nothing else, and returns the result.
pub(super) fn observe<S>(
    server: &mut Server,
    observe: impl FnOnce() -> anyhow::Result<S>,
) -> anyhow::Result<Observed<S>> {
    let before = server.account()?;
    let meter = NoiseMeter::start();
    let result = observe()?;
    let account = server.account()?.since(&before);
    let noise = meter.stop(Duration::from_nanos(account.waited_ns));
    Ok(Observed { result, account, noise })
}
