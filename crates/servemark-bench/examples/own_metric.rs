//! A latency of the program: from the head of the answer to its first token. It has a row in the
//! table, a place in the JSON, and a name for objectives.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use servemark::backends::{ChatSpec, CommonSpec};
use servemark::core::{Sample, Session};
use servemark::metrics::{Objective, OwnLatency};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::SloSpec;
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{Bench, Scores};

/// Time from the head of the answer to its first token.
const FIRST_AFTER_HEADERS: OwnLatency =
    OwnLatency::new("first_after_headers", "first token after headers", |record| {
        Some(record.deltas.first_at()?.since(record.headers?))
    });

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server =
        MockServer::start(MockSpec::new(Duration::from_millis(20), Duration::from_millis(1)))?;
    let chat = ChatSpec::new(CommonSpec::new("m"));
    let prompts = vec![Session::from(Sample::new("Tell me a story.", 5, 16)); 100];
    let load = LoadSpec::new(ArrivalSpec::at_rate(100.0)?);
    let target = server.base_url().parse()?;
    let mut bench = Bench::at(target, ("chat", chat), ("stories", prompts), 100, load);

    // Text forms know the latency once it is registered.
    FIRST_AFTER_HEADERS.register();
    bench.plan.scoring.own_latencies.push(FIRST_AFTER_HEADERS.name().to_owned());
    let objectives = Objective::list("first_after_headers:p50<10s")?;
    bench.plan.scoring.slo = Some(SloSpec::new(objectives));

    let run = bench.run()?;
    let scores = Scores::of(&run.log, &bench.plan.scoring);
    scores.write_tables(&mut std::io::stdout())?;
    for judgement in scores.judgements() {
        println!("{judgement}");
    }
    Ok(())
}
