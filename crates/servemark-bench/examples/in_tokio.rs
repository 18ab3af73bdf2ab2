//! A benchmark inside an asynchronous program: progress, every record as it ends, a time limit
//! that cancels the run, and the p99 TTFT at the end.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::core::{Progress, RequestRecord};
use servemark::datasets::{DatasetSpec, RandomSpec, Source};
use servemark::metrics::{MetricPolicy, Metrics};
use servemark::mock::MockSpec;
use servemark::plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{RunContext, RunEvent, RunObserver, start};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Passes the outcome of every request to the program.
struct Outcomes(UnboundedSender<bool>);

impl Progress for Outcomes {
    fn begin(&self, work: &str, total: u64) {
        println!("{work}: {total}");
    }

    fn advance(&self, _steps: u64) {}

    fn end(&self) {}
}

impl RunObserver for Outcomes {
    fn on_event(&self, event: &RunEvent<'_>) {
        println!("{event}");
    }

    fn on_record(&self, record: &RequestRecord) {
        // The program may have stopped listening.
        let _ = self.0.send(record.is_success());
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = MockSpec::new(Duration::from_millis(20), Duration::from_millis(2));
    let mut prompts = RandomSpec::default();
    (prompts.source, prompts.input_tokens, prompts.output_tokens) = (Source::Vocabulary, 32, 16);
    let plan = BenchPlan::new(
        ServerSpec::Simulated(server),
        BackendName::VllmChat,
        BackendSpec::new(BackendName::VllmChat, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(prompts), 100),
        LoadSpec::new(ArrivalSpec::at_rate(100.0)?),
    );
    let (outcomes, mut results) = unbounded_channel();
    let task = start(plan, RunContext::new(Arc::new(Outcomes(outcomes))));
    let counting = tokio::spawn(async move {
        let mut succeeded = 0;
        while let Some(is_success) = results.recv().await {
            succeeded += usize::from(is_success);
        }
        succeeded
    });
    // A task that is dropped, as by this time limit, sends nothing more.
    let run = tokio::time::timeout(Duration::from_secs(60), task).await??;
    println!("{} requests succeeded", counting.await?);
    let metrics = Metrics::score(&run.log, &MetricPolicy::native());
    match metrics.latencies.ttft.percentile_ms(99.0) {
        Some(p99) => println!("p99 TTFT: {p99:.1} ms"),
        None => println!("p99 TTFT: the run is too short for it"),
    }
    Ok(())
}
