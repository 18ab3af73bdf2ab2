//! The gates of a run, for continuous integration.

use servemark_metrics::{Latency, SloVerdict};
use servemark_plan::Layout;
use servemark_report::{Gate, GateReport};

use super::{Failed, Scores};

impl Scores<'_> {
    /// Returns the gates of the run with their verdicts, and its headline figures. `title` says
    /// which run it is.
    pub fn gate_report(&self, title: &str) -> GateReport {
        GateReport {
            title: title.to_owned(),
            gates: self.all_gates(),
            columns: ["", "mean", "p50", "p90", "p99"].map(str::to_owned).into(),
            rows: self.headline_rows(),
        }
    }

    fn all_gates(&self) -> Vec<Gate> {
        let mut gates: Vec<Gate> = self
            .judgements()
            .iter()
            .map(|judgement| {
                let name = format!("--slo {}", judgement.objective);
                Gate::new(name, judgement.verdict, judgement.to_string())
            })
            .collect();
        gates.extend(self.known_enough().iter().map(|known| {
            let verdict = if known.is_known { SloVerdict::Holds } else { SloVerdict::Undecided };
            Gate::new("--until", verdict, known.to_string())
        }));
        gates.extend(self.scoring.fail_on.map(|limit| {
            let name = format!("--fail-on-verdict {limit}");
            let reason = format!("the client audit is {}", self.audit());
            Gate::new(name, holds_if(self.broken_gate().is_none()), reason)
        }));
        gates.extend(self.scoring.unwanted.iter().map(|kind| {
            let (verdict, reason) = match (self.reason(*kind), self.missing(*kind)) {
                (Some(reason), _) => (SloVerdict::Fails, reason),
                (None, Some(missing)) => (SloVerdict::Undecided, missing),
                (None, None) => (SloVerdict::Holds, "the run has no such verdict".to_owned()),
            };
            Gate::new(format!("--fail-on {kind}"), verdict, reason)
        }));
        gates.extend(self.mlperf().map(|result| {
            Gate::new("--profile mlperf", holds_if(result.is_valid), result.to_string())
        }));
        gates.push(self.failures_gate());
        gates
    }

    /// Returns whether few enough requests failed.
    fn failures_gate(&self) -> Gate {
        let requests = Failed::of(self.log);
        let holds = holds_if(requests.is_tolerated(self.scoring));
        let Failed { failed, all } = requests;
        let tolerated = self.scoring.tolerated_failures * 100.0;
        let name = format!("at most {tolerated:.1} % failed requests");
        Gate::new(name, holds, format!("{failed} of {all} requests failed"))
    }

    fn headline_rows(&self) -> Vec<Vec<String>> {
        let metrics = self.metrics(Layout::Native);
        let message =
            |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
        let mut rows = Vec::new();
        for latency in Latency::SERVICE {
            let Some(values) = metrics.latency(latency) else { continue };
            let name = format!("{} (ms)", latency.label());
            let percentiles = [90.0, 99.0].map(|percent| values.percentile_ms(percent));
            let figures = [values.mean_ms, values.median_ms].into_iter().chain(percentiles);
            rows.push([name].into_iter().chain(figures.map(message)).collect());
        }
        for (name, value) in [
            ("Requests/s", metrics.throughput.requests_per_s),
            ("Output tokens/s", metrics.throughput.output_tokens_per_s),
        ] {
            let empty = std::iter::repeat_n(String::new(), 3);
            rows.push([name.to_owned(), message(value)].into_iter().chain(empty).collect());
        }
        rows
    }
}

fn holds_if(holds: bool) -> SloVerdict {
    if holds { SloVerdict::Holds } else { SloVerdict::Fails }
}
