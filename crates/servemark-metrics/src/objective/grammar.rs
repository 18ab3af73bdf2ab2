//! Text form of objectives: `ttft:p99<2000ms`, `success>=99%`, several separated by commas.

use std::fmt;
use std::str::FromStr;

use super::presets::{MLPERF, preset};
use super::{Goal, Objective};
use crate::grammar::{latency_and_statistic, percent, positive, relation, share, time_ms};
use crate::{MetricsError, Statistic};

impl Objective {
    /// Parses objectives separated by commas. `mlperf:MODEL` and `mlperf:MODEL-interactive` stand
    /// for the limits of `MLPerf` Inference.
    pub fn list(text: &str) -> Result<Vec<Self>, MetricsError> {
        let mut objectives = Vec::new();
        for part in text.split(',').map(str::trim) {
            if part.starts_with("mlperf:") {
                let names = || MLPERF.map(|(name, ..)| name).join(", ");
                let unknown = || MetricsError::Preset { given: part.to_owned(), known: names() };
                objectives.extend(preset(part).ok_or_else(unknown)?);
            } else {
                objectives.push(part.parse()?);
            }
        }
        Ok(objectives)
    }
}

impl FromStr for Objective {
    type Err = MetricsError;

    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let malformed = || MetricsError::Objective { given: text.to_owned() };
        let (subject, relation, limit) = relation(text).ok_or_else(malformed)?;
        let goal = match (subject, relation.is_below) {
            ("success", false) => Goal::Success { share: share(limit).ok_or_else(malformed)? },
            ("goodput", false) => Goal::Goodput { share: share(limit).ok_or_else(malformed)? },
            (latency, true) => {
                let (measure, statistic) = latency_and_statistic(latency).ok_or_else(malformed)?;
                let limit_ms = time_ms(limit).or_else(|| positive(limit)).ok_or_else(malformed)?;
                Goal::Latency { measure, statistic, limit_ms }
            }
            _ => return Err(malformed()),
        };
        Ok(Self { goal, is_strict: relation.is_strict })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equal = if self.is_strict { "" } else { "=" };
        match self.goal {
            Goal::Latency { measure, statistic, limit_ms } => {
                let statistic = match statistic {
                    Statistic::Percentile(100.0) => "max".to_owned(),
                    other => other.name(),
                };
                write!(f, "{}:{statistic}<{equal}{limit_ms}ms", measure.name())
            }
            Goal::Success { share } => write!(f, "success>{equal}{}%", percent(share)),
            Goal::Goodput { share } => write!(f, "goodput>{equal}{}%", percent(share)),
        }
    }
}

impl TryFrom<String> for Objective {
    type Error = MetricsError;

    fn try_from(text: String) -> Result<Self, MetricsError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, canonical: &str) {
        let objective: Objective = text.parse().unwrap();
        assert_eq!(objective.to_string(), canonical);
        assert_eq!(canonical.parse::<Objective>().unwrap(), objective);
    }

    #[test]
    fn an_objective_reads_as_people_write_it() {
        reads("ttft:p99<2000ms", "ttft:p99<2000ms");
        reads("ttft:p99.9 <= 2s", "ttft:p99.9<=2000ms");
        reads("itl:max≤500us", "itl:max<=0.5ms");
        reads("e2e:avg<30", "e2el:mean<30ms");
        reads("queue:median<1s", "queue:median<1000ms");
        reads("response_ttft:p90<1s", "response_ttft:p90<1000ms");
        reads("server_queue:p99<200ms", "server_queue:p99<200ms");
        reads("prefill:mean<=1s", "prefill:mean<=1000ms");
        reads("success>=99%", "success>=99%");
        reads("success>0.999", "success>99.9%");
        reads("goodput ≥ 95 %", "goodput>=95%");
    }

    #[test]
    fn several_are_parted_by_commas_and_kept_as_text() {
        let list = Objective::list("ttft:p99<2s, tpot:p99<100ms").unwrap();
        let kept = serde_json::to_string(&list).unwrap();
        assert_eq!(kept, r#"["ttft:p99<2000ms","tpot:p99<100ms"]"#);
        assert_eq!(serde_json::from_str::<Vec<Objective>>(&kept).unwrap(), list);
    }

    #[test]
    fn published_limits_have_names() {
        let texts = |list| {
            Objective::list(list).map(|list| list.iter().map(Objective::to_string).collect())
        };
        let limits: Vec<String> = texts("mlperf:llama2-70b-interactive,success>=99%").unwrap();
        assert_eq!(limits, ["ttft:p99<=450ms", "tpot:p99<=40ms", "success>=99%"]);
        let error = texts("mlperf:llama2").unwrap_err().to_string();
        assert!(error.contains("mlperf:llama2-70b, mlperf:llama2-70b-interactive"), "{error}");
        for (name, ..) in MLPERF {
            assert_eq!(Objective::list(name).unwrap().len(), 2);
        }
    }

    #[test]
    fn what_is_no_objective_is_told_so() {
        let wrong = [
            "",
            "ttft",
            "ttft:p99",
            "ttft<2s",
            "ttft:p99>2s",
            "ttft:p101<2s",
            "ttft:p0<2s",
            "ttft:p99<0",
            "ttft:p99<soon",
            "success<99%",
            "success>=101%",
            "speed:p99<2s",
        ];
        for text in wrong {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.starts_with("expected an objective such as ttft:p99<2000ms"), "{error}");
            assert!(error.ends_with(&format!("got {text:?}")), "{error}");
        }
    }
}
