//! Shares of requests with their confidence intervals.

use serde::Serialize;
use servemark_statistics::share;

use crate::estimates::in_time;
use crate::goodput::is_good;
use crate::policy::MetricPolicy;
use crate::{Estimated, RequestScore};

/// Shares of the process's requests, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShareEstimates {
    /// Share of the requests that succeed.
    pub success: Estimated,
    /// Share of the requests that meet every objective of the policy; absent without objectives.
    pub goodput: Option<Estimated>,
}

impl ShareEstimates {
    /// Estimates the shares at the policy's confidence; absent without requests.
    pub(crate) fn of(scores: &[RequestScore<'_>], policy: &MetricPolicy) -> Option<Self> {
        let confidence = policy.confidence.filter(|_| !scores.is_empty())?;
        let scores = in_time(scores.iter());
        let of = |holds: &dyn Fn(&RequestScore<'_>) -> bool| {
            let holds: Vec<bool> = scores.iter().map(|score| holds(score)).collect();
            Estimated::of(share(&holds, confidence), confidence)
        };
        Some(Self {
            success: of(&|score| score.success),
            goodput: (!policy.slos.is_empty()).then(|| of(&|score| is_good(score, policy))),
        })
    }
}
