//! What every experiment is made on: a server on its own core, and a noise meter.

use std::path::Path;
use std::time::Duration;

use servemark::core::ClientCost;
use servemark::mock::MockSpec;

use super::hog::Hog;
use super::noise::NoiseMeter;
use super::server::{Account, Server};
use super::{Cores, Noise};

/// How this program is started again, and which core does what.
#[derive(Debug)]
pub(super) struct Bed<'a> {
    pub(super) program: &'a Path,
    pub(super) cores: Option<Cores>,
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
    pub(super) records: Vec<servemark::core::RequestRecord>,
    /// From the first request to the last answer, connecting left out.
    pub(super) cost: ClientCost,
}

impl Bed<'_> {
    pub(super) fn server(&self, spec: &MockSpec) -> anyhow::Result<Server> {
        Server::start(self.program, spec, self.cores.map(|cores| cores.server))
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
