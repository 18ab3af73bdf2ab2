//! Ctrl-C.

use std::process::exit;

use servemark_runner::Stop;
use tokio::signal::unix::{SignalKind, signal};

use crate::execute::on_this_thread;
use crate::{ExecuteError, ExitCode, News, RunContext};

/// Lets Ctrl-C stop the run: once to send no more and report what comes back, twice to report at
/// once. Outside the measurement there is nothing to report, and the second time ends the program.
///
/// It listens on a thread of its own, so it works while samples are drawn, too; and from the moment
/// at which this returns, without a gap between one Ctrl-C and the next.
pub fn stop_on_ctrl_c(context: RunContext) -> Result<(), ExecuteError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(ExecuteError::Machine)?;
    let mut ctrl_c = {
        let _entered = runtime.enter();
        signal(SignalKind::interrupt()).map_err(ExecuteError::Machine)?
    };
    let listen = async move {
        while ctrl_c.recv().await.is_some() {
            stop(&context);
        }
    };
    std::thread::Builder::new()
        .name("ctrl-c".to_owned())
        .spawn(move || runtime.block_on(listen))
        .map(drop)
        .map_err(ExecuteError::Machine)
}

/// Waits for Ctrl-C. If it stopped the run already, there is nothing to wait for.
pub fn stay_until_ctrl_c(context: &RunContext) -> Result<(), ExecuteError> {
    let stop = context.stop.signal();
    on_this_thread(async {
        stop.reached(Stop::Drain).await;
        Ok(())
    })
}

fn stop(context: &RunContext) {
    let asked_before = context.stop.level();
    let level = context.stop.escalate();
    if asked_before == Stop::Now || (level == Stop::Now && !context.live.is_measuring()) {
        quit();
    }
    context.tell(&News::Stopping { level, in_flight: context.live.in_flight() });
}

#[expect(clippy::exit, reason = "the user asked twice, and all that is finished is on disk")]
fn quit() {
    exit(ExitCode::Interrupted as i32);
}
