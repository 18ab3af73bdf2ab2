use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use servemark::core::{RequestRecord, RunLog, Stamp};
use servemark::metrics::Precision;
use servemark::mock::MockSpec;
use servemark::plan::{BenchPlan, ServerSpec, UntilSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{ExitCode, Run, Scores};
use servemark_cluster::{Concurrency, Gather};

use crate::group::{Ranks, logged};

const REQUESTS: usize = 60;

fn poisson() -> LoadSpec {
    LoadSpec::new(ArrivalSpec::at_rate(200.0).unwrap())
}

/// Returns position and due time of every measured request, counted from the start.
fn due(log: &RunLog) -> Vec<(usize, Duration)> {
    let began = log.footer().unwrap().began.unwrap();
    let due = |record: &RequestRecord| (record.index, record.scheduled.since(began));
    log.measured().map(due).collect()
}

fn only(runs: Vec<crate::group::Outcome>) -> Run {
    let [run] = <[_; 1]>::try_from(runs).unwrap();
    run.unwrap()
}

#[test]
fn any_number_of_ranks_sends_the_same_requests_at_the_same_times() {
    let expected = {
        let ranks = Ranks::new(1);
        let run = only(ranks.execute(&[ranks.plan(REQUESTS, poisson())]).0);
        due(&run.log)
    };
    assert_eq!(expected.len(), REQUESTS);
    for count in [2, 3, 8] {
        let ranks = Ranks::new(count);
        let (runs, others) = ranks.execute(&[ranks.plan(REQUESTS, poisson())]);
        let run = only(runs);
        assert_eq!(due(&run.log), expected, "{count} ranks");
        assert!(run.log.measured().all(RequestRecord::is_success));
        assert!(run.log.is_complete());
        let members = &run.log.header().ranks.as_ref().unwrap().members;
        assert_eq!(members.iter().map(|member| member.recorded).sum::<usize>(), REQUESTS);
        assert!(members.iter().all(|member| member.lost.is_none()));
        assert!(members.iter().all(|member| member.start_late_ns.is_some()));
        assert!(members.iter().all(|member| member.machine.open_files == Some(1 << 20)));
        for (rank, runs) in (1..).zip(others) {
            let own = only(runs);
            assert!(own.log.measured().all(|record| record.index % count == rank));
            assert_eq!(own.log.measured().count(), members[rank].recorded);
        }
    }
}

fn page(log: &RunLog, plan: &BenchPlan) -> String {
    let mut out = Vec::new();
    Scores::of(log, &plan.scoring).write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_report_is_that_of_the_logs_of_all_ranks_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.runlog.jsonl");
    let ranks = Ranks { gather: Gather::Logs, ..Ranks::new(3) };
    let plan = logged(ranks.plan(REQUESTS, poisson()), &path);
    let run = only(ranks.execute(std::slice::from_ref(&plan)).0);
    let read = |name: &str| RunLog::read(&folder.path().join(name)).unwrap();
    let parts = [
        "run.rank2.runlog.jsonl",
        "run.rank0.runlog.jsonl",
        // The rank's own log took this name, so the gathered copy has a number.
        "run.rank1_2.runlog.jsonl",
    ];
    assert_eq!(run.run_log.as_deref(), Some(Path::new(&path)));
    let merged = RunLog::merged(parts.map(read).into()).unwrap();
    let expected = page(&run.log, &plan);
    assert_eq!(page(&merged, &plan), expected);
    assert_eq!(page(&read("run.runlog.jsonl"), &plan), expected);
    // A gathered log is whole.
    let [own, copy] = ["run.rank1.runlog.jsonl", "run.rank1_2.runlog.jsonl"].map(read);
    assert_eq!(own.records(), copy.records());
    assert!(own.measured().all(|record| !record.text.is_empty()));
}

#[test]
fn the_ranks_start_together_and_know_each_others_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.runlog.jsonl");
    let ranks = Ranks::new(3);
    let plan = logged(ranks.plan(30, LoadSpec::new(ArrivalSpec::Burst)), &path);
    let run = only(ranks.execute(&[plan]).0);
    let logs = [0, 1, 2].map(|rank| {
        RunLog::read(&folder.path().join(format!("run.rank{rank}.runlog.jsonl"))).unwrap()
    });
    // The ranks of this test are on one machine, so the wall clock tells how their clocks differ.
    let of_wall = |log: &RunLog| i128::from(log.header().clock_started_unix_ns);
    for log in &logs {
        let clock = log.start().unwrap().clock;
        let truth = of_wall(log) - of_wall(&logs[0]);
        let error = (i128::from(clock.offset_ns) - truth).unsigned_abs();
        // The two clocks are read one after the other when a run begins.
        assert!(error < 2_000_000, "{error} ns");
        let start = |log: &RunLog| of_wall(log) + i128::from(log.start().unwrap().at.as_nanos());
        assert!((start(log) - start(&logs[0])).unsigned_abs() < 2_000_000);
    }
    let ranks = run.log.header().ranks.clone().unwrap();
    assert!(ranks.members.iter().all(|member| member.clock_before.is_some()));
    assert_eq!(ranks.members.iter().filter(|member| member.clock_after.is_some()).count(), 2);
}

