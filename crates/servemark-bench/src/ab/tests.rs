use std::num::NonZeroU32;

use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_client::{BaseUrl, TargetSpec};
use servemark_core::{
    Delta, Finish, Footer, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp,
};
use servemark_datasets::{DatasetSpec, RandomSpec};
use servemark_plan::{BenchPlan, Point, ServerSpec, WorkloadSpec};
use servemark_rng::NumpyRandom;
use servemark_runner::LoadSpec;
use servemark_schedule::ArrivalSpec;

use super::*;
use crate::Run;

/// A probe whose runs have a TTFT of 100 ms on server A and `b_ms` on server B, with a spread
/// between runs.
struct Scripted {
    b_ms: f64,
    spread: f64,
    random: NumpyRandom,
}

impl Probe for Scripted {
    fn probe(&mut self, point: Point) -> Result<PointRun, SweepRunError> {
        let is_b = point.name.ends_with("side=b");
        let ms = if is_b { self.b_ms } else { 100.0 };
        let ttft_ms = ms * self.random.normal(0.0, self.spread).exp();
        let stamp = |ms: f64| Stamp::from_nanos(format!("{:.0}", ms * 1e6).parse().unwrap());
        let record = |index: usize| -> RequestRecord {
            let at = 10.0 * index as f64;
            let sample = Sample::new("", 1, 1);
            let mut recorder = Recorder::new(index, Phase::Measure, &sample, stamp(at));
            recorder.record_sent(stamp(at));
            recorder.at(stamp(at + ttft_ms)).delta(Delta::content("a"));
            recorder.finish(Ok(Finish::default()), stamp(at + ttft_ms))
        };
        let mut facts = RunFacts::default();
        facts.requests = 30;
        let header = Header::new(0, facts, serde_json::Value::Null);
        let log = RunLog::new(header, (0..30).map(record).collect(), Some(Footer::default()));
        Ok(PointRun::new(point, Run::of_log(log)))
    }
}

fn url(port: u16) -> BaseUrl {
    BaseUrl::at_host("127.0.0.1", port).unwrap()
}

fn plan() -> BenchPlan {
    let backend = BackendName::Sglang;
    BenchPlan::new(
        ServerSpec::At(TargetSpec::new(url(1))),
        backend,
        BackendSpec::new(backend, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(RandomSpec::default()), 30),
        LoadSpec::new(ArrivalSpec::Burst),
    )
}

fn ab(b_ms: f64, spread: f64, rounds: u32) -> Ab<Scripted> {
    let rounds = NonZeroU32::new(rounds).unwrap();
    let targets = Precision::list("ttft:p50+-2%").unwrap();
    let spec = AbSpec::of_two(plan(), [url(7), url(8)], rounds).until(targets);
    Ab::driving(Scripted { b_ms, spread, random: NumpyRandom::seeded(4) }, spec, 1)
}

fn run_all<P: Probe>(ab: &mut Ab<P>) -> usize {
    ab.by_ref().map(Result::unwrap).count()
}

#[test]
fn rounds_end_when_the_change_is_known() {
    let mut quiet = ab(110.0, 0.005, 10);
    let runs = run_all(&mut quiet);
    assert!((4..20).contains(&runs) && runs.is_multiple_of(2), "{runs}");
    let known = &quiet.estimates()[0];
    let percent = known.percent.unwrap();
    assert!(known.is_known && (percent - 10.0).abs() < 2.0, "{known}");
    assert_eq!(quiet.exit_code(), ExitCode::Ok);
    let sides: Vec<usize> = quiet.runs().iter().map(|run| run.side).take(4).collect();
    assert_eq!(sides, [0, 1, 1, 0]);
}

#[test]
fn rounds_that_do_not_show_it_are_undecided() {
    let mut noisy = ab(100.0, 0.2, 4);
    assert_eq!(run_all(&mut noisy), 8);
    assert!(!noisy.estimates()[0].is_known, "{}", noisy.estimates()[0]);
    assert_eq!(noisy.exit_code(), ExitCode::Undecided);
}

#[test]
fn runs_of_one_server_show_their_spread() {
    let spec = AbSpec::of_one(plan(), url(7), NonZeroU32::new(40).unwrap());
    let probe = Scripted { b_ms: 100.0, spread: 0.03, random: NumpyRandom::seeded(4) };
    let mut noise = Ab::driving(probe, spec, 1);
    assert_eq!(run_all(&mut noise), 40);
    let figure: Figure = "ttft:mean".parse().unwrap();
    let spreads = noise.spreads();
    let ttft = spreads.iter().find(|spread| spread.figure == figure).unwrap();
    assert!((2.0..4.0).contains(&ttft.percent) && ttft.runs == 40, "{ttft:?}");
    assert_eq!(noise.exit_code(), ExitCode::Ok);
}
