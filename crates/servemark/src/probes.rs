//! Small requests beside the load: how does a user fare who asks for next to nothing?

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use servemark_backends::WireBackend;
use servemark_client::HttpTransport;
use servemark_core::{MonotonicClock, Sample};
use servemark_pacer::SystemPacer;
use servemark_runner::{LoadSpec, Observer, Runner, Stop, StopHandle, StopSignal};
use servemark_schedule::{ArrivalSpec, Rate};
use tokio::runtime;

/// Whoever sends them, on a thread and a connection of its own, so that the load does not wait.
#[derive(Debug)]
pub(crate) struct Probes {
    stop: StopHandle,
    /// Ends when the first one was answered.
    first: Receiver<()>,
    thread: JoinHandle<io::Result<()>>,
}

/// What is sent, and by which way.
pub(crate) struct Probe {
    pub(crate) rate: Rate,
    pub(crate) sample: Sample,
    pub(crate) transport: Arc<HttpTransport<WireBackend>>,
    pub(crate) observer: Arc<dyn Observer>,
}

impl Probes {
    /// Begins at once. Each probe waits for the answer to the one before, and then for a gap.
    pub(crate) fn start(probe: Probe, clock: MonotonicClock) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = StopHandle::new();
        let signal = stop.signal();
        let (answered, first) = channel();
        let send = move || runtime.block_on(probe.send(clock, signal, answered));
        let thread = Builder::new().name("probes".to_owned()).spawn(send)?;
        Ok(Self { stop, first, thread })
    }

    /// Lets the last probe be answered, or gives it up where the user is in a hurry. However short
    /// the load was, one probe is sent.
    pub(crate) fn finish(self, is_hurried: bool) -> io::Result<()> {
        if is_hurried {
            self.stop.escalate();
        } else {
            let _ = self.first.recv();
        }
        self.stop.escalate();
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("their thread died")))
    }
}

impl Probe {
    /// Drops `answered` when the first is.
    async fn send(
        self,
        clock: MonotonicClock,
        stop: StopSignal,
        answered: Sender<()>,
    ) -> io::Result<()> {
        let load = LoadSpec::new(ArrivalSpec::Burst);
        let runner = Runner::new(SystemPacer::new(clock)?, &load, self.observer, stop.clone());
        let gap = Duration::from_secs_f64(1.0 / self.rate.per_second());
        let mut answered = Some(answered);
        while runner.probe(&self.transport, &self.sample).await.is_some() {
            drop(answered.take());
            tokio::select! {
                () = stop.reached(Stop::Drain) => break,
                () = runner.wait(gap) => {}
            }
        }
        Ok(())
    }
}
