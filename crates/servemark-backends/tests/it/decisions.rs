//! Decisions, compared with the validation of evalscope's own plugins.

use serde::Deserialize;
use serde_json::Value;
use servemark_backends::{Backend, BackendSpec, EvalscopeApi, EvalscopeSpec, WireBackend};
use servemark_core::{ErrorKind, JsonObject, Prompt, Sample, Usage};

use crate::reading::Reading;

/// A request, and an answer to it if there is one.
#[derive(Deserialize)]
struct Case {
    api: String,
    body: JsonObject,
    /// The request as it is sent.
    sent: Option<Value>,
    answer: Option<Value>,
    /// The server's counts of prompt and output tokens.
    counts: Option<[u32; 2]>,
    error: Option<String>,
}

impl Case {
    fn all() -> Vec<Self> {
        serde_json::from_str(include_str!("../../../../fixtures/evalscope/decisions.json")).unwrap()
    }

    fn backend(&self) -> WireBackend {
        let api = EvalscopeApi::of(&self.api).unwrap();
        BackendSpec::Evalscope(EvalscopeSpec::new(api, "m")).build()
    }

    fn sample(&self) -> Sample {
        Sample::new(Prompt::Body(self.body.clone()), 0, 0)
    }

    fn read(&self, answer: &Value) -> Reading {
        let decoder = self.backend().decoder(&self.sample());
        Reading::of_document(decoder, answer.to_string().as_bytes())
    }
}

#[test]
fn requests_are_sent_or_refused_as_evalscope_does() {
    let (mut sent, mut refused) = (0, 0);
    for case in Case::all().iter().filter(|case| case.answer.is_none()) {
        let ours = case.backend().encode(&case.sample());
        match (&case.sent, ours) {
            (Some(theirs), Ok(ours)) => {
                assert_eq!(String::from_utf8_lossy(&ours.body), theirs.to_string());
                sent += 1;
            }
            (None, Err(error)) => {
                assert_eq!(error.kind, ErrorKind::Encode, "{error:?}");
                refused += 1;
            }
            (_, ours) => panic!("{:?}: {ours:?}, evalscope: {:?}", case.body, case.error),
        }
    }
    assert_eq!((sent, refused), (10, 34), "a case was added or lost");
}

#[test]
fn answers_are_taken_or_refused_as_evalscope_does() {
    let (mut taken, mut refused) = (0, 0);
    for case in &Case::all() {
        let Some(answer) = &case.answer else { continue };
        let reading = case.read(answer);
        assert!(reading.pieces.is_empty(), "a decision has no output");
        match (case.counts, &reading.outcome) {
            (Some([prompt, output]), Ok(())) => {
                let [ours_in, ours_out] = counts(reading.usage);
                assert_eq!([ours_in, ours_out], [prompt, output], "{answer}");
                taken += 1;
            }
            (None, Err(error)) => {
                let is_read = matches!(error.kind, ErrorKind::Decode | ErrorKind::InStream);
                assert!(is_read, "{error:?}");
                refused += 1;
            }
            (_, ours) => panic!("{answer}: {ours:?}, evalscope: {:?}", case.error),
        }
    }
    assert_eq!((taken, refused), (24, 52), "a case was added or lost");
}

/// Returns counts as evalscope does: zero if the server reports none.
fn counts(usage: Option<Usage>) -> [u32; 2] {
    let usage = usage.unwrap_or_default();
    [usage.prompt_tokens, usage.completion_tokens].map(Option::unwrap_or_default)
}

#[test]
fn what_is_wrong_with_an_answer_is_told() {
    let cases = Case::all();
    let case = cases.iter().find(|case| case.counts == Some([9, 1])).unwrap();
    let text = |answer: &str| {
        let decoder = case.backend().decoder(&case.sample());
        Reading::of_document(decoder, answer.as_bytes()).outcome.unwrap_err()
    };
    let unfit = text(r#"{"model": "m", "answers": {"answer": {"type": "choice"}}}"#);
    let expected = "this is no valid decision: its labels are not those of the question";
    assert_eq!((unfit.kind, unfit.message.as_str()), (ErrorKind::Decode, expected));
    let failed = text(r#"{"error": {"message": "overloaded"}}"#);
    assert_eq!((failed.kind, failed.message.as_str()), (ErrorKind::InStream, "overloaded"));
    assert_eq!(text("").kind, ErrorKind::Empty);
}
