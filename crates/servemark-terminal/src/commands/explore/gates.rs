//! The verdicts on an exploration, for continuous integration.

use servemark::metrics::SloVerdict;
use servemark::report::{Gate, GateReport};
use servemark::{Exploration, LevelFigures};
use servemark_cli::ExploreArgs;

use super::{bounds, figures, has_too_many_failed, objectives, verdict_on};

/// Returns whether a load meets the objectives and whether few enough requests failed, with the
/// figures of all loads.
pub(super) fn report(found: &Exploration, args: &ExploreArgs) -> GateReport {
    let of_capacity = found.capacity.map(|capacity| {
        let name = format!("--slo {}", objectives(args));
        Gate::new(name, verdict_on(capacity), bounds(capacity).concat())
    });
    GateReport {
        title: found.server.url.to_string(),
        gates: of_capacity.into_iter().chain([of_failures(found, args)]).collect(),
        columns: COLUMNS.map(str::to_owned).into(),
        rows: found.levels.iter().map(row).collect(),
    }
}

fn of_failures(found: &Exploration, args: &ExploreArgs) -> Gate {
    let best = &found.best;
    let tolerated = args.tolerated_failures * 100.0;
    let name = format!("at most {tolerated:.1} % failed requests");
    let verdict =
        if has_too_many_failed(found, args) { SloVerdict::Fails } else { SloVerdict::Holds };
    let (failed, all) = (best.failed, best.requests + best.failed);
    Gate::new(name, verdict, format!("{failed} of {all} requests of the best load failed"))
}

fn row(level: &LevelFigures) -> Vec<String> {
    let [streams, failed] = [level.streams, level.failed].map(|count| count.to_string());
    [streams].into_iter().chain(figures(level)).chain([failed]).collect()
}

const COLUMNS: [&str; 7] = [
    "Streams",
    "Output tokens/s",
    "Requests/s",
    "TTFT p50 (ms)",
    "TTFT p99 (ms)",
    "TPOT (ms)",
    "Failed",
];
