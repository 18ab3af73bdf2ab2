//! Inputs of a run besides its plan.

use std::path::PathBuf;
use std::sync::Arc;

use servemark_client::Credentials;
use servemark_core::NoProgress;
use servemark_hub::HubSettings;
use servemark_runner::{Stop, StopHandle};

use crate::observer::{Activity, Live, RunEvent, RunObserver};
use crate::{ExecuteError, Grace, KeptTokenizer, Parts, RankGroup};

/// Inputs of a run besides its plan.
#[derive(Clone)]
pub struct RunContext {
    /// Credentials that are sent to the server.
    pub credentials: Credentials,
    /// Settings for tokenizers and data sets that are given by name.
    pub hub: HubSettings,
    /// Observer of the run.
    pub observer: Arc<dyn RunObserver>,
    /// Counters of the run in progress.
    pub live: Arc<Live>,
    /// Handle that stops the run early.
    pub stop: StopHandle,
    /// Time that requests in flight have to finish after SIGTERM or SIGHUP.
    pub grace: Grace,
    /// Folder in which a [`selftest`](crate::selftest()) stores its results; without a folder,
    /// runs use default capacity figures.
    pub cache: Option<PathBuf>,
    /// Tokenizer of the last run, kept for the next one.
    pub tokenizer: KeptTokenizer,
    /// Parts of the run that the program supplies itself.
    pub parts: Parts,
    /// Core to which the simulator is pinned on Linux; `None` lets it use any core.
    pub simulator_core: Option<usize>,
    /// The processes that share the runs; `None` if this one is alone.
    pub ranks: Option<Arc<dyn RankGroup>>,
}

impl RunContext {
    /// Creates a context with this observer, no credentials and no downloads.
    pub fn new(observer: Arc<dyn RunObserver>) -> Self {
        Self {
            credentials: Credentials::new(),
            hub: HubSettings::default(),
            observer,
            live: Arc::default(),
            stop: StopHandle::new(),
            grace: Grace::default(),
            cache: None,
            tokenizer: KeptTokenizer::default(),
            parts: Parts::default(),
            simulator_core: None,
            ranks: None,
        }
    }

    pub(crate) fn emit(&self, event: &RunEvent<'_>) {
        self.observer.on_event(event);
    }

    /// Awaits `work`, or returns [`ExecuteError::Interrupted`] as soon as the user stops the run.
    /// The activity then becomes [`Activity::Reporting`], because the results of earlier runs, if
    /// any, come next.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, ExecuteError>>,
    ) -> Result<T, ExecuteError> {
        let stop = self.stop.signal();
        tokio::select! {
            biased;
            () = stop.reached(Stop::Drain) => {
                self.live.turn_to(Activity::Reporting);
                Err(ExecuteError::Interrupted)
            }
            done = work => done,
        }
    }
}

/// A context without an observer.
impl Default for RunContext {
    fn default() -> Self {
        Self::new(Arc::new(NoProgress))
    }
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext").field("live", &self.live).finish_non_exhaustive()
    }
}
