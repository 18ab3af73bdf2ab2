//! A transport that answers from a script, on a clock that a test can pause.

use std::sync::Arc;
use std::time::Duration;

use servemark_core::{
    Clock, Delta, Finish, Recorder, RequestError, Sample, Sink, Stamp, Transport,
};
use tokio::time::Instant;

/// The answer to one request: `pieces` pieces of one token, the first after `ttft`, the others
/// `itl` apart, and then the end.
#[derive(Clone, Debug)]
pub struct Script {
    ttft: Duration,
    itl: Duration,
    pieces: u32,
    error: Option<RequestError>,
}

impl Script {
    /// Creates an answer that succeeds.
    pub fn streaming(ttft: Duration, itl: Duration, pieces: u32) -> Self {
        Self { ttft, itl, pieces, error: None }
    }

    /// Makes the answer fail with `error` after its last piece.
    #[must_use]
    pub fn failing(self, error: RequestError) -> Self {
        Self { error: Some(error), ..self }
    }
}

type Scripts = dyn Fn(&Sample) -> Result<Script, RequestError> + Send + Sync;

/// Answers every sample with the script that a function returns for it.
pub struct ScriptedTransport<C> {
    clock: C,
    script: Box<Scripts>,
}

impl<C: Clock + 'static> ScriptedTransport<C> {
    /// Creates a transport on `clock`.
    pub fn new(
        clock: C,
        script: impl Fn(&Sample) -> Result<Script, RequestError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { clock, script: Box::new(script) })
    }
}

impl<C: Clock + 'static> Transport for ScriptedTransport<C> {
    type Prepared = Script;

    fn prepare(&self, sample: &Sample) -> Result<Script, RequestError> {
        (self.script)(sample)
    }

    async fn execute(
        &self,
        script: Script,
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        let (sent, zero) = (self.clock.now(), Instant::now());
        recorder.record_sent(sent);
        for piece in 0..script.pieces {
            let after = script.ttft + script.itl * piece;
            tokio::time::sleep_until(zero + after).await;
            arrive(recorder, self.clock.now());
        }
        script.error.map_or_else(|| Ok(Finish::default()), Err)
    }
}

impl<C> std::fmt::Debug for ScriptedTransport<C> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ScriptedTransport")
    }
}

fn arrive(recorder: &mut Recorder, at: Stamp) {
    recorder.body(at, 1);
    recorder.at(at).delta(Delta::content("x").with_tokens(Some(1)));
}
