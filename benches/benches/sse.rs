//! Benchmarks the event-stream parser on a chat stream, compared with a naive line splitter.

use std::convert::Infallible;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use servemark::sse::Parser;
use servemark_benches::streams;

fn main() {
    divan::main();
}

/// One event per read, as a live server's events arrive.
#[divan::bench]
fn one_event_per_read(bencher: Bencher<'_, '_>) {
    bench(bencher, &streams::chat_events(EVENTS), parse);
}

/// Many events per read, as they arrive when the reader is behind.
#[divan::bench]
fn many_events_per_read(bencher: Bencher<'_, '_>) {
    bench(bencher, &merged(), parse);
}

/// Every event split into two reads, so that all events are copied.
#[divan::bench]
fn two_reads_per_event(bencher: Bencher<'_, '_>) {
    let events = streams::chat_events(EVENTS);
    let halves = events.iter().flat_map(|event| event.chunks(event.len().div_ceil(2)));
    bench(bencher, &halves.map(<[u8]>::to_vec).collect::<Vec<_>>(), parse);
}

#[divan::bench]
fn naive_one_event_per_read(bencher: Bencher<'_, '_>) {
    bench(bencher, &streams::chat_events(EVENTS), split_naively);
}

#[divan::bench]
fn naive_many_events_per_read(bencher: Bencher<'_, '_>) {
    bench(bencher, &merged(), split_naively);
}

fn bench(bencher: Bencher<'_, '_>, reads: &[Vec<u8>], count: fn(&[Vec<u8>]) -> usize) {
    assert_eq!(count(reads), EVENTS);
    bencher
        .counter(BytesCount::new(reads.iter().map(Vec::len).sum::<usize>()))
        .counter(ItemsCount::new(EVENTS))
        .bench(|| count(black_box(reads)));
}

fn merged() -> Vec<Vec<u8>> {
    let stream = streams::chat_events(EVENTS).concat();
    stream.chunks(64 << 10).map(<[u8]>::to_vec).collect()
}

fn parse(reads: &[Vec<u8>]) -> usize {
    let (mut parser, mut events) = (Parser::new(), 0);
    for read in reads {
        let fed = parser.feed(read, |event| {
            events += usize::from(!black_box(event.data()).is_empty());
            Ok::<(), Infallible>(())
        });
        fed.expect("nothing here fails");
    }
    events
}

/// Appends each read to a text, removes whole lines from its front and checks their beginning.
fn split_naively(reads: &[Vec<u8>]) -> usize {
    let (mut pending, mut events) = (String::new(), 0);
    for read in reads {
        pending.push_str(&String::from_utf8_lossy(read));
        while let Some(end) = pending.find('\n') {
            let line: String = pending.drain(..=end).collect();
            let data = line.trim().strip_prefix("data:");
            events += usize::from(data.is_some_and(|data| !black_box(data.trim()).is_empty()));
        }
    }
    events
}

const EVENTS: usize = 1000;
