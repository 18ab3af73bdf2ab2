//! Measures streams that wait.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use servemark::backends::{Route, WireBackend};
use servemark::client::{Credentials, HttpTransport, Target, TargetSpec, raise_nofile};
use servemark::core::{Clock, MonotonicClock, Phase, Recorder, Sample, Stamp, Transport};
use servemark::mock::MockSpec;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep_until};

use super::Figures;
use crate::overhead::Server;
use crate::resident::{now_mib, peak_mib};
use crate::streams::backend;

type Client = Arc<HttpTransport<WireBackend>>;

/// Measures the memory of each of `streams` streams that has received three pieces and waits for
/// the fourth, with its connection and its record.
pub(super) fn measure(streams: usize) -> anyhow::Result<Figures> {
    raise_nofile()?;
    let program = std::env::current_exe().context("cannot find this program again")?;
    let stalling = MockSpec::new(Duration::from_millis(50), Duration::from_millis(10))
        .with_fault(format!("stall@{PIECES}").parse()?);
    let server = Server::start(&program, &stalling, None)?;
    let target = Target::new(&TargetSpec::new(server.url().parse()?), Credentials::new())?;
    let clock = MonotonicClock::start();
    let client = Arc::new(HttpTransport::new(target, backend(Route::CHAT), clock));
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, open(client, clock, streams))
}

async fn open(client: Client, clock: MonotonicClock, streams: usize) -> anyhow::Result<Figures> {
    let before = now_mib()?;
    client.preconnect(streams).await?;
    // The server's schedule is exact: at `measured` every stream has its three pieces.
    let patience = Duration::from_secs(1) + Duration::from_millis(1) * streams as u32;
    let [measured, over] =
        [1, 2].map(|times| Instant::from(clock.instant(clock.now() + patience * times)));
    let open: Vec<JoinHandle<usize>> =
        (0..streams).map(|index| spawn_local(wait(Arc::clone(&client), index, over))).collect();
    sleep_until(measured).await;
    let figures = Figures {
        peak_mib: peak_mib()?,
        bytes_each: (now_mib()? - before) * 1024.0 * 1024.0 / streams as f64,
        seconds: None,
    };
    for stream in open {
        let pieces = stream.await?;
        ensure!(pieces == PIECES, "a stream had {pieces} pieces");
    }
    Ok(figures)
}

/// Opens a stream and returns its number of pieces at `over`.
async fn wait(client: Client, index: usize, over: Instant) -> usize {
    let sample = Sample::new("Tell me a story.", 4, TOKENS);
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, Stamp::ZERO);
    if let Ok(call) = client.prepare(&sample) {
        tokio::select! {
            _ = client.execute(call, &mut recorder) => {}
            () = sleep_until(over) => {}
        }
    }
    recorder.pieces()
}

const PIECES: usize = 3;

/// Tokens that each request asks for, which determine what its record reserves.
const TOKENS: u32 = 1000;
