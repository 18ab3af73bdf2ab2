//! The signals of Unix.

use std::fs;
use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::StopCause;

/// Receives the signals that ask the program to end.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Starts to receive the signals, in a Tokio runtime with I/O enabled. From this call on the
    /// signals no longer end the process by themselves.
    ///
    /// SIGHUP stays ignored if it was ignored when the process started, as under `nohup`. This is
    /// detected on Linux only; on other systems SIGHUP is always received.
    pub fn listen() -> io::Result<Self> {
        let hang_up = if ignores(HANG_UP) { None } else { Some(signal(SignalKind::hangup())?) };
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { interrupt, terminate, hang_up })
    }

    /// Waits for the next signal. Dropping the future loses no signal.
    pub async fn next(&mut self) -> StopCause {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            Some(()) = self.interrupt.recv() => StopCause::Interrupt,
            Some(()) = self.terminate.recv() => StopCause::Terminate,
            Some(()) = hang_up => StopCause::HangUp,
            else => pending().await,
        }
    }
}

/// The number of SIGHUP, which POSIX fixes.
const HANG_UP: u32 = 1;

/// Returns whether this process ignores a signal, if the kernel reports it.
fn ignores(number: u32) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, number))
}

/// Reads the mask of ignored signals in a `/proc/PID/status`.
fn is_ignored(status: &str, number: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read_from_the_kernels_text() {
        let status = "Name:\tbench\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, HANG_UP));
        assert!(is_ignored(status, 13));
        assert!(!is_ignored(status, 15));
        assert!(!is_ignored("Name:\tbench\n", HANG_UP));
    }
}
