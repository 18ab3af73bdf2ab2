//! Servers that are started and stopped for A/B runs.

use std::time::Duration;

use servemark_client::BaseUrl;
use servemark_plan::{BenchPlan, Point};

use crate::{ChildStdout, ProcessError, RunContext, ServerProcess};

/// Commands that start servers A and B. At most one of the servers runs at a time, so that both
/// may use the same device.
#[derive(Debug)]
pub struct AbServers {
    servers: [(BaseUrl, Option<String>); 2],
    running: Option<(usize, ServerProcess)>,
}

impl AbServers {
    /// Creates the two servers from their base URLs and, for each server to be started, a shell
    /// command.
    pub fn new(servers: [(BaseUrl, Option<String>); 2]) -> Self {
        Self { servers, running: None }
    }

    /// Makes sure that the server of `point` is running. A server with a command is started if it
    /// is not running; the other server is stopped first.
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
        let server = ServerProcess::start(&shell, ChildStdout::No, &[])?;
        let patience = plan.control.ready_timeout.max(PATIENCE);
        server.wait_ready(url, plan.server_kind().ready_path(), patience, context)?;
        self.running = Some((side, server));
        Ok(())
    }
}

/// Minimum time allowed for a server to load its model.
const PATIENCE: Duration = Duration::from_secs(900);
