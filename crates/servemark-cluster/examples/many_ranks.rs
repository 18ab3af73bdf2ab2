//! Joins, starts and gathers many ranks over a real NATS server, and measures what that costs.
//!
//! ```text
//! nats-server --addr 127.0.0.1 --port 4222 --http_port 8222
//! cargo run --release -p servemark-cluster --features nats --example many_ranks -- 1000
//! ```
//!
//! The ranks are threads of this program, each with a connection of its own. They measure nothing:
//! each has the records of a hundred requests as its result.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::client::TargetSpec;
use servemark::core::{
    Clock, Delta, Finish, Footer, Header, MonotonicClock, Phase, RankFacts, RankMachine, Ranks,
    Recorder, RunFacts, RunLog, Sample, Sink, Stamp,
};
use servemark::datasets::{DatasetSpec, ProvidedDatasetSpec};
use servemark::plan::{BenchPlan, ServerSpec, WorkloadSpec};
use servemark::runner::{LoadSpec, StopHandle};
use servemark::schedule::ArrivalSpec;
use servemark::{LoadDigest, RankError, RankGroup, RankRun, Run};
use servemark_cluster::{
    Concurrency, Gather, LeadGroup, LeadSpec, MemberGroup, MemberSpec, Nats, NatsAccess,
};

const REQUESTS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(120);
const MEASUREMENT: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let ranks = args.next().map_or(Ok(1000), |ranks| ranks.parse::<usize>())?;
    let ranks = NonZeroUsize::new(ranks).ok_or("at least one rank is needed")?;
    let url = args.next().unwrap_or_else(|| "nats://127.0.0.1:4222".to_owned());
    let clock = MonotonicClock::start();
    let members: Vec<_> =
        (1..ranks.get()).map(|rank| member(&url, rank, ranks, clock)).collect::<Result<_, _>>()?;
    let lead = LeadGroup::open(
        Arc::new(Nats::connect(&url, &NatsAccess::default(), PATIENCE)?),
        LeadSpec {
            name: NAME.to_owned(),
            ranks,
            machine: machine(0),
            gather: Gather::Records,
            concurrency: Concurrency::Split,
            patience: PATIENCE,
            on_event: Box::new(|_| ()),
        },
    )?;
    println!("joined        {ranks} ranks in {:.2} s", clock.now().as_secs_f64());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let began = clock.now();
    let (start, run) = runtime.block_on(take_part(&lead, 0, ranks, clock))?;
    println!(
        "run           {:.2} s, of which {} s of measurement",
        clock.now().since(began).as_secs_f64(),
        MEASUREMENT.as_secs()
    );
    println!(
        "gathered      {} requests of {} ranks",
        run.log.measured().count(),
        run.log.header().ranks.as_ref().map_or(0, Ranks::present)
    );
    lead.close();
    let mut skews: Vec<u128> = Vec::new();
    for member in members {
        let other = member.join().map_err(|_| "a rank panicked")??;
        let later = other.since(start).max(start.since(other));
        skews.push(later.as_nanos());
    }
    skews.sort_unstable();
    let at = |share: usize| skews.get(skews.len() * share / 100).copied().unwrap_or_default();
    println!(
        "start         within {:.3} ms of rank 0's at the median, {:.3} ms at p99",
        at(50) as f64 / 1e6,
        at(99) as f64 / 1e6
    );
    Ok(())
}

const NAME: &str = "many";

/// Starts another rank; its result is when its measurement began, on the clock of the program.
fn member(
    url: &str,
    rank: usize,
    ranks: NonZeroUsize,
    clock: MonotonicClock,
) -> std::io::Result<JoinHandle<Result<Stamp, RankError>>> {
    let url = url.to_owned();
    let work = move || {
        let coordinator = Arc::new(Nats::connect(&url, &NatsAccess::default(), PATIENCE)?);
        let spec = MemberSpec {
            name: NAME.to_owned(),
            rank,
            ranks,
            machine: machine(rank),
            patience: PATIENCE,
        };
        let group = MemberGroup::join(coordinator, spec)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| RankError::new(error.to_string(), servemark::ExitCode::Internal))?;
        runtime.block_on(async {
            group.next_run().await?;
            take_part(&group, rank, ranks, clock).await.map(|(start, _)| start)
        })
    };
    Builder::new().stack_size(1 << 20).spawn(work)
}

