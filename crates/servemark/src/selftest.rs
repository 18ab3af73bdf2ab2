//! What this machine is worth as a client, measured against the bundled ground-truth server.
//!
//! Everything is measured by whole runs of the client that measures real servers; the server is a
//! thread on another core, where there is one. It takes a few seconds.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use servemark_core::HostFacts;

use crate::affinity;
use crate::capacity::Figures;
use crate::known::Known;
use crate::{ExecuteError, RunContext};

mod limits;
mod stages;
mod table;
mod timer;
mod verdict;

pub use limits::MachineLimits;
pub use stages::{Accuracy, Cost};
pub use timer::Lateness;
pub use verdict::{Fitness, SelftestVerdict};

/// How a machine is to be tested.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SelftestSpec {
    /// How many answers stream at once.
    pub streams: usize,
    /// How long each of the four loads lasts.
    pub duration: Duration,
}

impl Default for SelftestSpec {
    fn default() -> Self {
        Self { streams: 256, duration: Duration::from_secs(1) }
    }
}

/// What a machine is worth as a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Selftest {
    /// The version of the program.
    pub servemark: String,
    /// The machine.
    pub host: HostFacts,
    /// Where the two sides ran.
    pub placement: Placement,
    /// How many connections it can hold.
    pub limits: MachineLimits,
    /// How late requests are sent at the earliest.
    pub timer: Lateness,
    /// What was reported beside what was true.
    pub accuracy: Accuracy,
    /// What a piece of output costs that comes alone.
    pub paced: Cost,
    /// The same of pieces that come as fast as they can.
    pub flood: Cost,
    /// What a request costs that is answered with one token.
    pub requests: Cost,
    /// What all of it means.
    pub verdict: SelftestVerdict,
}

/// Which cores the two sides kept to; absent where they could not be parted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Placement {
    /// The client's.
    pub client_core: Option<usize>,
    /// The server's.
    pub server_core: Option<usize>,
}

impl Placement {
    /// The last core for the client and the first for the server, where there are two.
    fn among(cores: &[usize]) -> Self {
        match cores {
            [server, .., client] => Self { client_core: Some(*client), server_core: Some(*server) },
            _ => Self::default(),
        }
    }
}

impl Selftest {
    /// What later runs should know of the machine.
    pub fn figures(&self) -> Figures {
        Figures::new(self.paced.per_core_and_second(), self.requests.per_core_and_second())
    }

    /// The whole of it as a document of JSON. Its `Display` is the table.
    ///
    /// # Panics
    ///
    /// Never: it is plain data.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("a self-test is plain data");
        format!("{json}\n")
    }

    /// Keeps the figures for later runs, in a folder. Says in which file.
    pub fn keep(&self, folder: &Path) -> std::io::Result<PathBuf> {
        Known::of_this_machine(folder).keep(self.figures()).map(Path::to_owned)
    }
}

/// Tests this machine. Whoever watches hears what is measured next.
pub fn selftest(spec: &SelftestSpec, context: &RunContext) -> Result<Selftest, ExecuteError> {
    let placement = Placement::among(&affinity::cores());
    let client: Vec<usize> = placement.client_core.into_iter().collect();
    // One core of it is all that the thread below is told of.
    let host = HostFacts::of_this_machine();
    // On a thread of its own, whose runtime and whose helpers keep to the client's core.
    let tested = thread::scope(|scope| {
        scope
            .spawn(|| affinity::on(&client, || on_this_core(spec, context, placement, host)))
            .join()
    });
    tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn on_this_core(
    spec: &SelftestSpec,
    context: &RunContext,
    placement: Placement,
    host: HostFacts,
) -> Result<Selftest, ExecuteError> {
    let limits = MachineLimits::raise()?;
    let timer = timer::lateness().map_err(ExecuteError::Machine)?;
    let stages = stages::Stages { spec, context, server_core: placement.server_core };
    let accuracy = stages.accuracy()?;
    let verdict = SelftestVerdict::of(&accuracy);
    Ok(Selftest {
        servemark: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        placement,
        limits,
        timer,
        paced: stages.paced()?,
        flood: stages.flood()?,
        requests: stages.requests()?,
        accuracy,
        verdict,
    })
}
