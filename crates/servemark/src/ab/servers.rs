//! Servers that are started for their runs.

use std::time::Duration;

use servemark_client::BaseUrl;
use servemark_plan::{BenchPlan, Point};

use crate::{ProcessError, RunContext, ServerProcess, Shown};

/// The commands that start servers A and B. At most one of them runs at a time, so that both may use the
/// same device.
#[derive(Debug)]
pub struct AbServers {
    servers: [(BaseUrl, Option<String>); 2],
    running: Option<(usize, ServerProcess)>,
}

impl AbServers {
    /// Servers at these addresses, each started by its command if it has one.
    pub fn new(servers: [(BaseUrl, Option<String>); 2]) -> Self {
        Self { servers, running: None }
    }

    /// Sees to it that the server of a run is there: one with a command is started unless it runs, and
    /// the other one's is ended before.
    pub(crate) fn serve(
        &mut self,
        point: &Point,
        plan: &BenchPlan,
        context: &RunContext,
    ) -> Result<(), ProcessError> {
        let is_b = point.settings.iter().any(|(key, value)| key == "side" && value == "b");
        let side = usize::from(is_b);
        if self.running.as_ref().is_some_and(|(running, _)| *running == side) {
            return Ok(());
        }
        self.running = None;
        let (url, Some(command)) = &self.servers[side] else { return Ok(()) };
        let shell = ["sh", "-c", command].map(str::to_owned);
        let server = ServerProcess::start(&shell, Shown::No, &[])?;
        let patience = plan.control.ready_timeout.max(PATIENCE);
        server.wait_ready(url, plan.backend.ready_path(), patience, context)?;
        self.running = Some((side, server));
        Ok(())
    }
}

/// How long a server may take to load its model.
const PATIENCE: Duration = Duration::from_secs(900);
