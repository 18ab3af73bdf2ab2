//! Ranks in threads of one process.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle, scope};
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::client::TargetSpec;
use servemark::core::{RankMachine, Sample, Session};
use servemark::datasets::{DatasetSpec, ProvidedDatasetSpec};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark::runner::LoadSpec;
use servemark::{ExecuteError, RankError, RankGroup, Run, RunContext, execute};
use servemark_cluster::{
    Concurrency, Coordinator, Gather, InProcess, LeadGroup, LeadSpec, MemberGroup, MemberSpec,
    RankEvent,
};

/// A group of ranks that measure one simulator.
pub(crate) struct Ranks {
    pub(crate) server: MockServer,
    pub(crate) world: usize,
    pub(crate) coordinator: InProcess,
    pub(crate) gather: Gather,
    pub(crate) concurrency: Concurrency,
    pub(crate) events: Mutex<Vec<RankEvent>>,
    /// Prompt of the data set on each rank; the ranks beyond have that of rank 0.
    pub(crate) prompts: Vec<&'static str>,
}

impl Ranks {
    pub(crate) fn new(ranks: usize) -> Self {
        let mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(500));
        Self {
            server: MockServer::start(mock).unwrap(),
            world: ranks,
            coordinator: InProcess::default(),
            gather: Gather::Records,
            concurrency: Concurrency::Split,
            events: Mutex::default(),
            prompts: vec!["Tell me a story."],
        }
    }

    /// Creates a group whose server takes its time, so that messages arrive while requests are
    /// answered.
    pub(crate) fn slow(ranks: usize) -> Self {
        let mock = MockSpec::new(Duration::from_millis(60), Duration::from_millis(30));
        Self { server: MockServer::start(mock).unwrap(), ..Self::new(ranks) }
    }

    /// Returns a plan of `requests` conversations of two turns each.
    pub(crate) fn plan(&self, requests: usize, load: LoadSpec) -> BenchPlan {
        let target = TargetSpec::new(self.server.base_url().parse().unwrap());
        let dataset = DatasetSpec::Provided(ProvidedDatasetSpec::new("stories"));
        let wire = BackendSpec::new(BackendName::VllmChat, CommonSpec::new("mock"));
        let workload = WorkloadSpec::new(dataset, requests);
        let server = ServerSpec::At(target);
        let mut plan = BenchPlan::new(server, BackendName::VllmChat, wire, workload, load);
        plan.model.name = Some("mock".to_owned());
        plan.model.untokenized = true;
        plan
    }

    fn context(&self, rank: usize) -> RunContext {
        let mut context = RunContext::default();
        let prompt = self.prompts.get(rank).unwrap_or(&self.prompts[0]);
        let sessions: Vec<Session> =
            (0..1000).map(|n| Session::from(Sample::new(format!("{prompt} {n}"), 5, 3))).collect();
        context.parts.add_dataset("stories", sessions);
        context
    }

    fn carrier(&self) -> Arc<dyn Coordinator> {
        Arc::new(self.coordinator.clone())
    }

    /// Opens rank 0, whose other ranks must be joining.
    pub(crate) fn lead(&self, patience: Duration) -> Result<LeadGroup, RankError> {
        self.lead_by(self.carrier(), patience)
    }

    /// Opens rank 0 on another coordinator.
    pub(crate) fn lead_by(
        &self,
        coordinator: Arc<dyn Coordinator>,
        patience: Duration,
    ) -> Result<LeadGroup, RankError> {
        // The events are read when the group is gone, so they are passed on by a channel.
        let (events, received) = std::sync::mpsc::channel();
        let spec = LeadSpec {
            name: "test".to_owned(),
            ranks: NonZeroUsize::new(self.world).unwrap(),
            machine: machine(0),
            gather: self.gather,
            concurrency: self.concurrency,
            patience,
            on_event: Box::new(move |event| drop(events.send(event))),
        };
        let group = LeadGroup::open(coordinator, spec);
        self.events.lock().unwrap().extend(received.try_iter());
        group
    }

    pub(crate) fn member(&self, rank: usize, patience: Duration) -> Result<MemberGroup, RankError> {
        self.member_by(self.carrier(), rank, patience)
    }

    /// Joins as a rank other than 0 on another coordinator.
    pub(crate) fn member_by(
        &self,
        coordinator: Arc<dyn Coordinator>,
        rank: usize,
        patience: Duration,
    ) -> Result<MemberGroup, RankError> {
        let spec = MemberSpec {
            name: "test".to_owned(),
            rank,
            ranks: NonZeroUsize::new(self.world).unwrap(),
            machine: machine(rank),
            patience,
        };
        MemberGroup::join(coordinator, spec)
    }

    /// Executes plans on all ranks; returns the results of rank 0, and those of the other ranks.
    pub(crate) fn execute(&self, plans: &[BenchPlan]) -> (Vec<Outcome>, Vec<Vec<Outcome>>) {
        scope(|scope| {
            let members: Vec<_> = (1..self.world).map(|rank| self.serve(scope, rank)).collect();
            let lead = self.lead(PATIENCE).unwrap();
            let mut context = self.context(0);
            context.ranks = Some(Arc::new(lead));
            let runs = plans.iter().map(|plan| execute(plan, &context)).collect();
            drop(context);
            (runs, members.into_iter().map(|member| member.join().unwrap()).collect())
        })
    }

    /// Executes every plan of rank 0 on another rank.
    pub(crate) fn serve<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        rank: usize,
    ) -> ScopedJoinHandle<'scope, Vec<Outcome>> {
        scope.spawn(move || {
            let group = Arc::new(self.member(rank, PATIENCE).unwrap());
            let mut context = self.context(rank);
            context.ranks = Some(Arc::clone(&group) as Arc<dyn RankGroup>);
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut runs = Vec::new();
            while let Some(assigned) = runtime.block_on(group.next_run()).unwrap() {
                runs.push(execute(&assigned.plan, &context));
            }
            runs
        })
    }
}

fn machine(rank: usize) -> RankMachine {
    RankMachine { host: format!("host-{rank}"), cores: 2 + rank, open_files: Some(1 << 20) }
}

pub(crate) type Outcome = Result<Run, ExecuteError>;

/// Time for a machine with other work to get everything under way.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Sets the path of a plan's run log.
pub(crate) fn logged(mut plan: BenchPlan, path: &Path) -> BenchPlan {
    plan.output.run_log = Some(path.to_owned());
    plan
}
