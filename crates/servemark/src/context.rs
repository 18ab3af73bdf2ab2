//! What a run is given besides its plan.

use std::path::PathBuf;
use std::sync::Arc;

use servemark_client::Credentials;
use servemark_hub::HubSettings;
use servemark_runner::{Stop, StopHandle};

use crate::audience::{Activity, Audience, Live, News};
use crate::{ExecuteError, Grace};

/// What a run is given besides its plan.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunContext {
    /// What the server wants to see.
    pub credentials: Credentials,
    /// Where tokenizers and data sets come from that are given by name.
    pub hub: HubSettings,
    /// Who watches.
    pub audience: Arc<dyn Audience>,
    /// Counters for whoever wants to look.
    pub live: Arc<Live>,
    /// How the run is stopped early.
    pub stop: StopHandle,
    /// How long requests in flight may take after SIGTERM or SIGHUP.
    pub grace: Grace,
    /// The folder in which [`selftest`](crate::selftest())s keep what they found; without one a run
    /// goes by what is assumed of a machine.
    pub cache: Option<PathBuf>,
    /// The core that the simulator keeps to, on Linux; any without one.
    pub simulator_core: Option<usize>,
}

impl RunContext {
    /// A run that `audience` watches, with no credentials, and that downloads nothing.
    pub fn new(audience: Arc<dyn Audience>) -> Self {
        Self {
            credentials: Credentials::new(),
            hub: HubSettings::default(),
            audience,
            live: Arc::default(),
            stop: StopHandle::new(),
            grace: Grace::default(),
            cache: None,
            simulator_core: None,
        }
    }

    pub(crate) fn tell(&self, news: &News<'_>) {
        self.audience.tell(news);
    }

    /// The work, unless the user stops the run before it is done. What follows then are the results
    /// of the runs before this one, if there are any.
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

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext").field("live", &self.live).finish_non_exhaustive()
    }
}
