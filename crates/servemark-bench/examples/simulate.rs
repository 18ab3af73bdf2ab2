//! A complete benchmark against the bundled simulator with the library: plan, run, table.

use std::io::stdout;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::core::NoProgress;
use servemark::datasets::{DatasetSpec, RandomSpec, Source};
use servemark::mock::MockSpec;
use servemark::plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{RunContext, Scores, execute};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = MockSpec::new(Duration::from_millis(50), Duration::from_millis(10));
    let mut prompts = RandomSpec::default();
    (prompts.source, prompts.input_tokens, prompts.output_tokens) = (Source::Vocabulary, 64, 64);
    let backend = BackendName::Sglang;
    let plan = BenchPlan::new(
        ServerSpec::Simulated(server),
        backend,
        BackendSpec::new(backend, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(prompts), 200),
        LoadSpec::new(ArrivalSpec::at_rate(100.0)?),
    );
    let run = execute(&plan, &RunContext::new(Arc::new(NoProgress)))?;
    Scores::of(&run.log, &plan.scoring).write_tables(&mut stdout())?;
    Ok(())
}
