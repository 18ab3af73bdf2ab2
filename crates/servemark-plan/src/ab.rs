//! A plan that is run against two servers in turn until their difference is known, or repeatedly
//! against one server to measure the spread between identical runs.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::json;
use servemark_metrics::Precision;
use servemark_target::BaseUrl;

use crate::{BenchPlan, Isolation, Point, UntilSpec};

/// Runs of one plan against one server or two, in rounds.
///
/// Two servers are asked in the order A B B A A B B A …, so that a drift of the machine or of the
/// network affects both alike. Runs of one round have the seed of the round, and so the same
/// requests; they are compared as a pair.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AbSpec {
    /// The plan of all runs, except for the server.
    pub base: Box<BenchPlan>,
    /// Addresses of the compared servers, A and B; one address if both sides use the same server.
    pub urls: Vec<BaseUrl>,
    /// How well the change from A to B must be known; if absent, all runs are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilSpec>,
    /// Largest number of rounds, each with a run of every server.
    pub rounds: NonZeroU32,
    /// Measures that keep the runs independent of each other.
    pub isolation: Isolation,
    /// Identity by which the runs are recognised when they are resumed, for plans that contain
    /// something that changes each time they are made. If absent, the whole specification is the
    /// identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

impl AbSpec {
    /// Creates runs of one plan against A and B. Each round has a seed of its own.
    pub fn of_two(base: BenchPlan, [a, b]: [BaseUrl; 2], rounds: NonZeroU32) -> Self {
        Self::of(base, vec![a, b], rounds, Isolation::default())
    }

    /// Creates runs of one plan against one server, always with the same seed.
    pub fn of_one(base: BenchPlan, url: BaseUrl, rounds: NonZeroU32) -> Self {
        let isolation = Isolation { own_seed: false, ..Isolation::default() };
        Self::of(base, vec![url], rounds, isolation)
    }

    fn of(base: BenchPlan, urls: Vec<BaseUrl>, rounds: NonZeroU32, isolation: Isolation) -> Self {
        Self { base: Box::new(base), urls, until: None, rounds, isolation, identity: None }
    }

    /// Ends the rounds when the change of these figures is known.
    #[must_use]
    pub fn until(self, targets: Vec<Precision>) -> Self {
        Self { until: Some(UntilSpec::new(targets)), ..self }
    }

    /// Sets how the runs are isolated from each other.
    #[must_use]
    pub fn isolated(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// Sets the identity by which the runs are recognised when they are resumed.
    #[must_use]
    pub fn known_as(self, identity: impl Into<String>) -> Self {
        Self { identity: Some(identity.into()), ..self }
    }

    /// Returns the largest number of runs.
    pub fn runs(&self) -> usize {
        self.rounds.get() as usize * self.urls.len()
    }

    /// Returns the zero-based index of the server that a run asks, by the zero-based index of the
    /// run.
    pub fn side(&self, run: usize) -> usize {
        let sides = self.urls.len();
        let (round, place) = (run / sides, run % sides);
        if round.is_multiple_of(2) { place } else { sides - 1 - place }
    }

    /// Returns a run by its zero-based index. `nonce` distinguishes its prompts from those of other
    /// specifications.
    pub fn point(&self, run: usize, nonce: u64) -> Point {
        let (side, round) = (self.side(run), run / self.urls.len());
        let letter = ["a", "b"].get(side).copied().unwrap_or("a");
        let mut plan = (*self.base).clone();
        if let Some(url) = self.urls.get(side) {
            plan.move_to(url);
        }
        let mut point = Point {
            name: format!("round={},side={letter}", round + 1),
            settings: vec![
                ("round".to_owned(), json!(round + 1)),
                ("side".to_owned(), json!(letter)),
            ],
            repeat: u32::try_from(round).unwrap_or(u32::MAX),
            plan,
        };
        let salted = u32::try_from(run).unwrap_or(u32::MAX);
        self.isolation.set_apart_in_rounds(point.repeat, salted, nonce, &mut point);
        point
    }
}

#[cfg(test)]
mod tests {
    use servemark_backends::{BackendName, BackendSpec, CommonSpec};
    use servemark_datasets::{DatasetSpec, RandomSpec};
    use servemark_runner::LoadSpec;
    use servemark_schedule::ArrivalSpec;
    use servemark_target::TargetSpec;

    use super::*;
    use crate::{ServerSpec, WorkloadSpec};

    fn url(port: u16) -> BaseUrl {
        BaseUrl::at_host("127.0.0.1", port).unwrap()
    }

    fn base() -> BenchPlan {
        let backend = BackendName::Sglang;
        BenchPlan::new(
            ServerSpec::At(TargetSpec::new(url(1))),
            backend,
            BackendSpec::new(backend, CommonSpec::default()),
            WorkloadSpec::new(DatasetSpec::Random(RandomSpec::default()), 10),
            LoadSpec::new(ArrivalSpec::Burst),
        )
    }

    #[test]
    fn two_servers_are_asked_in_the_order_abba() {
        let spec = AbSpec::of_two(base(), [url(7), url(8)], NonZeroU32::new(4).unwrap());
        let sides: Vec<usize> = (0..spec.runs()).map(|run| spec.side(run)).collect();
        assert_eq!(sides, [0, 1, 1, 0, 0, 1, 1, 0]);
        let points: Vec<Point> = (0..4).map(|run| spec.point(run, 9)).collect();
        let seeds: Vec<u32> = points.iter().map(|point| point.plan.workload.seed).collect();
        assert_eq!(seeds, [42, 42, 43, 43]);
        let names: Vec<&str> = points.iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["round=1,side=a", "round=1,side=b", "round=2,side=b", "round=2,side=a"]);
        let ServerSpec::At(target) = &points[2].plan.server else { panic!("it is a server") };
        assert_eq!(target.base_url, url(8));
        // No run finds in a cache what another run has left there.
        assert_ne!(points[0].plan.workload.prompt_salt, points[1].plan.workload.prompt_salt);
    }

    #[test]
    fn runs_against_one_server_are_the_same() {
        let spec = AbSpec::of_one(base(), url(7), NonZeroU32::new(3).unwrap());
        let [first, last] = [0, 2].map(|run| spec.point(run, 9).plan.workload);
        assert_eq!((spec.runs(), first.seed, last.seed), (3, 42, 42));
        assert_ne!(first.prompt_salt, last.prompt_salt);
    }
}
