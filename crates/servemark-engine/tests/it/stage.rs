//! A run in a few lines: samples in, records out.

use std::sync::Arc;

use servemark_core::{
    Clock, MonotonicClock, Phase, Prompt, Recorder, RequestRecord, Sample, Tokenizer, Transport,
};
use servemark_engine::{Engine, EngineError, EngineRunSpec, EngineTransport, Waves};
use servemark_testkit::ByteTokenizer;

/// Loads an engine and gives it prompts of these texts, all of them in flight at once.
pub(crate) fn run(spec: &EngineRunSpec, texts: &[&str]) -> Result<Vec<RequestRecord>, EngineError> {
    run_samples(spec, samples(texts))
}

/// Loads an engine and gives it these, all of them in flight at once.
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

/// Gives an engine prompts of these texts, all of them in flight at once.
pub(crate) async fn send(
    engine: &Engine,
    clock: MonotonicClock,
    texts: &[&str],
) -> Vec<RequestRecord> {
    send_samples(engine, clock, samples(texts)).await
}

/// Prompts of these texts, for three tokens each.
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
