//! The process of a worker, and the threads that read and write its pipes.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use tempfile::TempDir;
use tokio::sync::watch;

use super::log::{self, Log};
use super::protocol::{Listener, Order};
use crate::{EngineError, LastLines, WorkerExit, WorkerSpec};

/// The process of a worker. Dropping this kills it and every process that it has started.
#[derive(Debug)]
pub(super) struct Process {
    orders: Sender<Vec<u8>>,
    state: Arc<State>,
    /// A channel that is closed when all processes have ended.
    over: Mutex<Receiver<()>>,
    ended: watch::Receiver<bool>,
    /// The folder with the worker's program and the module that it imports.
    _folder: TempDir,
}

#[derive(Debug)]
struct State {
    /// The process id of the supervisor, until it is reaped.
    supervisor: Mutex<Option<Pid>>,
    log: Log,
    exit: Mutex<Option<WorkerExit>>,
}

impl Process {
    /// Starts the process; `listener` handles the lines that it writes.
    pub(super) fn start(spec: &WorkerSpec, listener: Listener) -> Result<Self, EngineError> {
        let folder = tempfile::Builder::new().prefix("servemark-engine-").tempdir()?;
        let program = folder.path().join("servemark_worker.py");
        fs::write(&program, PROGRAM)?;
        fs::write(folder.path().join("servemark_engines.py"), ENGINES)?;
        let mut command = Command::new(&spec.python);
        command.arg(&program).envs(&spec.environment).env("PYTHONUNBUFFERED", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let message = format!("{} {}", spec.python.display(), program.display());
        let mut child = command
            .process_group(0)
            .spawn()
            .map_err(|source| EngineError::Start { command: message, source })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three are piped")
        };
        let state = Arc::new(State {
            supervisor: Mutex::new(Some(Pid::from_child(&child))),
            log: Log::keep(stderr, log::created(spec)?)?,
            exit: Mutex::default(),
        });
        let orders = write_to(stdin)?;
        let ((alive, over), (notify, ended)) = (channel(), watch::channel(false));
        let reader =
            OutputReader { child, listener, state: Arc::clone(&state), notify, _alive: alive };
        Builder::new().name("engine-output".to_owned()).spawn(move || reader.run(stdout))?;
        Ok(Self { orders, state, over: Mutex::new(over), ended, _folder: folder })
    }

    /// Sends an order, or discards it if the process has ended.
    pub(super) fn write(&self, order: &Order<'_>) {
        let mut line = serde_json::to_vec(order).expect("an order is plain data");
        line.push(b'\n');
        let _ = self.orders.send(line);
    }

    /// Waits for the end of the process.
    pub(super) fn end(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        async move { drop(ended.wait_for(|is_over| *is_over).await) }
    }

    /// Returns how the process ended.
    pub(super) fn exit_cause(&self) -> WorkerExit {
        let death = self.state.exit.lock().unwrap_or_else(PoisonError::into_inner).clone();
        death.unwrap_or_else(|| WorkerExit::new("for an unknown reason", self.printed()))
    }

    /// Returns the last lines that the process has printed so far.
    pub(super) fn printed(&self) -> LastLines {
        self.state.log.so_far()
    }

    /// Makes the supervisor kill all processes, and kills the supervisor's process group if that
    /// takes too long.
    pub(super) fn kill(&self) {
        self.state.signal(|supervisor| kill_process(supervisor, Signal::TERM));
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if over.recv_timeout(KILLING) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            self.state.signal(|group| kill_process_group(group, Signal::KILL));
            let _ = over.recv_timeout(KILLING);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !*self.ended.borrow() {
            self.kill();
        }
    }
}

impl State {
    /// Sends a signal while the process id is still valid. A process that has already ended is not
    /// an error.
    fn signal(&self, send: impl FnOnce(Pid) -> rustix::io::Result<()>) {
        if let Some(pid) = *self.supervisor() {
            let _ = send(pid);
        }
    }

    fn supervisor(&self) -> MutexGuard<'_, Option<Pid>> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the output of a process to its end.
struct OutputReader {
    child: Child,
    listener: Listener,
    state: Arc<State>,
    notify: watch::Sender<bool>,
    _alive: Sender<()>,
}

impl OutputReader {
    fn run(mut self, stdout: ChildStdout) {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let how = { lines }.find_map(|line| self.listener.line(&line));
        self.reap();
        let how = how.unwrap_or_else(|| "it was killed with its supervisor".to_owned());
        let death = WorkerExit::new(how, self.state.log.last_words());
        let why = death.to_string();
        *self.state.exit.lock().unwrap_or_else(PoisonError::into_inner) = Some(death);
        self.listener.close(&why);
        self.notify.send_replace(true);
    }

    /// Waits for the supervisor's end without reaping it, kills the rest of its group, then reaps
    /// it and forgets its id. Until then the id cannot be reused.
    fn reap(&mut self) {
        let pid = Pid::from_child(&self.child);
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let mut supervisor = self.state.supervisor();
        // Processes of the group can be left if the supervisor was killed.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = self.child.wait();
        *supervisor = None;
    }
}

/// Starts a thread that writes orders, so that no other thread blocks on an engine that does not
/// read.
fn write_to(mut stdin: ChildStdin) -> io::Result<Sender<Vec<u8>>> {
    let (orders, inbox) = channel::<Vec<u8>>();
    let work = move || {
        // The thread that reads the worker's output notices when it has ended.
        for line in inbox {
            if stdin.write_all(&line).is_err() {
                return;
            }
        }
    };
    Builder::new().name("engine-orders".to_owned()).spawn(work)?;
    Ok(orders)
}

/// The worker and its supervisor.
const PROGRAM: &str = include_str!("worker.py");
/// The module that the worker imports.
const ENGINES: &str = include_str!("engines.py");

/// How long to wait for the kernel to end processes that were killed.
const KILLING: Duration = Duration::from_secs(10);
