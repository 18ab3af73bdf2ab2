//! The latencies of a request: their names, their labels, and their values.
//!
//! Objectives, goodput, comparisons, tables and JSON all take a latency from here. The tables of
//! other clients name and choose among these.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use servemark_core::RequestRecord;

use crate::gaps::GapsIter;
use crate::sampled::sampled_of;
use crate::waits::queue_wait;
use crate::{
    AnatomyFacts, MetricPolicy, OwnLatency, RequestAnatomy, RequestPart, RequestScore, TpotRule,
};

/// A latency of a request. In files it is its name.
///
/// ```
/// use servemark_metrics::Latency;
///
/// assert_eq!(Latency::from_name("e2e"), Some(Latency::E2el));
/// assert_eq!((Latency::Ttft.name(), Latency::Ttft.label()), ("ttft", "TTFT"));
/// ```
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub enum Latency {
    /// Time from sending to the end.
    E2el,
    /// Time from one token to the next.
    Itl,
    /// Latency that the program defines.
    Own(OwnLatency),
    /// Part of the time from due to the end; unknown where the server does not report it.
    Part(RequestPart),
    /// Time from due until the concurrency limit lets the request pass.
    Queue,
    /// Time from due to the end.
    ResponseE2el,
    /// Time from due to the first token.
    ResponseTtft,
    /// Time per output token after the first.
    Tpot,
    /// Time from sending to the first token.
    Ttft,
    /// Time from the first piece of output to the second.
    Ttst,
}

/// Name and label of a latency, and whether it needs output tokens.
struct Row {
    name: &'static str,
    label: &'static str,
    needs_tokens: bool,
}

impl Latency {
    /// Latencies of the server, from sending on, in the order of a table.
    pub const SERVICE: [Self; 5] = [Self::Ttft, Self::Ttst, Self::Tpot, Self::Itl, Self::E2el];

    /// Latencies that result files of other clients have, too, in the order of a table.
    pub const COMMON: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2el];

    /// All latencies that Servemark defines.
    pub const ALL: [Self; 8] = [
        Self::Ttft,
        Self::Ttst,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::Queue,
        Self::ResponseTtft,
        Self::ResponseE2el,
    ];

    const fn row(self) -> Row {
        let (name, label, needs_tokens) = match self {
            Self::E2el => ("e2el", "E2E", false),
            Self::Itl => ("itl", "ITL", true),
            Self::Own(own) => (own.name(), own.label(), false),
            Self::Part(part) => (part.name(), part.name(), false),
            Self::Queue => ("queue", "queue wait", false),
            Self::ResponseE2el => ("response_e2el", "response E2E", false),
            Self::ResponseTtft => ("response_ttft", "response TTFT", true),
            Self::Tpot => ("tpot", "TPOT", true),
            Self::Ttft => ("ttft", "TTFT", true),
            Self::Ttst => ("ttst", "TTST", true),
        };
        Row { name, label, needs_tokens }
    }

    /// Returns the name in keys and on command lines.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the label in tables.
    pub const fn label(self) -> &'static str {
        self.row().label
    }

    /// Returns whether only answers with tokens have the latency.
    pub const fn needs_tokens(self) -> bool {
        self.row().needs_tokens
    }

    /// Returns the latency with this name, a [registered](OwnLatency::register) one included.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = match name {
            "e2e" => "e2el",
            "response_e2e" => "response_e2el",
            name => name,
        };
        let ours = Self::ALL.into_iter().find(|latency| latency.name() == name);
        ours.or_else(|| RequestPart::from_name(name).map(Self::Part))
            .or_else(|| OwnLatency::from_name(name).map(Self::Own))
    }

    /// Returns the requests that the latency is sampled from, in the order of the plan.
    pub fn sampled<'a>(
        self,
        policy: &MetricPolicy,
        scores: &'a [RequestScore<'a>],
    ) -> Vec<&'a RequestScore<'a>> {
        sampled_of(self, policy, scores).collect()
    }

    /// Returns the values of a request in seconds: one, none, or one for each gap between tokens.
    /// Parts of its time need the facts of its run.
    pub(crate) fn of_request<'a>(
        self,
        record: &RequestRecord,
        score: &'a RequestScore<'_>,
        tpot: TpotRule,
        facts: &AnatomyFacts,
    ) -> LatencyValues<'a> {
        let value = match self {
            Self::Own(own) => own.seconds_of(record),
            Self::Part(part) => {
                let anatomy = RequestAnatomy::of(record, facts);
                anatomy.and_then(|anatomy| anatomy.part_ms(part)).map(|ms| ms / 1e3)
            }
            Self::Queue => queue_wait(record),
            _ => return self.values(score, tpot),
        };
        LatencyValues(LatencySource::One(value))
    }

    /// Returns the values of a scored request in seconds: one for each gap between tokens, at most
    /// one for any other latency. A score has none of the latencies that only its record shows:
    /// [`Own`](Self::Own) and [`Queue`](Self::Queue). It has those [parts](Self::Part) that its policy
    /// asks for.
    pub fn values<'a>(self, score: &'a RequestScore<'_>, tpot: TpotRule) -> LatencyValues<'a> {
        let value = match self {
            Self::Itl => return LatencyValues(LatencySource::Gaps(score.itl_sample())),
            Self::E2el => Some(score.latency_s),
            Self::Own(_) | Self::Queue => None,
            Self::Part(part) => score.part_s(part),
            Self::ResponseE2el => Some(score.waited_s + score.latency_s),
            Self::ResponseTtft => score.ttft_s.map(|ttft| score.waited_s + ttft),
            Self::Tpot => score.tpot_s(tpot),
            Self::Ttft => score.ttft_s,
            Self::Ttst => score.itl_s.to_second_piece(),
        };
        LatencyValues(LatencySource::One(value))
    }
}

/// Iterator over the values that one request adds to the sample of a latency, in seconds.
#[derive(Clone, Debug)]
pub struct LatencyValues<'a>(LatencySource<'a>);

#[derive(Clone, Debug)]
enum LatencySource<'a> {
    Gaps(GapsIter<'a>),
    One(Option<f64>),
}

impl Iterator for LatencyValues<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        match &mut self.0 {
            LatencySource::Gaps(gaps) => gaps.next(),
            LatencySource::One(value) => value.take(),
        }
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("there is no latency {name:?}"));
        Self::from_name(&name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_its_name() {
        for latency in Latency::ALL {
            assert_eq!(Latency::from_name(latency.name()), Some(latency));
            let json = serde_json::to_string(&latency).unwrap();
            assert_eq!(json, format!("{:?}", latency.name()));
            assert_eq!(serde_json::from_str::<Latency>(&json).unwrap(), latency);
        }
        assert!(serde_json::from_str::<Latency>("\"slowness\"").is_err());
    }
}
