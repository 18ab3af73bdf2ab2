//! Results of an exploration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};
use servemark_metrics::{Audit, Energy, RunVerdict, SloVerdict, Verdict};
use servemark_plan::{BenchPlan, Layout};

use super::level::Level;
use super::{ExploreSpec, ExploredServer};
use crate::{ExecuteError, Run, Scores};

/// Result of an exploration.
#[derive(Debug)]
pub struct Exploration {
    /// The server.
    pub server: ExploredServer,
    /// Figures of one user alone.
    pub one_user: OneUser,
    /// Figures of the best load.
    pub best: LevelFigures,
    /// Whether the output rate stopped growing. If not, the server may do more with more streams.
    pub is_saturated: bool,
    /// Capacity at the objectives; absent without objectives.
    pub capacity: Option<Capacity>,
    /// Verdicts on the run at the best load.
    pub verdicts: Vec<RunVerdict>,
    /// Audit of the client in the run at the best load.
    pub audit: Audit,
    /// Energy of the GPUs in the run at the best load; absent if none was read.
    pub energy: Option<Energy>,
    /// Figures of all loads in the order in which they were measured.
    pub levels: Vec<LevelFigures>,
    /// Whether the user stopped the exploration early.
    pub is_stopped: bool,
    /// Plan of the run at the best load.
    pub plan: BenchPlan,
    /// The run at the best load.
    pub run: Run,
}

/// Figures of one user alone: the load of a single stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneUser {
    /// Mean time to first token in milliseconds.
    pub ttft_ms: Option<f64>,
    /// Output tokens per second after the first token.
    pub tokens_per_s: Option<f64>,
}

impl OneUser {
    fn of(level: &LevelFigures) -> Self {
        let tokens_per_s = level.tpot_ms.filter(|tpot| *tpot > 0.0).map(|tpot| 1e3 / tpot);
        Self { ttft_ms: level.ttft_ms, tokens_per_s }
    }
}

/// Capacity of a server at objectives, as a number of streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Capacity {
    /// Largest measured number of streams that meets the objectives.
    pub holds: Option<usize>,
    /// Smallest measured number of streams that misses an objective.
    pub fails: Option<usize>,
}

impl Capacity {
    fn of(levels: &[LevelFigures]) -> Self {
        let with = |verdict| {
            levels.iter().filter(move |level| level.slo == Some(verdict)).map(|level| level.streams)
        };
        let fails = with(SloVerdict::Fails).min();
        let is_below = |streams: &usize| fails.is_none_or(|fails| *streams < fails);
        Self { holds: with(SloVerdict::Holds).filter(is_below).max(), fails }
    }
}

/// Figures of one load. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelFigures {
    /// Number of streams.
    pub streams: usize,
    /// Whether this is the longer measurement of the best load.
    pub is_best: bool,
    /// Time from the first request to the end of the last one.
    #[serde(rename = "duration_s", serialize_with = "seconds")]
    pub took: Duration,
    /// Number of requests that succeeded.
    pub requests: usize,
    /// Number of requests that failed.
    pub failed: usize,
    /// Requests per second while all streams were in flight; of the whole run if that was too
    /// short.
    pub requests_per_s: Option<f64>,
    /// Output tokens per second while all streams were in flight; of the whole run if that was too
    /// short.
    pub output_tokens_per_s: Option<f64>,
    /// Mean time to first token.
    pub ttft_ms: Option<f64>,
    /// Median time to first token.
    pub ttft_p50_ms: Option<f64>,
    /// 99th percentile of the time to first token.
    pub ttft_p99_ms: Option<f64>,
    /// Mean time per output token after the first.
    pub tpot_ms: Option<f64>,
    /// Mean end-to-end latency.
    pub e2el_ms: Option<f64>,
    /// Verdict on all objectives together; absent without objectives.
    pub slo: Option<SloVerdict>,
    /// Verdict on the client.
    pub client: Verdict,
    /// Run log of the load, if it was written.
    pub run_log: Option<PathBuf>,
}

fn seconds<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(duration.as_secs_f64())
}

impl Exploration {
    /// Assembles the result from the measured loads.
    ///
    /// # Errors
    ///
    /// Returns [`ExecuteError::Interrupted`] if no load was measured.
    pub(super) fn of(
        server: ExploredServer,
        levels: Vec<Level>,
        spec: &ExploreSpec,
        is_saturated: bool,
        is_stopped: bool,
    ) -> Result<Self, ExecuteError> {
        let figures: Vec<LevelFigures> = levels.iter().map(|level| level.figures.clone()).collect();
        let first = figures.first().ok_or(ExecuteError::Interrupted)?;
        let one_user = OneUser::of(first);
        let best = levels.into_iter().max_by(by_worth).ok_or(ExecuteError::Interrupted)?;
        let scores = Scores::of_run(&best.run, &best.plan.scoring);
        let (verdicts, audit) = (scores.verdicts().to_vec(), best.run.audit.clone());
        let energy = scores.metrics(Layout::Native).energy.clone();
        let capacity = (!spec.objectives.is_empty()).then(|| Capacity::of(&figures));
        drop(scores);
        Ok(Self {
            server,
            one_user,
            best: best.figures,
            is_saturated,
            capacity,
            verdicts,
            audit,
            energy,
            levels: figures,
            is_stopped,
            plan: best.plan,
            run: best.run,
        })
    }

    /// Returns the result as a document for scripts; `report` is the page of the best load. What its
    /// server shows of itself at the best load has the names that it has in the document of a run.
    pub fn to_json(&self, report: Option<&Path>) -> serde_json::Value {
        let mut document = serde_json::json!({
            "schema": "servemark/explore/1",
            "engine": self.server.engine.name(),
            "version": self.server.version,
            "model": self.server.model,
            "route": self.server.route.path(),
            "tells_usage": self.server.reports_usage,
            "one_user": self.one_user,
            "best": self.best,
            "saturated": self.is_saturated,
            "capacity": self.capacity,
            "verdicts": self.verdicts,
            "client": {"verdict": self.audit.verdict, "reasons": self.audit.reasons},
            "levels": self.levels,
            "stopped": self.is_stopped,
            "report": report,
        });
        let mut of_run = self.document_of_run();
        for name in OF_SERVER {
            if !of_run[name].is_null() {
                document[name] = of_run[name].take();
            }
        }
        document
    }

    /// Returns the document of the run at the best load.
    fn document_of_run(&self) -> serde_json::Value {
        let mut json = Vec::new();
        let written = Scores::of_run(&self.run, &self.plan.scoring).write_json(&mut json);
        written.expect("writing to memory does not fail");
        serde_json::from_slice(&json).expect("the document is JSON")
    }
}

/// Parts of a run's document about its server.
const OF_SERVER: [&str; 6] = ["anatomy", "contamination", "cost", "energy", "limits", "series"];

/// Orders loads by how well they show what the server can do: the longer measurement of the best
/// load counts most, then the output rate.
fn by_worth(one: &Level, other: &Level) -> std::cmp::Ordering {
    let rate = |level: &Level| level.figures.output_tokens_per_s.unwrap_or_default();
    one.figures.is_best.cmp(&other.figures.is_best).then(rate(one).total_cmp(&rate(other)))
}
