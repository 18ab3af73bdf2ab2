//! What every experiment is made on: a server on its own core, and a noise meter.

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
use super::{Cores, Noise, Places};
use crate::logs;

/// How this program is started again, and which core does what.
#[derive(Debug)]
pub(super) struct Bed<'a> {
    pub(super) program: &'a Path,
    pub(super) cores: Option<Cores>,
    pub(super) places: &'a Places,
}

/// What came of one observation, whatever was seen.
#[derive(Debug)]
pub(super) struct Observed<S> {
    pub(super) seen: S,
    /// The server's account of this observation alone.
    pub(super) account: Account,
    pub(super) noise: Noise,
}

/// The requests of one observation, as records.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) records: Vec<RequestRecord>,
    /// From the first request to the last answer, connecting left out.
    pub(super) cost: ClientCost,
    /// What the client keeps of itself; nothing of a bare reader.
    pub(super) own: Option<Own>,
}

/// What the client says of itself at the end of a run.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) cost: ClientCost,
    pub(super) ended: Stamp,
}

impl Seen {
    /// What the client's own audit makes of the run; nothing of a bare reader.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let own = self.own.as_ref()?;
        let mut footer = logs::footer(own.ended);
        footer.client = Some(own.cost.clone());
        let header = logs::header(self.records.len());
        let log = RunLog::new(header, self.records.clone(), Some(footer));
        Some(Audit::of(&log).verdict)
    }
}

/// Measures what this process uses, its threads together.
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

impl Bed<'_> {
    /// A server that never sleeps where it has a core of its own, so that it keeps its schedule to
    /// the microsecond.
    pub(super) fn punctual_server(&self, mut spec: MockSpec) -> anyhow::Result<Server> {
        spec.spin = self.cores.is_some();
        self.server(&spec)
    }

    /// A server whose use of its core says whether it is what limits.
    pub(super) fn server(&self, spec: &MockSpec) -> anyhow::Result<Server> {
        Server::start(self.program, spec, self.cores.map(|cores| cores.server))
    }

    /// Does something on the server's core.
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

    /// Does something on the client's core and the server's.
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

    /// A hog on the client's core, where there is a core of the client's.
    pub(super) fn hog(&self) -> anyhow::Result<Option<Hog>> {
        self.cores.map(|cores| Hog::start(self.program, cores.reader)).transpose()
    }
}

/// Runs `observe`, which must be all that the server does, and says what it brought.
pub(super) fn observe<S>(
    server: &mut Server,
    observe: impl FnOnce() -> anyhow::Result<S>,
) -> anyhow::Result<Observed<S>> {
    let before = server.account()?;
    let meter = NoiseMeter::start();
    let seen = observe()?;
    let account = server.account()?.since(&before);
    let noise = meter.stop(Duration::from_nanos(account.waited_ns));
    Ok(Observed { seen, account, noise })
}
