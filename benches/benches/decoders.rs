//! Benchmarks each route's decoder on its stream, with its allocations. On OpenAI's two routes it
//! allocates nothing per token unless the text is escaped, because the recorder reserves the
//! expected size of an answer.

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher, black_box};
use servemark::backends::{Backend, Decoder, Flow, Route};
use servemark::core::{Phase, Recorder, Sample, Stamp};
use servemark::sse::Event;
use servemark_benches::streams;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench]
fn chat(bencher: Bencher<'_, '_>) {
    bench(bencher, Route::CHAT, &streams::PLAIN);
}

/// Escaped text cannot be borrowed from the frame.
#[divan::bench]
fn chat_escaped(bencher: Bencher<'_, '_>) {
    bench(bencher, Route::CHAT, &streams::ESCAPED);
}

#[divan::bench]
fn completions(bencher: Bencher<'_, '_>) {
    bench(bencher, Route::COMPLETIONS, &streams::PLAIN);
}

/// Events of `/generate` repeat the whole text, so each is one token longer than the previous one.
#[divan::bench]
fn generate(bencher: Bencher<'_, '_>) {
    bench(bencher, Route::GENERATE, &streams::PLAIN);
}

/// Benchmarks decoding the tokens of one answer. As in a run, its decoder and its recorder are
/// created outside the measured time.
fn bench(bencher: Bencher<'_, '_>, route: Route, words: &[&str]) {
    let payloads = streams::payloads(route, words, TOKENS);
    let (backend, sample) = (streams::backend(route), Sample::new("hi", 1, TOKENS as u32));
    bencher
        .counter(BytesCount::new(payloads.iter().map(String::len).sum::<usize>()))
        .counter(ItemsCount::new(TOKENS))
        .with_inputs(|| {
            let recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
            (backend.decoder(&sample), recorder)
        })
        .bench_local_refs(|(decoder, recorder)| {
            for payload in black_box(&payloads) {
                let event = Event::from_data(payload.as_bytes());
                let flow = decoder.event(event, &mut recorder.at(Stamp::ZERO));
                assert_eq!(flow, Ok(Flow::Continue));
            }
        });
}

const TOKENS: usize = 256;
