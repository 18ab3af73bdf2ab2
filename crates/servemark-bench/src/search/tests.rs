//! Searches on simulated servers with a fixed number of slots, each of which serves a request for
//! one second, first come, first served. No clock is read.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::num::{NonZeroU32, NonZeroUsize};

use serde_json::Value;
use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_core::{
    ClientCost, Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog,
    Sample, ShardCost, Sink, Stamp, Usage,
};
use servemark_datasets::{DatasetSpec, RandomSpec};
use servemark_metrics::Objective;
use servemark_mock::MockSpec;
use servemark_page::GridFormat;
use servemark_plan::{
    BenchPlan, Effort, Grain, Point, SearchRange, ServerSpec, SloSpec, SloTier, WorkloadSpec,
};
use servemark_rng::RandomState;
use servemark_runner::LoadSpec;
use servemark_schedule::ArrivalSpec;

use super::*;
use crate::{ExecuteError, ExitCode, PointRun, Run};

const SECOND: u64 = 1_000_000_000;

/// A simulated server with `places` slots. It keeps the logs of its runs and fails with an
/// interruption after `survives` new runs.
struct Server {
    places: usize,
    done: RefCell<BTreeMap<String, RunLog>>,
    survives: usize,
}

impl Server {
    fn of(places: usize) -> Self {
        Self { places, done: RefCell::default(), survives: usize::MAX }
    }
}

impl Probe for &Server {
    fn probe(&mut self, point: Point) -> Result<PointRun, SweepRunError> {
        let mut done = self.done.borrow_mut();
        if done.len() >= self.survives && !done.contains_key(&point.name) {
            let source = ExecuteError::Interrupted;
            return Err(SweepRunError::Point { name: point.name, source });
        }
        let log = done.entry(point.name.clone()).or_insert_with(|| log(&point.plan, self.places));
        Ok(PointRun::new(point, Run::of_log(log.clone())))
    }
}

fn log(plan: &BenchPlan, places: usize) -> RunLog {
    let mut facts = RunFacts::default();
    "/generate".clone_into(&mut facts.api_path);
    facts.requests = plan.workload.requests;
    facts.request_rate = plan.load.arrivals.mean_rate();
    facts.max_concurrency = plan.load.max_concurrency.map(NonZeroUsize::get);
    let records = records(plan, places);
    let mut footer = Footer::default();
    footer.ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
    RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
}

fn records(plan: &BenchPlan, places: usize) -> Vec<RequestRecord> {
    let (requests, seed) = (plan.workload.requests, plan.workload.seed.into());
    let schedule =
        plan.load.arrivals.schedule(&vec![None; requests], &mut RandomState::seeded(seed)).unwrap();
    let mut free = VecDeque::from(vec![Stamp::ZERO; places]);
    let limit = plan.load.max_concurrency.map_or(requests, NonZeroUsize::get);
    let mut gate = VecDeque::from(vec![Stamp::ZERO; limit]);
    let record = |(index, due)| {
        let due = Stamp::ZERO + due;
        let sent = gate.pop_front().map_or(due, |granted: Stamp| granted.max(due));
        let begins = free.pop_front().map_or(sent, |free: Stamp| free.max(sent));
        let end = Stamp::from_nanos(begins.as_nanos() + SECOND);
        free.push_back(end);
        gate.push_back(end);
        recorded(index, due, sent, end)
    };
    schedule.iter().enumerate().map(record).collect()
}

/// Returns the record of a request whose first token comes half a second before its end.
fn recorded(index: usize, due: Stamp, sent: Stamp, end: Stamp) -> RequestRecord {
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), due);
    recorder.record_sent(sent);
    recorder.at(Stamp::from_nanos(end.as_nanos() - SECOND / 2)).delta(Delta::content("x"));
    recorder.body(end, 1);
    recorder.at(end).usage(Usage::new(Some(1), Some(1)));
    recorder.finish(Ok(Finish::default()), end)
}

