//! Somebody else's work on the client's core.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::machine::pin;

/// A process that keeps a core busy until this is dropped.
#[derive(Debug)]
pub(super) struct Hog {
    child: Child,
}

impl Hog {
    /// Starts `program` as a hog, which must call [`hog`].
    pub(super) fn start(program: &Path, core: usize) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args([HOG, &core.to_string()]).stdin(Stdio::piped());
        Ok(Self { child: command.spawn().context("cannot start the hog")? })
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // One that cannot be waited for is gone already.
        let _ = self.child.wait();
    }
}

/// The body of a process that keeps a core busy until its input ends. Says whether the arguments
/// ask for one.
pub fn hog(args: &[String]) -> anyhow::Result<bool> {
    let [first, core] = args else { return Ok(false) };
    if first != HOG {
        return Ok(false);
    }
    let ended = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&ended);
    let listener = std::thread::spawn(move || {
        // However the input ends, it ends.
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
