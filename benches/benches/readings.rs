//! Benchmarks how the texts of an exporter become readings: the first text of a source, and the later
//! ones, which have the same lines with other values.

use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use servemark::core::Stamp;
use servemark_benches::expositions::versions;
use servemark_telemetry::Readings;

fn main() {
    divan::main();
}

#[divan::bench(args = TEXTS)]
fn first_text(bencher: Bencher<'_, '_>, fixture: &str) {
    let text = text(fixture);
    bencher
        .counter(BytesCount::of_str(text.as_str()))
        .with_inputs(|| (Readings::new(0, Arc::default()), text.as_str().into()))
        .bench_values(|(mut readings, mut text)| {
            let lines = readings.read(black_box(&mut text), Stamp::ZERO, 0);
            (lines, readings, text)
        });
}

/// One text after the other, of which a share of the numbers is new.
#[divan::bench(args = [0, 8, 62, 100])]
fn next_text(bencher: Bencher<'_, '_>, changing: u32) {
    let texts = versions(&text(TEXTS[0]), changing);
    let mut readings = Readings::new(0, Arc::default());
    assert!(readings.read(&mut texts[0].as_str().into(), Stamp::ZERO, 0).is_some());
    let mut next = texts.iter().cycle().skip(1);
    bencher
        .counter(BytesCount::of_str(texts[0].as_str()))
        .with_inputs(|| next.next().map(|text| text.as_str().into()).expect("it has no end"))
        .bench_local_values(|mut text| {
            let lines = readings.read(black_box(&mut text), Stamp::ZERO, 0);
            (lines, text)
        });
}

fn text(fixture: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/exposition/");
    std::fs::read_to_string(format!("{folder}{fixture}")).expect("the fixture is readable")
}

/// Texts of real servers.
const TEXTS: [&str; 2] = ["vllm-0.32.0.metrics.txt", "sglang-0.5.23.metrics.txt"];
