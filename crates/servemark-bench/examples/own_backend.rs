//! A wire dialect of the program: one route with a body and an answer of its own.
//!
//! `POST /v1/completions` is asked for one document instead of a stream. The codec has no socket
//! and no clock, so the last lines test it with a byte string.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use serde_json::{Value, json};
use servemark::backends::{Backend, Decoder, Flow, Framing, WireRequest};
use servemark::core::{Delta, ErrorKind, RequestError, Sample, Session, Sink};
use servemark::mock::{MockServer, MockSpec};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::sse::Event;
use servemark::{Bench, Scores};

/// Text completions as one document each.
#[derive(Clone, Debug)]
struct WholeCompletions;

/// Decoder that expects one document and notes whether it was read.
#[derive(Default)]
struct WholeDecoder {
    is_read: bool,
}

impl Backend for WholeCompletions {
    type Decoder = WholeDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let prompt = sample.prompt.text();
        let prompt = prompt.ok_or_else(|| RequestError::new(ErrorKind::Encode, "needs a text"))?;
        let body = json!({"model": "m", "prompt": prompt, "max_tokens": sample.output_tokens});
        WireRequest::json("/v1/completions", &body)
    }

    fn decoder(&self, _sample: &Sample) -> WholeDecoder {
        WholeDecoder::default()
    }

    fn framing(&self) -> Framing {
        Framing::Document
    }
}

impl Decoder for WholeDecoder {
    fn event(&mut self, _event: Event<'_>, _out: &mut dyn Sink) -> Result<Flow, RequestError> {
        Err(RequestError::new(ErrorKind::Decode, "expected one document, got a stream"))
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|error| RequestError::new(ErrorKind::Decode, error.to_string()))?;
        out.delta(Delta::content(answer["choices"][0]["text"].as_str().unwrap_or_default()));
        self.is_read = true;
        Ok(())
    }

    fn end(&mut self) -> Result<(), RequestError> {
        let cut = || RequestError::new(ErrorKind::Truncated, "there is no document");
        self.is_read.then_some(()).ok_or_else(cut)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let request = WholeCompletions.encode(&Sample::new("Hi", 1, 8))?;
    println!("{} {}", request.path, String::from_utf8_lossy(&request.body));

    let server =
        MockServer::start(MockSpec::new(Duration::from_millis(20), Duration::from_millis(1)))?;
    let prompts = vec![Session::from(Sample::new("Tell me a story.", 5, 16)); 50];
    let load = LoadSpec::new(ArrivalSpec::at_rate(100.0)?);
    let target = server.base_url().parse()?;
    let bench = Bench::at(target, ("whole", WholeCompletions), ("stories", prompts), 50, load);
    let run = bench.run()?;
    Scores::of(&run.log, &bench.plan.scoring).write_tables(&mut std::io::stdout())?;
    Ok(())
}
