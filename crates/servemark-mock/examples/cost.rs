//! Measures the server's CPU time per chunk: `cost [STREAMS] [CHUNKS] [ITL_MS] [PIECES_PER_WRITE]
//! [THREADS]`.
//!
//! The CPU time is that of the server's threads, including the handling of requests.

#![expect(clippy::print_stdout, reason = "a program that measures and says what it saw")]

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use servemark_mock::{MockServer, MockSpec, TruthRow};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (streams, chunks, itl_ms) = (next(1000)?, next(250)?, next(20)?);
    let (pieces, threads) = (next(1)?, next(1)?);
    // A jitter of one interval spreads the streams evenly over it.
    let mut spec = MockSpec::new(Duration::from_secs(1), Duration::from_millis(itl_ms));
    spec.jitter = spec.itl;
    spec.pieces_per_write = u32::try_from(pieces)?.try_into()?;
    spec.threads = usize::try_from(threads)?.try_into()?;
    let server = MockServer::start(spec.clone())?;
    let before = server.cpu_time().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(read_streams(server.addr(), streams, chunks))?;
    let cpu = server.cpu_time().unwrap_or_default().saturating_sub(before);
    report(&server.take_truth(), cpu, &spec);
    Ok(())
}

async fn read_streams(addr: SocketAddr, streams: u64, chunks: u64) -> std::io::Result<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..streams {
        tasks.spawn(read_stream(addr, chunks));
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(())
}

async fn read_stream(addr: SocketAddr, chunks: u64) -> std::io::Result<()> {
    let mut socket = TcpStream::connect(addr).await?;
    let body = format!(r#"{{"messages":[],"max_completion_tokens":{chunks},"stream":true}}"#);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nConnection: close\r\nContent-Length:";
    socket.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    let mut buffer = vec![0; 4096];
    while socket.read(&mut buffer).await? > 0 {}
    Ok(())
}

fn report(truth: &[TruthRow], cpu: Duration, spec: &MockSpec) {
    let chunks: usize = truth.iter().map(|row| row.sent_ns.len()).sum();
    let last = truth.iter().filter_map(|row| row.sent_ns.last()).max().copied().unwrap_or(1);
    let seconds = Duration::from_nanos(last).saturating_sub(spec.ttft).as_secs_f64();
    println!("{} streams, {chunks} chunks, {:.0} chunks/s", truth.len(), chunks as f64 / seconds);
    println!("{:.2} us of CPU per chunk", cpu.as_secs_f64() * 1e6 / chunks as f64);
}
