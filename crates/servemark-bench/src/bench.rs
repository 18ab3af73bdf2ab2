//! A benchmark of parts that the program supplies.

use std::time::Duration;

use servemark_backends::{Backend, BackendName, BackendSpec, DeferredBackend, ProvidedSpec};
use servemark_client::{BaseUrl, TargetSpec};
use servemark_core::{Dataset, MonotonicClock, Transport};
use servemark_datasets::{DatasetSpec, ProvidedDatasetSpec};
use servemark_plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark_runner::LoadSpec;

use crate::{ExecuteError, Run, RunContext, RunTask, execute, start};

/// A benchmark of parts that the program supplies: a plan that names them, and a context that
/// holds them. Parts are given with the names that reports show.
///
/// Everything that takes a plan and a context works with these parts: a [`Sweep`](crate::Sweep)
/// over `plan`, an [`SloSearch`](crate::SloSearch), the audit, the run log, the gates.
///
/// ```no_run
/// use servemark::backends::{ChatSpec, CommonSpec};
/// use servemark::core::{Sample, Session};
/// use servemark::runner::LoadSpec;
/// use servemark::schedule::ArrivalSpec;
/// use servemark::{Bench, Scores};
///
/// // Any type of the program that implements `Backend`, and one that implements `Dataset`.
/// let dialect = ChatSpec::new(CommonSpec::new("tiny-llama"));
/// let questions = vec![Session::from(Sample::new("Tell me a story.", 5, 64)); 100];
/// let target = "http://127.0.0.1:8000".parse()?;
/// let load = LoadSpec::new(ArrivalSpec::at_rate(10.0)?);
/// let bench = Bench::at(target, ("chat", dialect), ("stories", questions), 100, load);
/// let run = bench.run()?;
/// Scores::of(&run.log, &bench.plan.scoring).write_tables(&mut std::io::stdout())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bench {
    /// The plan, with the usual settings for everything that the program does not supply.
    pub plan: BenchPlan,
    /// The context, with the program's parts.
    pub context: RunContext,
}

impl Bench {
    /// Creates a benchmark of a server in the program's own dialect, with `requests` sessions of
    /// its own data set, sent at the times of `load`.
    ///
    /// A vector of [`Session`](servemark_core::Session) is a data set, too.
    pub fn at<D>(
        target: BaseUrl,
        (dialect, backend): (&str, impl Backend),
        (name, dataset): (&str, D),
        requests: usize,
        load: LoadSpec,
    ) -> Self
    where
        D: Dataset + Clone + Sync + 'static,
    {
        let server = ServerSpec::At(TargetSpec::new(target));
        let wire = ProvidedSpec::new(dialect);
        let mut bench = Self::new(server, wire, (name, dataset), requests, load);
        bench.context.parts.add_backend(dialect, backend);
        bench
    }

    /// Creates a benchmark as [`at`](Self::at) does, in a dialect that works outside the measured
    /// path.
    pub fn deferred<D>(
        target: BaseUrl,
        (dialect, backend): (&str, impl DeferredBackend),
        (name, dataset): (&str, D),
        requests: usize,
        load: LoadSpec,
    ) -> Self
    where
        D: Dataset + Clone + Sync + 'static,
    {
        let server = ServerSpec::At(TargetSpec::new(target));
        let wire = ProvidedSpec::new(dialect).deferred();
        let mut bench = Self::new(server, wire, (name, dataset), requests, load);
        bench.context.parts.add_deferred_backend(dialect, backend);
        bench
    }

    /// Creates a benchmark over the program's own transport, with `requests` sessions of its own
    /// data set, sent at the times of `load`. The transport is created for each run, with the
    /// clock from which it must read its stamps.
    pub fn over<T, D>(
        (transport, create): (&str, impl Fn(MonotonicClock) -> T + Send + Sync + 'static),
        (name, dataset): (&str, D),
        requests: usize,
        load: LoadSpec,
    ) -> Self
    where
        T: Transport,
        D: Dataset + Clone + Sync + 'static,
    {
        let server = ServerSpec::Provided { name: transport.to_owned() };
        let wire = ProvidedSpec::new(transport);
        let mut bench = Self::new(server, wire, (name, dataset), requests, load);
        bench.context.parts.add_transport(transport, create);
        bench
    }

    fn new<D>(
        server: ServerSpec,
        wire: ProvidedSpec,
        (name, dataset): (&str, D),
        requests: usize,
        load: LoadSpec,
    ) -> Self
    where
        D: Dataset + Clone + Sync + 'static,
    {
        let mut context = RunContext::default();
        context.parts.add_dataset(name, dataset);
        let workload = DatasetSpec::Provided(ProvidedDatasetSpec::new(name));
        let workload = WorkloadSpec::new(workload, requests);
        let model = wire.name.clone();
        let wire = BackendSpec::Provided(wire);
        let mut plan = BenchPlan::new(server, BackendName::VllmChat, wire, workload, load);
        plan.control.ready_timeout = Duration::ZERO;
        plan.model.name = Some(model);
        plan.model.untokenized = true;
        Self { plan, context }
    }

    /// Runs the benchmark on the calling thread; see [`execute`](crate::execute()).
    pub fn run(&self) -> Result<Run, ExecuteError> {
        execute(&self.plan, &self.context)
    }

    /// Runs the benchmark on threads of its own; see [`start`](crate::start()).
    pub fn start(self) -> RunTask {
        start(self.plan, self.context)
    }
}
