//! A CPU hog: a process that competes for the client's core.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::machine::pin;

/// A process that keeps a core busy until it is dropped.
#[derive(Debug)]
pub(super) struct Hog {
    child: Child,
}

impl Hog {
    /// Starts `program`, which must call [`hog`], as a CPU hog.
    pub(super) fn start(program: &Path, core: usize) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args([HOG, &core.to_string()]).stdin(Stdio::piped());
        Ok(Self { child: command.spawn().context("cannot start the hog")? })
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // An error means that the process is gone already.
        let _ = self.child.wait();
    }
}

/// Runs a process that keeps a core busy until its standard input ends. Returns whether the
/// arguments ask for it.
pub fn hog(args: &[String]) -> anyhow::Result<bool> {
    let [first, core] = args else { return Ok(false) };
    if first != HOG {
        return Ok(false);
    }
    let ended = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&ended);
    let listener = std::thread::spawn(move || {
        // An error ends the input too.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        end.store(true, Ordering::Relaxed);
    });
    pin(core.parse()?)?;
    while !ended.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    drop(listener.join());
    Ok(true)
}

const HOG: &str = "hog";
