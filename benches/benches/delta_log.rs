//! Benchmarks a request's delta log: 1,000 pieces, packed as they arrive and unpacked for a score.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use servemark::core::{Arrival, Delta, DeltaLog, Stamp};

fn main() {
    divan::main();
}

#[divan::bench]
fn push(bencher: Bencher<'_, '_>) {
    let arrivals: Vec<Arrival> = (0..PIECES).map(arrival).collect();
    bencher
        .counter(ItemsCount::new(arrivals.len()))
        .with_inputs(|| DeltaLog::with_capacity(arrivals.len()))
        .bench_values(|log| filled(log, &arrivals));
}

#[divan::bench]
fn unpack(bencher: Bencher<'_, '_>) {
    let arrivals: Vec<Arrival> = (0..PIECES).map(arrival).collect();
    let log = filled(DeltaLog::with_capacity(arrivals.len()), &arrivals);
    bencher
        .counter(ItemsCount::new(arrivals.len()))
        .bench(|| log.rows().map(|row| row.at.as_nanos() ^ u64::from(row.lag_us)).sum::<u64>());
}

fn filled(mut log: DeltaLog, arrivals: &[Arrival]) -> DeltaLog {
    for arrival in arrivals {
        log.push(*arrival, black_box(Delta::content(" token")));
    }
    log
}

/// Returns an arrival about 20 ms after the previous one, seen 30 to 250 us later.
fn arrival(number: u64) -> Arrival {
    let at = 1_000_000_000 + number * 20_000_000 + number * 7919 % 2_000_000;
    Arrival::new(Stamp::from_nanos(at), Stamp::from_nanos(at + 30_000 + number * 6007 % 220_000))
}

const PIECES: u64 = 1000;
