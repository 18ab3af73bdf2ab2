//! Computes latencies, percentiles, throughput and goodput from records under a chosen policy.
//!
//! [`Metrics::score`] is a pure function of a [`RunLog`](servemark_core::RunLog) and a
//! [`MetricPolicy`]: the same log always gives the same numbers, on any machine. The peers differ
//! in their definitions, not in the facts that they observe, so each definition is a field of the
//! policy and no code branches on a peer's name.
//!
//! This crate reads no clock, counts no tokens and prints nothing.

mod absences;
mod anatomy;
mod audit;
mod budget;
mod cache_audit;
mod comparison;
mod contamination;
mod cost;
mod distribution;
mod energy;
mod error;
mod estimand;
mod estimates;
mod events;
mod evidence;
mod fail_on;
mod failures;
mod figure;
mod gaps;
mod goodput;
mod grammar;
mod handoff;
mod histogram;
mod items;
mod latency;
mod latency_sample;
mod limits;
mod loaded;
mod metrics;
mod mlperf;
mod objective;
mod one_batch;
mod own_latency;
mod peak;
mod per_request;
mod planning;
mod policy;
mod precision;
mod probes;
mod rate_estimates;
mod reuse;
mod run_verdict;
mod sampled;
mod saturation;
mod score;
mod seconds;
mod series;
mod server_counts;
mod server_work;
mod sessions;
mod several;
mod share_estimates;
mod speculation;
mod spread;
pub mod statistics;
mod summary;
mod timeline;
mod totals;
mod traces;
mod truth;
mod turns;
mod unmet_waits;
mod waits;
mod workload;

pub use absences::{Absence, Absences};
pub use anatomy::{
    Anatomy, AnatomyFacts, PartSummary, RequestAnatomy, RequestPart, Residual, ServerClock,
};
pub use audit::{
    AccuracyVerdict, Audit, ClientLoad, Finding, Gate, LagReference, LatencyAccuracy, LittlesLaw,
    LoadVerdict, Machine, Network, RankAudit, Reading, Resending, Sending, ShardLoad, Shared,
    Spread, StampError, Verdict, WorstRank,
};
pub use budget::{BeyondBudget, SampleBudget};
pub use cache_audit::{CacheAudit, CacheFinding, SavedTime};
pub use comparison::{
    Basis, Bound, Broken, Change, ChangeInterval, ComparedRun, ComparedSide, Comparison, Condition,
    Doubt, Significance, Tolerance, ToleranceJudgement,
};
pub use contamination::{Contamination, ContaminationSource};
pub use cost::Cost;
pub use distribution::Distribution;
pub use energy::{Energy, EnergyPhases};
pub use error::MetricsError;
pub use estimand::Estimand;
pub use estimates::{Estimated, Estimates};
pub use evidence::{
    BacklogTrend, Capacity, Evidence, JudgedPart, Judgement, LoadEvidence, SloVerdict,
    UndecidedReason, gate, load_doubt,
};
pub use fail_on::FailOn;
pub use failures::{FailureGroup, FailureMessage, FailureTally};
pub use figure::{Better, Figure, FigureScope, Quantity, Statistic};
pub use gaps::{Gaps, GapsIter};
pub use goodput::{Goodput, Slo, SloResult};
pub use handoff::Handoff;
pub use histogram::Histogram;
pub use items::ItemTotals;
pub use latency::{Latency, LatencyValues};
pub use limits::{Confidence, Limit, LimitCause};
pub use loaded::{
    ConcurrencyRatio, Level, NoStage, Plateau, PlateauSpec, PlateauWindow, SettledFigure,
    SettledPart, SettledRun, SettledStatus, SettlingOf, Shift, StableCounting, StableRule,
    StableStage, Stage, StageQuantity, StageRates, StageSpec, StageStatistic, SteadyState,
};
pub use metrics::{
    Completeness, Concurrency, Latencies, Metrics, PartLatency, RequestCounts, ResponseTimes,
};
pub use mlperf::{MlperfLimit, MlperfResult};
pub use objective::{Goal, Objective};
pub use one_batch::{BatchScore, BatchWindow};
pub use own_latency::{OwnLatency, OwnSummary};
pub use per_request::PerRequest;
pub use planning::Planning;
pub use policy::{
    CountedRequests, DurationRule, EmptySample, EndRule, FirstTokensOf, ItlRule, MetricPolicy,
    MissingTtft, Origin, OutputEvents, PeakRule, PercentileRule, PromptTokenRule, RecountedText,
    SampleSize, StreamRules, TokenSource, TpotRule,
};
pub use precision::{ChangeKnown, HalfWidth, KnownEnough, Precision, PrecisionWatch};
pub use probes::Probes;
pub use rate_estimates::RateEstimates;
pub use run_verdict::{RunVerdict, RunVerdictKind};
pub use score::RequestScore;
pub use series::{
    CountedTwice, HistogramSummary, RunSeries, Series, SeriesGap, SeriesSummary, histogram_quantile,
};
pub use server_counts::ServerCounts;
pub use server_work::{Diffusion, PrefixCache, ServerWork, Speculation};
pub use sessions::{SessionMetrics, TurnMetrics};
pub use several::{FigureSpread, SeveralRuns};
pub use share_estimates::ShareEstimates;
pub use speculation::AcceptLength;
pub use spread::RunSpread;
pub use summary::{Percentile, PercentileSource, Summary};
pub use timeline::{Second, timeline};
pub use totals::{EventTokens, OutputSources, Throughput, TokenTotals};
pub use traces::{TraceFigures, TurnPlaces};
pub use truth::{Deviation, TruthComparison};
pub use turns::{ConversationFigures, TurnFigures};
pub use waits::{Rates, Waits};
pub use workload::{Workload, WorkloadPoint, WorkloadRates};
