//! Single crates alone: a recorded stream is parsed (`servemark-sse`), decoded
//! (`servemark-backends`), stamped (`servemark-core`) and scored (`servemark-metrics`), without a
//! socket, a runtime or the facade.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use servemark_backends::{Backend, ChatSpec, CommonSpec, Decoder, Flow};
use servemark_core::{Finish, Header, Phase, Recorder, RunFacts, RunLog, Sample, Stamp};
use servemark_metrics::{MetricPolicy, Metrics};
use servemark_sse::Parser;

/// Reads of a stream, each with its time after the request was sent in milliseconds.
const READS: [(u64, &str); 3] = [
    (40, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"),
    (52, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\ndata: {\"choi"),
    (61, "ces\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let at = |ms: u64| Stamp::ZERO + Duration::from_millis(ms);
    let sample = Sample::new("Hi", 1, 2);
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, at(0));
    recorder.record_sent(at(0));

    let dialect = ChatSpec::new(CommonSpec::new("m"));
    let (mut parser, mut decoder) = (Parser::new(), dialect.decoder(&sample));
    let mut is_done = false;
    for (ms, read) in READS {
        recorder.body(at(ms), read.len());
        parser.feed(read.as_bytes(), |event| {
            is_done |= decoder.event(event, &mut recorder.at(at(ms)))? == Flow::Done;
            Ok::<(), servemark_core::RequestError>(())
        })?;
    }
    decoder.end()?;
    assert!(is_done);

    let record = recorder.finish(Ok(Finish::default()), at(61));
    let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
    let log = RunLog::new(header, vec![record], None);
    let latencies = Metrics::score(&log, &MetricPolicy::native()).latencies;
    println!("TTFT {:?} ms, E2E {:?} ms", latencies.ttft.mean_ms, latencies.e2el.mean_ms);
    Ok(())
}