#[test]
fn a_closed_loop_is_split_and_several_runs_follow_each_other() {
    let ranks = Ranks::new(3);
    let mut closed = LoadSpec::new(ArrivalSpec::Burst);
    closed.max_concurrency = NonZeroUsize::new(4);
    let plans = [ranks.plan(REQUESTS, closed.clone()), ranks.plan(9, closed)];
    let (runs, others) = ranks.execute(&plans);
    let counts: Vec<usize> =
        runs.iter().map(|run| run.as_ref().unwrap().log.measured().count()).collect();
    assert_eq!(counts, [REQUESTS, 9]);
    let limits =
        others.iter().map(|runs| runs[0].as_ref().unwrap().log.header().facts.max_concurrency);
    assert_eq!(limits.collect::<Vec<_>>(), [Some(1), Some(1)]);
    // Rank 1 has one place, so its requests follow each other.
    let own = &others[0][0].as_ref().unwrap().log;
    let mut ended = None;
    for record in own.measured() {
        assert!(ended.is_none_or(|ended| record.granted.unwrap() >= ended));
        ended = Some(record.ended);
    }
}

#[test]
fn shared_places_go_to_the_ranks_that_need_them_and_never_exceed_the_limit() {
    let ranks = Ranks { concurrency: Concurrency::Shared, ..Ranks::slow(3) };
    let mut closed = LoadSpec::new(ArrivalSpec::Burst);
    closed.max_concurrency = NonZeroUsize::new(4);
    let (runs, _) = ranks.execute(&[ranks.plan(48, closed)]);
    let log = only(runs).log;
    assert_eq!(log.measured().filter(|record| record.is_success()).count(), 48);
    let most_in_flight = |is_counted: fn(usize) -> bool| {
        let counted = log.measured().filter(|record| is_counted(record.index % 3));
        let mut changes: Vec<(Stamp, i32)> =
            counted.flat_map(|record| [(record.granted.unwrap(), 1), (record.ended, -1)]).collect();
        // The clocks of the ranks agree to some microseconds, so an end counts before a beginning.
        changes.sort_unstable();
        let in_flight = changes.into_iter().scan(0, |in_flight, (_, change)| {
            *in_flight += change;
            Some(*in_flight)
        });
        in_flight.max().unwrap_or_default()
    };
    assert_eq!(most_in_flight(|_| true), 4);
    // Rank 0 has two places and ends first; its places go to the others, which began with two.
    assert!(most_in_flight(|rank| rank > 0) > 2);
}

#[test]
fn what_the_ranks_cannot_share_is_refused_before_anything_is_sent() {
    let ranks = Ranks::new(3);
    let mut narrow = LoadSpec::new(ArrivalSpec::Burst);
    narrow.max_concurrency = NonZeroUsize::new(2);
    let mut waves = narrow.clone();
    (waves.in_waves, waves.max_concurrency) = (true, NonZeroUsize::new(6));
    let mut simulated = ranks.plan(9, LoadSpec::new(ArrivalSpec::Burst));
    simulated.server = ServerSpec::Simulated(MockSpec::default());
    let mut precise = ranks.plan(9, LoadSpec::new(ArrivalSpec::Burst));
    precise.scoring.until = Some(UntilSpec::new(Precision::list("ttft:mean+-5%").unwrap()));
    let plans = [ranks.plan(9, narrow), ranks.plan(9, waves), simulated, precise];
    let (runs, others) = ranks.execute(&plans);
    let messages: Vec<String> = runs.into_iter().map(|run| run.unwrap_err().to_string()).collect();
    assert!(messages[0].contains("use at most 2 ranks"), "{messages:?}");
    assert!(messages[1].contains("waves"), "{messages:?}");
    assert!(messages[2].contains("start `servemark mock-server` and give its URL"), "{messages:?}");
    assert!(messages[3].contains("`scoring.until` ends a run by the requests"), "{messages:?}");
    assert!(others.iter().all(Vec::is_empty));
}

#[test]
fn ranks_that_drew_different_requests_do_not_start() {
    let ranks = Ranks { prompts: vec!["Tell me a story.", "Tell me another."], ..Ranks::new(2) };
    let (runs, others) = ranks.execute(&[ranks.plan(REQUESTS, poisson())]);
    let error = runs.into_iter().next().unwrap().unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("rank 1 (host-1) drew other requests (SHA-256 "), "{message}");
    assert_eq!(error.exit_code(), ExitCode::Usage);
    let other = others[0][0].as_ref().unwrap_err().to_string();
    assert!(other.contains("the run does not take place: rank 1 (host-1) drew"), "{other}");
}
