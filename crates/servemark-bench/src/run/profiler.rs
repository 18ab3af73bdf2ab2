//! Profilers of the server, or of the workers behind it, during a measurement.

use servemark_client::{ClientError, ServerControl};
use servemark_core::{JsonObject, MonotonicClock};
use servemark_plan::{ProfileSpec, Profiled, WorkerSpec};

use crate::observer::{Profiler as ProfilerEvent, RunEvent, Switch};
use crate::run::server::Server;
use crate::{ExecuteError, RunContext};

/// The profilers of a plan, if any.
pub(crate) struct Profilers<'a> {
    context: &'a RunContext,
    spec: Option<&'a ProfileSpec>,
    switches: Vec<(Option<&'a WorkerSpec>, ServerControl)>,
}

impl<'a> Profilers<'a> {
    /// Prepares the control connections to the profilers. Nothing is sent yet.
    pub(crate) fn reach(
        spec: Option<&'a ProfileSpec>,
        context: &'a RunContext,
        server: &Server,
        clock: MonotonicClock,
    ) -> Result<Self, ExecuteError> {
        let control = |worker: Option<&'a WorkerSpec>| {
            let target = match worker {
                Some(worker) => server.target.at(worker.url.clone())?,
                None => server.target.clone(),
            };
            Ok((worker, ServerControl::new(target, clock)))
        };
        let of = match spec.map(|spec| &spec.of) {
            None => Vec::new(),
            Some(Profiled::Server) => vec![None],
            Some(Profiled::Workers(workers)) => workers.iter().map(Some).collect(),
        };
        let switches = of.into_iter().map(control).collect::<Result<_, ClientError>>();
        Ok(Self { context, spec, switches: switches.map_err(ExecuteError::Target)? })
    }

    /// Starts the profilers, one after the other.
    pub(crate) async fn start(&self) {
        let Some(spec) = self.spec else { return };
        if self.switches.is_empty() {
            return self.emit(ProfilerEvent::NoWorker);
        }
        self.turn(Switch::Start, &spec.start).await;
    }

    /// Stops the profilers that do not stop by themselves.
    pub(crate) async fn stop(&self) {
        let body = self.spec.and_then(|spec| spec.stop.as_ref());
        if let Some(body) = body.filter(|_| !self.switches.is_empty()) {
            self.turn(Switch::Stop, body).await;
        }
    }

    async fn turn(&self, switch: Switch, body: &JsonObject) {
        self.emit(ProfilerEvent::Turning(switch));
        let is_bare = self.spec.is_some_and(|spec| spec.bare);
        let body = (!is_bare).then(|| body.clone().into());
        for (worker, control) in &self.switches {
            let turned = match switch {
                Switch::Start => control.start_profile(body.as_ref()).await,
                Switch::Stop => control.stop_profile(body.as_ref()).await,
            };
            self.emit(match turned {
                Ok(()) => ProfilerEvent::Turned(switch, *worker),
                Err(error) => ProfilerEvent::Failed(switch, *worker, error),
            });
        }
    }

    fn emit(&self, event: ProfilerEvent<'_>) {
        self.context.emit(&RunEvent::Profiler(event));
    }
}
