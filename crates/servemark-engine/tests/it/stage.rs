//! A small run: from samples to records.

use std::sync::Arc;

use servemark_core::{
    Clock, MonotonicClock, Phase, Prompt, Recorder, RequestRecord, Sample, Tokenizer, Transport,
};
use servemark_engine::{Engine, EngineError, EngineRunSpec, EngineTransport, Waves};
use servemark_testkit::ByteTokenizer;

/// Loads an engine and submits prompts with these texts, all of them concurrently.
pub(crate) fn run(spec: &EngineRunSpec, texts: &[&str]) -> Result<Vec<RequestRecord>, EngineError> {
    run_samples(spec, samples(texts))
}

/// Loads an engine and submits these samples, all of them concurrently.
pub(crate) fn run_samples(
    spec: &EngineRunSpec,
    samples: Vec<Sample>,
) -> Result<Vec<RequestRecord>, EngineError> {
    block_on(async {
        let clock = MonotonicClock::start();
        let engine = Engine::start(spec, clock).await?;
        let records = send_samples(&engine, clock, samples).await;
        engine.shut_down().await;
        Ok(records)
    })
}

/// Submits prompts with these texts to an engine, all of them concurrently.
#[cfg(unix)]
pub(crate) async fn send(
    engine: &Engine,
    clock: MonotonicClock,
    texts: &[&str],
) -> Vec<RequestRecord> {
    send_samples(engine, clock, samples(texts)).await
}

/// Returns prompts with these texts, for three tokens each.
fn samples(texts: &[&str]) -> Vec<Sample> {
    let sample = |text: &&str| Sample::new(Prompt::from(*text), text.len() as u32, 3);
    texts.iter().map(sample).collect()
}

async fn send_samples(
    engine: &Engine,
    clock: MonotonicClock,
    samples: Vec<Sample>,
) -> Vec<RequestRecord> {
    let tokenizer: Arc<dyn Tokenizer> = Arc::new(ByteTokenizer);
    let transport = Arc::new(EngineTransport::new(engine.clone(), Some(tokenizer)));
    transport.expect(Waves::whole(samples.len()));
    let mut tasks = Vec::new();
    for (index, sample) in samples.into_iter().enumerate() {
        let transport = Arc::clone(&transport);
        tasks.push(tokio::spawn(async move {
            let mut recorder = Recorder::new(index, Phase::Measure, &sample, clock.now());
            let call = transport.prepare(&sample).unwrap();
            let outcome = transport.execute(call, &mut recorder).await;
            recorder.finish(outcome, clock.now())
        }));
    }
    let mut records = Vec::new();
    for task in tasks {
        records.push(task.await.unwrap());
    }
    records
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}
