//! Measures the capacity and the accuracy of this machine as a client, against the bundled
//! ground-truth server.
//!
//! All loads are complete runs of the client that measures real servers. The server runs as a
//! thread on another core, if there is one. A self-test takes a few seconds.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use servemark_core::HostFacts;

use crate::run::affinity;
use crate::run::capacity::Figures;
use crate::run::capacity::cache::SelftestCache;
use crate::{ExecuteError, RunContext};

mod capacity;
mod limits;
mod stages;
mod table;
mod timer;
mod verdict;

pub use capacity::{StreamCapacity, StreamLimit, StreamResource};
pub use limits::MachineLimits;
pub use stages::{Accuracy, Cost};
pub use timer::Lateness;
pub use verdict::{Fitness, SelftestVerdict};

/// Parameters of a self-test.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SelftestSpec {
    /// Number of concurrent answers.
    pub streams: usize,
    /// Duration of each of the four loads.
    pub duration: Duration,
}

impl Default for SelftestSpec {
    fn default() -> Self {
        Self { streams: 256, duration: Duration::from_secs(1) }
    }
}

/// Results of a self-test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Selftest {
    /// Version of the program.
    pub servemark: String,
    /// Facts about the machine.
    pub host: HostFacts,
    /// Cores of the client and of the server.
    pub placement: Placement,
    /// Limits on the number of connections.
    pub limits: MachineLimits,
    /// Lateness of the timer that sends requests.
    pub timer: Lateness,
    /// Difference between reported and true latencies.
    pub accuracy: Accuracy,
    /// Cost of a chunk that arrives by itself.
    pub paced: Cost,
    /// Cost of a chunk when the server sends chunks as fast as it can.
    pub flood: Cost,
    /// Cost of a request that is answered with one token.
    pub requests: Cost,
    /// Number of streams that the machine carries.
    pub capacity: StreamCapacity,
    /// Verdict on the machine.
    pub verdict: SelftestVerdict,
}

/// Cores to which client and server are pinned; `None` if they cannot be pinned.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Placement {
    /// Core of the client.
    pub client_core: Option<usize>,
    /// Core of the server.
    pub server_core: Option<usize>,
}

impl Placement {
    /// Uses the last core for the client and the first for the server, if there are at least two.
    fn among(cores: &[usize]) -> Self {
        match cores {
            [server, .., client] => Self { client_core: Some(*client), server_core: Some(*server) },
            _ => Self::default(),
        }
    }
}

impl Selftest {
    /// Returns the capacity figures for later runs.
    pub fn figures(&self) -> Figures {
        figures(&self.paced, &self.requests)
    }

    /// Returns all results as a JSON document. `Display` writes them as a table.
    ///
    /// # Panics
    ///
    /// Never panics: the results are plain data.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Document<'a> {
            schema: &'static str,
            #[serde(flatten)]
            found: &'a Selftest,
        }
        let document = Document { schema: "servemark/selftest/1", found: self };
        let json = serde_json::to_string_pretty(&document).expect("a self-test is plain data");
        format!("{json}\n")
    }

    /// Stores the capacity figures in `folder` for later runs. Returns the path of the file.
    pub fn keep(&self, folder: &Path) -> std::io::Result<PathBuf> {
        SelftestCache::of_this_machine(folder).keep(self.figures()).map(Path::to_owned)
    }
}

fn figures(paced: &Cost, requests: &Cost) -> Figures {
    Figures::new(paced.per_core_and_second(), requests.per_core_and_second())
}

/// Tests this machine and reports progress to the context's observer.
pub fn selftest(spec: &SelftestSpec, context: &RunContext) -> Result<Selftest, ExecuteError> {
    let placement = Placement::among(&affinity::cores());
    let client: Vec<usize> = placement.client_core.into_iter().collect();
    // Read here, because the pinned thread below sees only one core.
    let host = HostFacts::of_this_machine();
    // On a separate thread, whose runtime and helper threads inherit its pinning to the client's
    // core.
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
    let (paced, flood, requests) = (stages.paced()?, stages.measure_chunks()?, stages.requests()?);
    Ok(Selftest {
        servemark: env!("CARGO_PKG_VERSION").to_owned(),
        capacity: StreamCapacity::of(figures(&paced, &requests), host.cores, &limits),
        host,
        placement,
        limits,
        timer,
        paced,
        flood,
        requests,
        accuracy,
        verdict,
    })
}
