//! Benchmarks scoring a run log.

use divan::Bencher;
use divan::counter::ItemsCount;
use servemark::metrics::{MetricPolicy, Metrics, Summary};
use servemark_benches::logs;

fn main() {
    divan::main();
}

/// Scores 1,000 requests of 256 tokens.
#[divan::bench]
fn score_by_our_definitions(bencher: Bencher<'_, '_>) {
    score(bencher, &MetricPolicy::native());
}

#[divan::bench]
fn score_by_sglangs_definitions(bencher: Bencher<'_, '_>) {
    score(bencher, &MetricPolicy::sglang());
}

/// Computes mean, standard deviation and five percentiles of a million samples, with sorting.
#[divan::bench]
fn percentiles_of_a_million(bencher: Bencher<'_, '_>) {
    let sample: Vec<f64> = (0..1_000_000_u64).map(scattered).collect();
    let policy = MetricPolicy::native();
    bencher.counter(ItemsCount::new(sample.len())).bench(|| Summary::of(&sample, &policy));
}

fn score(bencher: Bencher<'_, '_>, policy: &MetricPolicy) {
    let log = logs::run_log(REQUESTS, TOKENS);
    let tokens = REQUESTS * TOKENS as usize;
    bencher.counter(ItemsCount::new(tokens)).bench(|| {
        let metrics = Metrics::score(&log, policy);
        assert_eq!(metrics.requests.completed, REQUESTS);
        metrics
    });
}

/// Returns a gap around 20 ms in scattered order: multiples of the golden ratio fill the unit
/// interval evenly.
fn scattered(number: u64) -> f64 {
    0.02 * (0.9 + 0.2 * (number as f64 * 0.618_033_988_749_895).fract())
}

const REQUESTS: usize = 1000;
const TOKENS: u32 = 256;
