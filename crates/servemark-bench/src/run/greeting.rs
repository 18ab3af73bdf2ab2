//! Sends evalscope's connection test before a run begins.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::{ErrorKind, JsonObject, MonotonicClock, Prompt, RequestRecord, Sample};
use servemark_pacer::SystemPacer;
use servemark_runner::{Collector, LoadSpec, Runner, WarmupSpec};
use servemark_schedule::ArrivalSpec;

use super::server::WireTransport;
use crate::observer::RunEvent;
use crate::{ExecuteError, RunContext};

/// Sends the test request until it succeeds or `patience` is over. It leaves no record. A server
/// that refuses the request with a 4xx status is not asked again. An answer without output passes,
/// because it shows that the server is there.
pub(crate) async fn exchange(
    sample: &Sample,
    patience: Duration,
    transport: &Arc<WireTransport>,
    context: &RunContext,
    clock: MonotonicClock,
) -> Result<(), ExecuteError> {
    let records = Arc::new(Collector::default());
    let (load, stop) = (LoadSpec::new(ArrivalSpec::Burst), context.stop.signal());
    let pacer = SystemPacer::new(clock).map_err(ExecuteError::Machine)?;
    let runner = Runner::new(pacer, &load, records.clone(), stop);
    let deadline = runner.now() + patience;
    loop {
        runner.warm_up(transport, sample, WarmupSpec::alike(1)).await;
        let Some(record) = records.take().pop() else { return Ok(()) };
        let Err(error) = &record.outcome else { return Ok(()) };
        if error.kind == ErrorKind::Empty {
            return Ok(());
        }
        let left = deadline.since(runner.now());
        if left.is_zero() || error.is_permanent || is_refusal(&record) {
            return Err(ExecuteError::Greeting(error.clone()));
        }
        context.emit(&RunEvent::NotReadyYet { error });
        runner.wait(left.min(RETRY)).await;
    }
}

/// Returns a short request in the format of the first request.
pub(crate) fn like(first: &Sample) -> Sample {
    let message = || -> JsonObject {
        [("role", "user"), ("content", HELLO)]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    };
    let prompt = match &first.prompt {
        Prompt::Messages(_) => Prompt::Messages(vec![message()]),
        Prompt::Body(body) if body.contains_key("messages") => Prompt::Messages(vec![message()]),
        _ => Prompt::from(HELLO),
    };
    Sample::new(prompt, 1, first.output_tokens)
}

/// Whether the server refused the request with a 4xx status, which retries would not change.
fn is_refusal(record: &RequestRecord) -> bool {
    record.status.is_some_and(|status| (400..500).contains(&status))
}

const HELLO: &str = "hello";

/// Time between two attempts.
const RETRY: Duration = Duration::from_secs(5);
