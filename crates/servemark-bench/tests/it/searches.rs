//! Searches by objectives against the bundled simulator, whose capacity is known.

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::core::NoProgress;
use servemark::datasets::{DatasetSpec, RangeRatio};
use servemark::metrics::Objective;
use servemark::plan::{
    BenchPlan, Grain, LoadBracket, SearchRange, ServerSpec, SloSearchSpec, SloSpec,
};
use servemark::{Origin, RunContext, SloAnswer, SloSearch, SweepRunError, Trial};

use crate::runs::plan;

/// A server with ten slots, in which a request takes 50 to 150 ms, 100 ms on average.
fn base() -> BenchPlan {
    let mut base = plan(BackendName::Sglang, &[]);
    if let ServerSpec::Simulated(mock) = &mut base.server {
        mock.ttft = Duration::from_millis(50);
        mock.itl = Duration::from_millis(25);
        mock.places = NonZeroUsize::new(10);
    }
    if let DatasetSpec::Random(random) = &mut base.workload.dataset {
        random.output_tokens = 5;
        random.range_ratio = RangeRatio::new(0.0).unwrap();
    }
    base
}

/// With n > 10 requests in flight, 100 requests complete per second, so by Little's law the mean
/// latency is n x 10 ms and the capacity is 25. A busy machine only makes the server slower.
fn spec() -> SloSearchSpec {
    let slo = SloSpec::new(Objective::list("e2el:mean<250ms").unwrap());
    let range = SearchRange::new(8.0, 1.0, 128.0, Grain::Whole).unwrap();
    let spec = SloSearchSpec::new(base(), "max_concurrency", slo).unwrap().within(range);
    let mut effort = spec.effort.clone();
    effort.requests = NonZeroUsize::new(200);
    effort.per_place = NonZeroUsize::new(8).unwrap();
    effort.rounds = NonZeroU32::new(2).unwrap();
    spec.with_effort(effort)
}

fn context() -> RunContext {
    RunContext::new(Arc::new(NoProgress))
}

/// Runs the first `rounds` rounds of a search in a folder and returns the trials and the answer
/// so far.
fn searched(folder: &Path, rounds: usize) -> (Vec<Trial>, SloAnswer) {
    let (context, spec) = (context(), spec());
    let mut search = SloSearch::open(&spec, Some(folder), &context).unwrap();
    let trials = search.by_ref().take(rounds).map(Result::unwrap).collect();
    (trials, search.answer())
}

#[test]
fn a_known_capacity_is_found_and_found_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, partly) = searched(folder.path(), 3);
    assert_eq!((begun.len(), partly.is_whole), (3, false));
    let logs = || fs::read_dir(folder.path()).unwrap().count() - 1;
    assert_eq!(logs(), 3);
    let (trials, answer) = searched(folder.path(), usize::MAX);
    let resumed = trials.iter().filter(|trial| trial.origin == Origin::Resumed).count();
    assert_eq!((resumed, logs()), (3, answer.runs()));
    let LoadBracket { holds, fails, .. } = answer.bracket();
    // A busy machine answers later, so less holds than on an idle one, but never more.
    assert!(holds.is_none_or(|holds| holds <= 26.0), "{answer}");
    assert!(fails.is_none_or(|fails| fails <= 40.0), "{answer}");
    let capacity = answer.tiers[0].capacity.unwrap();
    assert!(capacity.value.is_none_or(|value| value <= 27.0), "{answer}");
    assert!(answer.to_string().contains("95 % confidence"), "{answer}");
    let (again, same) = searched(folder.path(), usize::MAX);
    assert!(again.iter().all(|trial| trial.origin == Origin::Resumed));
    assert_eq!(same.to_string(), answer.to_string());
}

#[test]
fn a_folder_of_another_search_is_left_alone() {
    let (folder, context) = (tempfile::tempdir().unwrap(), context());
    drop(SloSearch::open(&spec(), Some(folder.path()), &context).unwrap());
    let other = SloSpec::new(Objective::list("e2el:p99<1s").unwrap());
    let other = SloSearchSpec::new(base(), "max_concurrency", other).unwrap();
    let refused = SloSearch::open(&other, Some(folder.path()), &context).unwrap_err();
    assert!(matches!(refused, SweepRunError::Different { .. }), "{refused}");
}