fn base(arrivals: ArrivalSpec) -> BenchPlan {
    let backend = BackendName::Sglang;
    BenchPlan::new(
        ServerSpec::Simulated(MockSpec::default()),
        backend,
        BackendSpec::new(backend, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(RandomSpec::default()), 1),
        LoadSpec::new(arrivals),
    )
}

fn slo(text: &str) -> SloSpec {
    SloSpec::new(Objective::list(text).unwrap())
}

/// Returns a search over request rates with Poisson arrivals.
fn rates(objectives: &str, requests: usize) -> SloSearchSpec {
    let base = base(ArrivalSpec::at_rate(1.0).unwrap());
    let effort = Effort { requests: NonZeroUsize::new(requests), ..Effort::default() };
    SloSearchSpec::new(base, "request_rate", slo(objectives)).unwrap().with_effort(effort)
}

fn search_answer(server: &Server, spec: &SloSearchSpec) -> SloAnswer {
    let mut search = SloSearch::driving(server, spec.clone(), 1);
    search.by_ref().for_each(|round| drop(round.unwrap()));
    search.answer()
}

/// In runs of 400,000 requests, the 90th percentile is 2.00 s at 3.11 requests per second.
#[test]
fn the_rate_that_a_queue_holds_lies_between_what_holds_and_what_fails() {
    let answer = search_answer(&Server::of(4), &rates("e2el:p90<2s", 800));
    let LoadBracket { holds, fails, .. } = answer.bracket();
    assert!(holds.unwrap() <= 3.11 && 3.11 <= fails.unwrap(), "{answer}");
    let capacity = answer.tiers[0].capacity.unwrap();
    assert!((capacity.value.unwrap() / 3.11 - 1.0).abs() < 0.1, "{answer}");
    assert!(capacity.low.unwrap() <= 3.11 && 3.11 <= capacity.high.unwrap(), "{answer}");
    assert_eq!(answer.exit_code(), ExitCode::Ok);
    let trial = answer.largest_load().unwrap();
    assert!(trial.judgements[0].high < 2000.0, "{answer}");
    let requests: Vec<usize> =
        trial.rounds.iter().map(|round| round.metrics.requests.completed).collect();
    assert_eq!(requests, [800, 1600, 3200, 6400, 12_800], "the answer is tried in all rounds");
}

/// Up to four requests per second none waits; above that all wait longer and longer. The limit is
/// far beyond what one probe shows of it.
#[test]
fn more_than_a_server_can_do_never_holds_however_far_the_limit_is() {
    let answer = search_answer(&Server::of(4), &rates("ttft:p90<200s", 300));
    let holds = answer.bracket().holds.unwrap();
    assert!((3.0..=4.0).contains(&holds), "{answer}");
    // A queue that starts empty just below the capacity may grow for a whole round.
    assert!(answer.bracket().fails.unwrap() >= 3.7, "{answer}");
    let fails = answer.fails().unwrap();
    assert!(fails.growth.is_some(), "{answer}");
}

#[test]
fn the_concurrency_that_holds_is_found_to_the_request() {
    let base = base(ArrivalSpec::Burst);
    // With n requests in flight at 20 slots, each takes n / 20 s.
    let spec = SloSearchSpec::new(base, "max_concurrency", slo("e2el:p90<2100ms")).unwrap();
    let answer = search_answer(&Server::of(20), &spec);
    // With 42 in flight, one of ten takes three seconds, which is at the limit.
    let LoadBracket { holds, undecided, fails, .. } = answer.bracket();
    assert_eq!((holds, undecided, fails), (Some(41.0), Some((42.0, 42.0)), Some(43.0)), "{answer}");
    assert_eq!(answer.largest_load().unwrap().verdict(), TrialVerdict::Holds);
}

