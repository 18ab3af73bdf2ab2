//! A first word to the server, before a run begins: evalscope's test of the connection.

use std::sync::Arc;
use std::time::Duration;

use servemark_backends::WireBackend;
use servemark_client::HttpTransport;
use servemark_core::{JsonObject, MonotonicClock, Prompt, RequestRecord, Sample};
use servemark_pacer::SystemPacer;
use servemark_runner::{Collector, LoadSpec, Runner, WarmupSpec};
use servemark_schedule::ArrivalSpec;

use crate::audience::News;
use crate::{ExecuteError, RunContext};

/// Says hello until that is answered well, for so long at most. No record of it is kept. A server
/// that understood and refused is not asked again.
pub(crate) async fn exchange(
    first: &Sample,
    patience: Duration,
    transport: &Arc<HttpTransport<WireBackend>>,
    context: &RunContext,
    clock: MonotonicClock,
) -> Result<(), ExecuteError> {
    let (sample, records) = (greeting(first), Arc::new(Collector::default()));
    let (load, stop) = (LoadSpec::new(ArrivalSpec::Burst), context.stop.signal());
    let pacer = SystemPacer::new(clock).map_err(ExecuteError::Machine)?;
    let runner = Runner::new(pacer, &load, records.clone(), stop);
    let deadline = runner.now() + patience;
    loop {
        runner.warm_up(transport, &sample, WarmupSpec::alike(1)).await;
        let Some(record) = records.take().pop() else { return Ok(()) };
        let Err(error) = &record.outcome else { return Ok(()) };
        let left = deadline.since(runner.now());
        if left.is_zero() || error.is_permanent || is_refusal(&record) {
            return Err(ExecuteError::Greeting(error.clone()));
        }
        context.tell(&News::NotReadyYet { error });
        runner.wait(left.min(RETRY)).await;
    }
}

/// A short prompt of the form that the first one has.
fn greeting(first: &Sample) -> Sample {
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

/// Whether the request itself was wrong, which no waiting mends.
fn is_refusal(record: &RequestRecord) -> bool {
    record.status.is_some_and(|status| (400..500).contains(&status))
}

const HELLO: &str = "hello";

/// How long to wait between two tries.
const RETRY: Duration = Duration::from_secs(5);