/// Takes the steps of a run without sending anything.
async fn take_part(
    group: &dyn RankGroup,
    rank: usize,
    ranks: NonZeroUsize,
    clock: MonotonicClock,
) -> Result<(Stamp, Run), RankError> {
    let run = RankRun {
        plan: plan(),
        clock,
        live: Arc::default(),
        stop: StopHandle::new(),
        places: None,
    };
    let name = group.begin(run).await?;
    let digest =
        LoadDigest { sessions: 1, requests: "same".to_owned(), schedule: "same".to_owned() };
    group.agree(digest).await?;
    let start = group.start().await?;
    let until = |at| tokio::time::sleep_until(tokio::time::Instant::from_std(clock.instant(at)));
    until(start.at).await;
    let (began, used_before) = (clock.now(), cpu_seconds());
    until(start.at + MEASUREMENT).await;
    if rank == 0 {
        let used = (cpu_seconds() - used_before) / clock.now().since(began).as_secs_f64();
        let each = 100.0 * used / ranks.get() as f64;
        println!("coordination  {each:.3} % of a core per rank during the measurement");
    }
    let rank_clock = group.drained().await?;
    let log = log(rank, ranks, &name, start.at);
    let mut footer = Footer::default();
    footer.began = Some(start.at);
    footer.ended = start.at;
    footer.rank_clock = rank_clock;
    let log = RunLog::new(log.header().clone(), log.records().to_vec(), Some(footer));
    let run = group.gather(Run::of_log(log.with_start(Some(start)))).await?;
    Ok((start.at, run))
}

fn machine(rank: usize) -> RankMachine {
    RankMachine { host: format!("host-{rank}"), cores: 1, open_files: None }
}

/// Returns the seconds of CPU that all threads of this program have used, from Linux's count of
/// hundredths.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns a log of a hundred short requests.
fn log(rank: usize, ranks: NonZeroUsize, name: &str, start: Stamp) -> RunLog {
    let record = |n: usize| {
        let index = rank + n * ranks.get();
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 16, 20), start);
        recorder.record_sent(start);
        for piece in 1..=20_u64 {
            let at = start + Duration::from_millis(10 * piece);
            recorder.at(at).delta(Delta::content("word"));
        }
        recorder.finish(Ok(Finish::default()), start + Duration::from_millis(200))
    };
    let mut facts = RunFacts::default();
    facts.requests = REQUESTS;
    let mut whole = facts.clone();
    whole.requests = REQUESTS * ranks.get();
    let mut header = Header::new(0, facts, plan().to_json());
    let RankMachine { host, open_files, .. } = machine(rank);
    let (run, ranks) = (name.to_owned(), ranks.get());
    header.rank = Some(Box::new(RankFacts { run, rank, ranks, host, open_files, whole }));
    RunLog::new(header, (0..REQUESTS).map(record).collect(), None)
}

fn plan() -> BenchPlan {
    let target = "http://127.0.0.1:9".parse().map(TargetSpec::new).expect("it is a URL");
    let dataset = DatasetSpec::Provided(ProvidedDatasetSpec::new("none"));
    let wire = BackendSpec::new(BackendName::VllmChat, CommonSpec::new("none"));
    let (server, workload) = (ServerSpec::At(target), WorkloadSpec::new(dataset, 1));
    let load = LoadSpec::new(ArrivalSpec::Burst);
    BenchPlan::new(server, BackendName::VllmChat, wire, workload, load)
}
