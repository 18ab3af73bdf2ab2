//! A benchmark with a program's own dialect, data set, latency and report, through a sweep and a
//! gate. It measures a mock server, so it runs without any other server.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use servemark::backends::{Backend, Decoder, Flow, WireRequest};
use servemark::core::{
    Dataset, DatasetError, Delta, DrawContext, ErrorKind, RequestError, Sample, Session, Sink,
};
use servemark::metrics::{Objective, OwnLatency};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{Axis, Side, SloSpec, SweepSpec};
use servemark::report::{Report, ReportFormat};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::sse::Event;
use servemark::{Bench, ExitCode, Scores, Sweep};

/// A dialect: a chat route without any options.
#[derive(Clone, Debug)]
struct PlainChat;

#[derive(Default)]
struct PlainChatDecoder {
    is_whole: bool,
}

impl Backend for PlainChat {
    type Decoder = PlainChatDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let messages = json!([{"role": "user", "content": sample.prompt.text()}]);
        let body = json!({
            "model": "tiny", "messages": messages, "stream": true,
            "max_tokens": sample.output_tokens,
        });
        WireRequest::json("/v1/chat/completions", &body)
    }

    fn decoder(&self, _sample: &Sample) -> PlainChatDecoder {
        PlainChatDecoder::default()
    }
}

impl Decoder for PlainChatDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        if event.data() == b"[DONE]" {
            self.is_whole = true;
            return Ok(Flow::Done);
        }
        let chunk: Value = serde_json::from_slice(event.data())
            .map_err(|error| RequestError::new(ErrorKind::Decode, error.to_string()))?;
        match chunk["choices"][0]["delta"]["content"].as_str() {
            Some(text) if !text.is_empty() => out.delta(Delta::content(text)),
            _ => {}
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self) -> Result<(), RequestError> {
        let cut = || RequestError::new(ErrorKind::Truncated, "the stream has no end mark");
        self.is_whole.then_some(()).ok_or_else(cut)
    }
}

/// A data set: sums that differ in every request, drawn from the run's seed.
#[derive(Clone, Debug)]
struct Sums;

impl Dataset for Sums {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let mut number = || context.random.numpy.randint(0, 1000).unwrap_or_default();
        let mut sum = |_| Sample::new(format!("What is {} + {}?", number(), number()), 8, 16);
        Ok((0..count).map(|index| Session::from(sum(index))).collect())
    }
}

/// A latency: from the head of the answer to its first token.
const FIRST_AFTER_HEADERS: OwnLatency =
    OwnLatency::new("first_after_headers", "first token after headers", |record| {
        Some(record.deltas.first_at()?.since(record.headers?))
    });

/// A report: one line for a chat channel.
#[derive(Debug)]
struct OneLine;

impl ReportFormat for OneLine {
    fn write(&self, report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
        let ttft = report.metrics.latencies.ttft.mean_ms;
        let ttft = ttft.map_or_else(|| "unknown".to_owned(), |ttft| format!("{ttft:.1} ms"));
        writeln!(out, "{} requests, mean TTFT {ttft}", report.metrics.requests.completed)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server =
        MockServer::start(MockSpec::new(Duration::from_millis(20), Duration::from_millis(2)))?;
    let target = server.base_url().parse()?;
    let load = LoadSpec::new(ArrivalSpec::at_rate(100.0)?);
    let mut bench = Bench::at(target, ("plain-chat", PlainChat), ("sums", Sums), 200, load);

    FIRST_AFTER_HEADERS.register();
    bench.plan.scoring.own_latencies.push(FIRST_AFTER_HEADERS.name().to_owned());
    let objectives = Objective::list("e2el:p50<10s,first_after_headers:p50<10s")?;
    bench.plan.scoring.slo = Some(SloSpec::new(objectives));

    let rates = Side::of(Axis::new("request_rate", [50, 100])?);
    let spec = SweepSpec::grid(bench.plan.clone(), vec![rates]);
    for point in Sweep::open(&spec, None, &bench.context)? {
        let run = point?.run;
        let scores = Scores::of(&run.log, &bench.plan.scoring);
        scores.write_report(&OneLine, &mut io::stdout())?;
        for judgement in scores.judgements() {
            println!("  {judgement}");
        }
        // A run as short as this one may leave an objective undecided.
        if !matches!(scores.exit_code(), ExitCode::Ok | ExitCode::Undecided) {
            return Err("an objective is missed, or too many requests failed".into());
        }
    }
    Ok(())
}