#[test]
fn several_tiers_have_an_answer_each_from_the_same_rounds() {
    let tier = |name: &str, objectives: &str| SloTier {
        name: name.to_owned(),
        objectives: Objective::list(objectives).unwrap(),
    };
    let tiers = vec![tier("chat", "e2el:p90<1200ms"), tier("batch", "e2el:p90<5s")];
    let mut spec = rates("success>=90%", 300);
    spec.tiers = tiers;
    let answer = search_answer(&Server::of(4), &spec);
    let [chat, batch] = &answer.tiers[..] else { panic!("{answer}") };
    assert!(chat.bracket.holds < batch.bracket.holds, "{answer}");
    assert!(
        answer.to_string().contains("chat:\nThe largest request_rate that holds is"),
        "{answer}"
    );
    let loads_alone = |tier: &SloTier| {
        let mut alone = spec.clone();
        alone.tiers = vec![tier.clone()];
        search_answer(&Server::of(4), &alone).trials.len()
    };
    let apart: usize = spec.tiers.iter().map(loads_alone).sum();
    // The first load is tried for both tiers. Rounds are not compared: those that one tier needs may
    // change the verdict of the other.
    assert!(answer.trials.len() <= apart, "{} loads, and {apart} apart", answer.trials.len());
    assert!(answer.trials.iter().all(|trial| trial.verdicts.len() == 2));
    let mut csv = Vec::new();
    answer.write(GridFormat::Csv, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.starts_with("request_rate,verdict_chat,verdict_batch,rounds,"), "{csv}");
    let mut json = Vec::new();
    answer.write(GridFormat::Json, &mut json).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["tiers"][1]["name"], "batch");
    assert_eq!(json["tiers"][1]["holds"], batch.bracket.holds.unwrap());
    assert_eq!(json["holds"], chat.bracket.holds.unwrap());
    assert_eq!(json["trials"][0]["verdicts"].as_array().unwrap().len(), 2);
}

#[test]
fn a_search_that_was_killed_comes_to_the_same_answer() {
    let spec = rates("e2el:p90<2s", 200);
    // Few rounds a load, so that a search can be killed after each of its runs.
    let effort = Effort { rounds: NonZeroU32::new(2).unwrap(), ..spec.effort.clone() };
    let spec = spec.with_effort(effort);
    let whole = search_answer(&Server::of(4), &spec);
    for survives in 0..whole.runs() {
        let killed = Server { survives, ..Server::of(4) };
        let begun = search_answer(&killed, &spec);
        assert_eq!((begun.is_whole, begun.exit_code()), (false, ExitCode::Interrupted));
        let begin = "The search was stopped; so far:\nNo request_rate was judged.";
        assert_eq!(begun.to_string().starts_with(begin), survives == 0, "{begun}");
        let resumed = search_answer(&Server { survives: usize::MAX, ..killed }, &spec);
        assert_eq!(resumed.to_string(), whole.to_string());
        assert_eq!(resumed.bracket(), whole.bracket());
    }
}

#[test]
fn bounds_end_a_search_and_say_so() {
    let range = |lower, upper| SearchRange::new(1.0, lower, upper, Grain::Share(0.02)).unwrap();
    let low = search_answer(&Server::of(4), &rates("e2el:p90<2s", 300).within(range(0.5, 2.0)));
    assert_eq!((low.bracket().holds, low.bracket().fails), (Some(2.0), None));
    assert!(low.to_string().contains("it is the upper bound"), "{low}");
    let none = search_answer(&Server::of(4), &rates("e2el:p90<900ms", 300).within(range(0.5, 2.0)));
    assert_eq!((none.bracket().holds, none.bracket().fails), (None, Some(0.5)));
    assert_eq!(none.exit_code(), ExitCode::GateFailed);
    assert!(none.to_string().starts_with("No request_rate from 0.5 on holds."), "{none}");
}

