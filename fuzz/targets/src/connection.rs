//! Target for a whole connection: the client sends a request and is answered with any bytes.

use std::cell::RefCell;
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::client::{Credentials, HttpTransport, Target, TargetSpec};
use servemark::core::{MonotonicClock, Phase, Recorder, Sample, Stamp, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::scratch;

/// Answers a request with any bytes, in writes of one length: the request ends with a record. The
/// first byte chooses the dialect, the second one the length of the writes.
pub fn connection(bytes: &[u8]) {
    let Some((backend, rest)) = scratch::choice(bytes, BackendName::ALL.len()) else { return };
    let Some((length, answer)) = scratch::choice(rest, 256) else { return };
    RUNTIME.with_borrow_mut(|runtime| {
        let runtime = runtime.get_or_insert_with(runtime_of_this_thread);
        runtime.block_on(ask(BackendName::ALL[backend], length, answer));
    });
}

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

fn runtime_of_this_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn ask(backend: BackendName, length: usize, answer: &[u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has ports");
    let address = listener.local_addr().expect("it listens");
    let mut spec = TargetSpec::new(format!("http://{address}").parse().expect("an address"));
    let patience = Duration::from_secs(5);
    (spec.timeouts.connect, spec.timeouts.first_byte) = (patience, patience);
    spec.timeouts.idle = patience;
    let target = Target::new(&spec, Credentials::new()).expect("a target");
    let backend = BackendSpec::new(backend, CommonSpec::new("m")).build();
    let transport = HttpTransport::new(target, backend, MonotonicClock::start());
    let sample = Sample::new("x", 1, 16);
    let Ok(call) = transport.prepare(&sample) else { return };
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
    let requested = transport.execute(call, &mut recorder);
    let answered = serve(&listener, length, answer);
    let (outcome, ()) = tokio::join!(requested, answered);
    let record = recorder.finish(outcome, Stamp::from_nanos(u64::MAX));
    if let Err(error) = record.outcome {
        assert!(!error.message.is_empty());
    }
}

/// Answers one request and closes the connection.
async fn serve(listener: &TcpListener, length: usize, answer: &[u8]) {
    let Ok((mut stream, _)) = listener.accept().await else { return };
    // The request fits a read, or the rest of it is not read.
    let _ = stream.read(&mut [0; 16_384]).await;
    let _ = send(&mut stream, length, answer).await;
    let _ = stream.shutdown().await;
}

async fn send(stream: &mut TcpStream, length: usize, answer: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    match length {
        0 => stream.write_all(answer).await,
        length => {
            for piece in answer.chunks(length) {
                stream.write_all(piece).await?;
            }
            Ok(())
        }
    }
}
