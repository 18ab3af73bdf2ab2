//! Sends small requests beside the load, to measure the latency of a minimal request under load.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use servemark_core::{MonotonicClock, Sample};
use servemark_pacer::SystemPacer;
use servemark_runner::{LoadSpec, Observer, Runner, Stop, StopHandle, StopSignal};
use servemark_schedule::{ArrivalSpec, Rate};

use super::server::WireTransport;
use crate::runtime::{block_on, of_a_thread};

/// A running prober. It has its own thread and connection, so that it does not delay the load.
#[derive(Debug)]
pub(crate) struct Probes {
    stop: StopHandle,
    /// Channel that closes when the first probe is answered.
    first: Receiver<()>,
    thread: JoinHandle<io::Result<()>>,
}

/// Request and transport of the probes.
pub(crate) struct Probe {
    pub(crate) rate: Rate,
    pub(crate) sample: Sample,
    pub(crate) transport: Arc<WireTransport>,
    pub(crate) observer: Arc<dyn Observer>,
}

impl Probes {
    /// Starts sending probes. Each probe is sent one gap after the answer to the one before.
    pub(crate) fn start(probe: Probe, clock: MonotonicClock) -> io::Result<Self> {
        let runtime = of_a_thread()?;
        let stop = StopHandle::new();
        let signal = stop.signal();
        let (answered, first) = channel();
        let send = move || block_on(&runtime, probe.send(clock, signal, answered));
        let thread = Builder::new().name("probes".to_owned()).spawn(send)?;
        Ok(Self { stop, first, thread })
    }

    /// Stops the prober after the probe in flight. Even if the load was very short, one probe is
    /// completed.
    pub(crate) fn finish(self) -> io::Result<()> {
        let _ = self.first.recv();
        self.end()
    }

    /// Stops the prober and aborts the probe in flight.
    pub(crate) fn abort(self) -> io::Result<()> {
        self.stop.escalate();
        self.end()
    }

    fn end(self) -> io::Result<()> {
        self.stop.escalate();
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the probe thread panicked")))
    }
}

impl Probe {
    /// Sends probes until `stop`; drops `answered` after the first answer.
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