#[test]
fn what_stays_undecided_neither_holds_nor_fails() {
    let few = rates("e2el:p99<2s", 60)
        .within(SearchRange::new(1.0, 1.0, 1.0, Grain::Share(0.02)).unwrap());
    let mut effort = few.effort.clone();
    effort.rounds = NonZeroU32::new(2).unwrap();
    let answer = search_answer(&Server::of(4), &few.with_effort(effort));
    let LoadBracket { holds, undecided, fails, .. } = answer.bracket();
    assert_eq!((holds, undecided, fails), (None, Some((1.0, 1.0)), None));
    assert!(answer.to_string().starts_with("No request_rate was found that holds."), "{answer}");
    let trial = &answer.trials[0];
    assert_eq!((trial.verdict(), trial.rounds.len()), (TrialVerdict::Undecided, 2));
    assert_eq!(answer.exit_code(), ExitCode::Undecided);
    let message = "request_rate is undecided at 1: all rounds are used up.";
    assert!(answer.to_string().contains(message), "{answer}");
}

#[test]
fn every_form_has_every_load() {
    let answer = search_answer(&Server::of(4), &rates("e2el:p90<2s,success>=90%", 300));
    let written = |format| {
        let mut out = Vec::new();
        answer.write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let csv = written(GridFormat::Csv);
    let head = "request_rate,verdict,rounds,requests,e2el_p90,e2el_p90_low,e2el_p90_high,success,";
    assert!(csv.starts_with(head), "{csv}");
    assert_eq!(csv.lines().count(), 1 + answer.trials.len());
    let json: Value = serde_json::from_str(&written(GridFormat::Json)).unwrap();
    assert_eq!(json["holds"], answer.bracket().holds.unwrap());
    assert_eq!(json["fails"], answer.bracket().fails.unwrap());
    let capacity = answer.tiers[0].capacity.unwrap();
    assert_eq!(json["capacity"]["value"], capacity.value.unwrap());
    assert_eq!(json["capacity"]["confidence"], 0.95);
    assert!(json["undecided"].is_array() || json["undecided"].is_null());
    assert_eq!(json["trials"][0]["judgements"][0]["objective"], "e2el:p90<2000ms");
    assert_eq!(json["trials"][0]["verdict"], "holds");
    let page = written(GridFormat::Html);
    assert!(page.contains("id=\"plot-objective-0\""), "{page}");
    let table = written(GridFormat::Markdown);
    assert!(table.contains("The largest request_rate that holds is"), "{table}");
    assert!(table.contains("\nCapacity: "), "{table}");
}

/// A client that reads all the time has no spare time in which to observe the server.
#[test]
fn rounds_in_which_the_client_was_the_limit_are_not_judged() {
    struct Busy<'a>(&'a Server);
    impl Probe for Busy<'_> {
        fn probe(&mut self, point: Point) -> Result<PointRun, SweepRunError> {
            let mut done = (&mut &*self.0).probe(point)?;
            let mut shard = ShardCost::default();
            shard.cpu_ns = 99 * SECOND;
            let mut machine = ClientCost::new(SECOND, 100 * SECOND);
            machine.shards = vec![shard];
            let mut footer = done.run.log.footer().unwrap().clone();
            footer.client = Some(machine);
            let log = &done.run.log;
            let records = log.measured().cloned().collect();
            let log = RunLog::new(log.header().clone(), records, Some(footer));
            done.run = Run::of_log(log);
            Ok(done)
        }
    }
    let server = Server::of(4);
    let range = SearchRange::new(1.0, 1.0, 1.0, Grain::Share(0.02)).unwrap();
    let spec = rates("e2el:p90<2s", 300).within(range);
    let mut search = SloSearch::driving(Busy(&server), spec, 1);
    let last = search.by_ref().map(Result::unwrap).last().unwrap();
    assert_eq!((last.verdict(), last.usable), (TrialVerdict::ClientLimited, 0));
    assert!(last.to_string().contains("client-limited by 0 requests of 0 in 5 rounds"), "{last}");
    assert!(search.answer().to_string().contains("the server may do more"));
}
