//! Reads the times that a program reports, request by request.

use anyhow::Context;
use serde::Deserialize;

/// Times of every answered request, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Reported {
    pub(in super::super) ttfts: Vec<f64>,
    pub(in super::super) gaps: Vec<f64>,
}

/// A detailed result file. Servemark's, SGLang's and vLLM's clients, also those in Rust, share
/// these names and units; other fields are ignored.
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
    /// Parses a file of JSON lines, the last of which is this run's result.
    ///
    /// # Errors
    ///
    /// The text is no result file, or a request of the run failed.
    pub(in super::super) fn parse(text: &str) -> anyhow::Result<Self> {
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        let line = line.context("its result is empty")?;
        let Detailed { ttfts, itls, errors } = serde_json::from_str(&without_pythons_numbers(line))
            .context("its result has an unknown format")?;
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

/// Replaces numbers that Python writes but JSON does not have, such as an infinite rate. The
/// numbers that are read are finite, and texts are not read, so nothing that is read changes.
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

    /// Two streams of three chunks with a TTFT of 5 ms, as each client wrote them.
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
        refused("3", "its result has an unknown format");
        let failed = r#"{"ttfts":[0.0],"itls":[[]],"errors":["Traceback\nKeyError: 'x'"]}"#;
        refused(failed, "a request of it failed: KeyError: 'x'");
    }
}
