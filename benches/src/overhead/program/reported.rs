//! The times that a program reports, request by request.

use anyhow::Context;
use serde::Deserialize;

/// The times of every request that was answered, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Reported {
    pub(in super::super) ttfts: Vec<f64>,
    pub(in super::super) gaps: Vec<f64>,
}

/// A result file in detail. SGLang's and vLLM's clients, ours and both in Rust share these names
/// and units; what else a file holds is passed over.
#[derive(Deserialize)]
struct Detailed {
    #[serde(default)]
    ttfts: Vec<f64>,
    #[serde(default)]
    itls: Vec<Vec<f64>>,
    #[serde(default)]
    errors: Vec<Option<String>>,
}

impl Reported {
    /// Reads a file of JSON lines, of which the last is this run's.
    ///
    /// # Errors
    ///
    /// It is none, or it tells of a request that failed.
    pub(in super::super) fn parse(text: &str) -> anyhow::Result<Self> {
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        let line = line.context("its result is empty")?;
        let Detailed { ttfts, itls, errors } = serde_json::from_str(&without_pythons_numbers(line))
            .context("its result is not what it used to be")?;
        if let Some(error) = errors.into_iter().flatten().find(|error| !error.is_empty()) {
            let last = error.lines().last().unwrap_or_default();
            anyhow::bail!("a request of it failed: {last}");
        }
        let millis = |seconds: f64| seconds * 1e3;
        Ok(Self {
            ttfts: ttfts.into_iter().map(millis).collect(),
            gaps: itls.into_iter().flatten().map(millis).collect(),
        })
    }
}

/// Python writes an infinite rate as no JSON has it. The numbers that are read are finite, and a text
/// that changes is not read.
fn without_pythons_numbers(line: &str) -> String {
    ["-Infinity", "Infinity", "NaN"]
        .iter()
        .fold(line.to_owned(), |line, number| line.replace(&format!(": {number}"), ": null"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_and_seconds_become_milliseconds() {
        let text = "{\"ttfts\":[9.0]}\n{\"request_rate\": Infinity, \"ttfts\":[0.5,0.25],\"itls\":[[0.01,0.02],[]],\
            \"errors\":[\"\",\"\"],\"other\":1}\n";
        let reported = Reported::parse(text).unwrap();
        assert_eq!(reported, Reported { ttfts: vec![500.0, 250.0], gaps: vec![10.0, 20.0] });
    }

    #[track_caller]
    fn is_read(text: &str, first_ms: f64) {
        let reported = Reported::parse(text).unwrap();
        assert_eq!((reported.ttfts.len(), reported.gaps.len()), (2, 4));
        assert!((reported.ttfts[0] - first_ms).abs() < 1e-3, "{reported:?}");
    }

    /// Two streams of three chunks, TTFT 5 ms, as each client wrote them down.
    #[test]
    fn every_client_is_read() {
        is_read(include_str!("../../../tests/reported/sglang-python.jsonl"), 6.768);
        is_read(include_str!("../../../tests/reported/sglang-rust.jsonl"), 5.303);
        is_read(include_str!("../../../tests/reported/vllm-python.json"), 7.189);
        is_read(include_str!("../../../tests/reported/vllm-rust.json"), 5.159);
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        assert_eq!(Reported::parse(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn what_cannot_be_trusted_is_refused() {
        refused("\n", "its result is empty");
        refused("3", "its result is not what it used to be");
        let failed = r#"{"ttfts":[0.0],"itls":[[]],"errors":["Traceback\nKeyError: 'x'"]}"#;
        refused(failed, "a request of it failed: KeyError: 'x'");
    }
}
