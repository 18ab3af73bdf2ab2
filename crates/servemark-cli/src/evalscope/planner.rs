//! Converts runs into plans.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use servemark_core::JsonObject;
use servemark_plan::{BenchPlan, ControlSpec, Isolation, NamedPlan, SweepSpec};

use super::args::{DatasetArgs, EvalscopeArgs, LoadArgs, SamplingArgs};
use super::resolved::{ResolvedArgs, Step};
use super::sla::SlaSearch;
use super::{Consumed, WORDS, dataset, load, namespace, output, server, wire};
use crate::argparse::ParsedCommandLine;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::at_least;
use crate::words::refuse;

/// Makes the plans of all runs of a command line.
#[derive(Clone, Debug)]
pub(super) struct Planner {
    args: EvalscopeArgs,
    resolved: ResolvedArgs,
    environment: Environment,
    control: ControlSpec,
    namespace: JsonObject,
    seed: u32,
    offset: u64,
    /// Folder of all results.
    pub(super) folder: PathBuf,
}

/// Seed of a run, and the position at which its random prompts begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawPosition {
    /// Seed, which all runs share.
    pub(super) seed: u32,
    /// Position in the vocabulary: `--dataset-offset`, and one more for each request of earlier
    /// runs.
    pub(super) offset: u64,
}

impl Planner {
    pub(super) fn new(
        args: EvalscopeArgs,
        resolved: ResolvedArgs,
        given: &ParsedCommandLine,
        environment: &Environment,
    ) -> Result<Self, CliError> {
        Ok(Self {
            control: server::control(&args, &resolved, given)?,
            namespace: namespace::namespace(&args, &resolved)?,
            seed: seed(args.sampling.seed, environment)?,
            offset: at_least(DatasetArgs::DATASET_OFFSET, 0, args.dataset.dataset_offset)?,
            folder: output::folder(&args, environment),
            args,
            resolved,
            environment: environment.clone(),
        })
    }

    /// Returns whether the folder of all results is named after the time of the start.
    pub(super) fn is_dated(&self) -> bool {
        !self.args.output.no_timestamp
    }

    /// Returns the runs of a sweep, or the first ones of a search. Each run continues at the
    /// position in the vocabulary and with the state of the random generators that the run before
    /// it left.
    pub(super) fn sweep(&self, search: Option<&SlaSearch>) -> Result<Vec<NamedPlan>, CliError> {
        if let Some(search) = search {
            return Ok(self.probe(search, search.first(), &Consumed::default())?.0);
        }
        let mut used = Consumed::default();
        let steps = self.resolved.steps();
        check_apart(&steps)?;
        let plans = steps.into_iter().map(|step| {
            let named = self.named_plan(step, &self.folder.join(step.name()), &used)?;
            used.add(step, &named.plan);
            Ok(named)
        });
        plans.collect()
    }

    /// Returns a sweep of the plans, with a pause of `--sleep-interval` between two runs.
    pub(super) fn spec(&self, plans: Vec<NamedPlan>) -> Result<SweepSpec, CliError> {
        let rest = at_least(LoadArgs::SLEEP_INTERVAL, 0, self.args.load.sleep_interval)?;
        let isolation = Isolation::none().with_cool_down(Duration::from_secs(rest));
        Ok(SweepSpec::listed(plans).isolated(isolation))
    }

    /// Returns the runs of a search at one load, and what is used up after them.
    pub(super) fn probe(
        &self,
        search: &SlaSearch,
        load: u32,
        used: &Consumed,
    ) -> Result<(Vec<NamedPlan>, Consumed), CliError> {
        let mut used = used.clone();
        let (step, tuning) = (search.step(load), self.folder.join("sla_tuning"));
        let runs = (0..search.runs).map(|run| {
            let name = format!("sla_{}_{load}_run_{run}", search.variable.as_str());
            let named = self.named_plan(step, &tuning.join(name), &used)?;
            used.add(step, &named.plan);
            Ok(named)
        });
        let runs = runs.collect::<Result<_, CliError>>()?;
        Ok((runs, used))
    }

    fn named_plan(
        &self,
        step: Step,
        folder: &Path,
        used: &Consumed,
    ) -> Result<NamedPlan, CliError> {
        let plan = self.plan(step, folder, used)?;
        let settings = if step.is_open {
            ("rate".to_owned(), json!(step.rate))
        } else {
            ("parallel".to_owned(), json!(step.parallel))
        };
        let mut named =
            NamedPlan::new(vec![settings, ("number".to_owned(), json!(step.number))], plan);
        named.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(named)
    }

    fn plan(&self, step: Step, folder: &Path, used: &Consumed) -> Result<BenchPlan, CliError> {
        let (args, resolved) = (&self.args, &self.resolved);
        let place = DrawPosition { seed: self.seed, offset: self.offset + used.requests };
        let mut plan = BenchPlan::new(
            server::server(args, resolved)?,
            wire::backend(resolved),
            wire::wire(args, resolved, &self.environment)?,
            dataset::workload(args, resolved, step, place, &self.environment)?,
            load::load(args, resolved, step)?,
        );
        plan.workload.after.clone_from(&used.drawn);
        plan.control = self.control.clone();
        plan.model = server::model(args);
        plan.scoring = output::scoring(args, resolved)?;
        args.until.apply(&mut plan)?;
        plan.output = output::output(folder);
        let rendered = folder.to_string_lossy();
        plan.echo = namespace::of_run(self.namespace.clone(), step, &rendered, place.offset);
        plan.check().map_err(refuse(WORDS))?;
        Ok(plan)
    }
}

/// Refuses two runs with the same folder.
fn check_apart(steps: &[Step]) -> Result<(), CliError> {
    let mut names: Vec<String> = steps.iter().map(Step::name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| {
        let why = "is asked for twice, and its folder holds one run; change one of the two";
        Err(CliError::Peer(format!("{} {why}", pair[0])))
    })
}

/// Returns the seed. evalscope draws without a seed if none is given; here one is chosen, so that
/// the run log contains it.
fn seed(given: Option<i64>, environment: &Environment) -> Result<u32, CliError> {
    given.map_or(Ok(environment.seed()), |seed| at_least(SamplingArgs::SEED, 0, seed))
}
