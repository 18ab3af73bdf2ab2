//! Reading a stream allocates nothing per chunk.

use allocation_counter::measure;
use servemark_backends::{BackendName, BackendSpec, CommonSpec};
use servemark_client::TargetSpec;
use servemark_core::{Phase, Recorder, Sample, Stamp, Transport};
use servemark_mock::{MockServer, MockSpec};
use tokio::runtime::{Builder, Runtime};

use crate::support::over;

/// Returns the number of allocations of this thread while it waits for a stream of `tokens` tokens
/// on a warm connection. The server has threads of its own.
fn allocations(runtime: &Runtime, spec: &TargetSpec, tokens: u32) -> u64 {
    let chat = BackendSpec::new(BackendName::VllmChat, CommonSpec::new("mock")).build();
    let transport = over(spec, chat);
    let stream = || {
        // The recorder's memory is reserved before the count begins.
        let sample = Sample::new("hi", 1, tokens);
        let call = transport.prepare(&sample).unwrap();
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        let executed = measure(|| {
            runtime.block_on(transport.execute(call, &mut recorder)).unwrap();
        });
        assert_eq!(recorder.pieces(), tokens as usize);
        executed.count_total
    };
    stream();
    stream()
}

#[test]
fn a_chunk_costs_no_allocation() {
    let server = MockServer::start(MockSpec::default()).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let spec = TargetSpec::new(server.base_url().parse().unwrap());
    let [short, long] = [20, 400].map(|tokens| allocations(&runtime, &spec, tokens));
    assert!(short > 0, "a request allocates; if none is counted, this test shows nothing");
    assert_eq!(short, long);
}

/// A run holds one future per stream, and each read goes through it: a large one is cold in the
/// caches.
#[test]
fn a_request_in_flight_is_small() {
    let spec = TargetSpec::new("http://127.0.0.1:1".parse().unwrap());
    let transport =
        over(&spec, BackendSpec::new(BackendName::VllmChat, CommonSpec::new("mock")).build());
    let sample = Sample::new("hi", 1, 1);
    let call = transport.prepare(&sample).unwrap();
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
    let size = size_of_val(&transport.execute(call, &mut recorder));
    assert!(size <= 2_560, "{size} bytes");
}
