//! The profilers that run during a measurement: the server's, or those of the workers behind it.

use servemark_client::{ClientError, ServerControl};
use servemark_core::{JsonObject, MonotonicClock};
use servemark_plan::{ProfileSpec, Profiled, WorkerSpec};

use crate::audience::{News, Profiler as ProfilerNews, Switch};
use crate::server::Server;
use crate::{ExecuteError, RunContext};

/// The profilers of a plan, or none.
pub(crate) struct Profilers<'a> {
    context: &'a RunContext,
    spec: Option<&'a ProfileSpec>,
    switches: Vec<(Option<&'a WorkerSpec>, ServerControl)>,
}

impl<'a> Profilers<'a> {
    /// Gets ready to speak to every one of them. Nothing is sent yet.
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

    /// Starts them, one after the other.
    pub(crate) async fn start(&self) {
        let Some(spec) = self.spec else { return };
        if self.switches.is_empty() {
            return self.tell(ProfilerNews::Nobody);
        }
        self.turn(Switch::Start, &spec.start).await;
    }

    /// Stops those that do not stop by themselves.
    pub(crate) async fn stop(&self) {
        let body = self.spec.and_then(|spec| spec.stop.as_ref());
        if let Some(body) = body.filter(|_| !self.switches.is_empty()) {
            self.turn(Switch::Stop, body).await;
        }
    }

    async fn turn(&self, switch: Switch, body: &JsonObject) {
        self.tell(ProfilerNews::Turning(switch));
        let is_bare = self.spec.is_some_and(|spec| spec.bare);
        let body = (!is_bare).then(|| body.clone().into());
        for (worker, control) in &self.switches {
            let turned = match switch {
                Switch::Start => control.start_profile(body.as_ref()).await,
                Switch::Stop => control.stop_profile(body.as_ref()).await,
            };
            self.tell(match turned {
                Ok(()) => ProfilerNews::Turned(switch, *worker),
                Err(error) => ProfilerNews::Failed(switch, *worker, error),
            });
        }
    }

    fn tell(&self, news: ProfilerNews<'_>) {
        self.context.tell(&News::Profiler(news));
    }
}
