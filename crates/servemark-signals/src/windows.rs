//! The events of a console of Windows.

use std::future::pending;
use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

use crate::StopCause;

/// Receives the events that ask the program to end.
#[derive(Debug)]
pub struct Signals {
    interrupt: CtrlC,
    breaks: CtrlBreak,
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl Signals {
    /// Starts to receive the events. From this call on they no longer end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            breaks: ctrl_break()?,
            close: ctrl_close()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// Waits for the next event. Dropping the future loses no event.
    pub async fn next(&mut self) -> StopCause {
        tokio::select! {
            Some(()) = self.interrupt.recv() => StopCause::Interrupt,
            Some(()) = self.breaks.recv() => StopCause::Terminate,
            Some(()) = self.shutdown.recv() => StopCause::Terminate,
            Some(()) = self.close.recv() => StopCause::HangUp,
            else => pending().await,
        }
    }
}
