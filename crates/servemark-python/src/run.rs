//! A run of a plan in this process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use servemark::core::Progress;
use servemark::runner::{Stop, StopHandle};
use servemark::{Activity, Live, RunContext, RunEvent, RunObserver};
use servemark_cli::{Environment, FileRun};
use servemark_terminal::{KeptRun, run_into_folder};

use crate::dataset::PythonDataset;
use crate::dialect::{Dialect, PythonDialect};
use crate::raised::Raised;
use crate::{error, json};

/// A run on threads of its own, which never take Python's lock. The run stops if the object is
/// dropped.
#[pyclass(module = "servemark._servemark", frozen)]
#[derive(Debug)]
pub(crate) struct RunHandle {
    stop: StopHandle,
    live: Arc<Live>,
    shared: Arc<Shared>,
    /// The exceptions of a data set and of a dialect in Python that ended the run.
    raised: [Raised; 2],
    /// The exception of an answer that a dialect in Python could not decode.
    undecoded: Raised,
}

/// Parts of a run that its threads and its handle share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when the run has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Messages about events that were not taken yet.
    messages: Vec<String>,
    /// Number of requests of the measurement, once it is known.
    requests: Option<usize>,
    /// Result of the run, until it is taken.
    result: Option<anyhow::Result<KeptRun>>,
    has_ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves a list that is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: anyhow::Result<KeptRun>) {
        let mut state = self.lock();
        (state.result, state.has_ended) = (Some(result), true);
        self.ended.notify_all();
    }
}

impl Progress for Shared {
    fn begin(&self, work: &str, _total: u64) {
        self.lock().messages.push(work.to_owned());
    }

    fn advance(&self, _steps: u64) {}

    fn end(&self) {}
}

impl RunObserver for Shared {
    fn on_event(&self, event: &RunEvent<'_>) {
        let mut state = self.lock();
        if let RunEvent::Measuring { requests, .. } = event {
            state.requests = Some(*requests);
        }
        let message = event.to_string();
        if !message.is_empty() {
            state.messages.push(message);
        }
    }
}

#[pymethods]
impl RunHandle {
    /// Starts a run of a plan, which is a dictionary or the path of a file, with its results in the
    /// folder `out` or in the usual one. A plan may name the data set, whose function is called for
    /// the requests, and the dialect.
    #[new]
    #[pyo3(signature = (plan, out = None, dataset = None, dialect = None))]
    fn new(
        plan: &Bound<'_, PyAny>,
        out: Option<PathBuf>,
        dataset: Option<(String, Py<PyAny>)>,
        dialect: Option<Dialect>,
    ) -> PyResult<Self> {
        let requested = requested(plan, out)?;
        let shared = Arc::new(Shared::default());
        let mut context = RunContext::new(Arc::<Shared>::clone(&shared));
        let (mut raised, mut undecoded) = (<[Raised; 2]>::default(), Raised::default());
        if let Some((name, function)) = dataset {
            let dataset = PythonDataset::new(function);
            raised[0] = dataset.raised();
            context.parts.add_dataset(name, dataset);
        }
        if let Some(dialect) = dialect {
            let (name, dialect) = (dialect.name.clone(), PythonDialect::new(dialect)?);
            raised[1] = dialect.unencoded.clone();
            undecoded = dialect.undecoded.clone();
            context.parts.add_deferred_backend(&name, dialect);
        }
        let (stop, live) = (context.stop.clone(), Arc::clone(&context.live));
        let observed = Arc::clone(&shared);
        let work = move || {
            let run = catch_unwind(AssertUnwindSafe(|| run_into_folder(&requested, &context)));
            observed.end(run.unwrap_or_else(|_| Err(anyhow!("internal error: the run panicked"))));
        };
        thread::Builder::new().name("servemark-run".to_owned()).spawn(work)?;
        Ok(Self { stop, live, shared, raised, undecoded })
    }

    /// Whether the run has ended.
    #[getter]
    fn has_ended(&self) -> bool {
        self.shared.lock().has_ended
    }

    /// Waits for the end of the run, at most for this number of seconds.
    fn wait(&self, python: Python<'_>, seconds: f64) -> PyResult<()> {
        let most = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        python.detach(|| {
            let state = self.shared.lock();
            // A lock that a panic poisoned ends the waiting early, and the caller waits again.
            drop(self.shared.ended.wait_timeout_while(state, most, |state| !state.has_ended));
        });
        // Ctrl-C, if this is Python's main thread.
        python.check_signals()
    }

    /// Asks the run to send nothing more and to wait for the requests in flight; the second time to
    /// abandon them.
    fn stop(&self) {
        self.stop.escalate();
    }

    /// Returns the progress: the activity, the numbers of finished and failed requests and of those
    /// in flight, the number of all requests if it is known, and the messages since the last call.
    fn progress(&self) -> (&'static str, u64, u64, u64, Option<usize>, Vec<String>) {
        let mut state = self.shared.lock();
        let messages = std::mem::take(&mut state.messages);
        let live = &self.live;
        let activity = match live.activity() {
            Activity::Preparing => "preparing",
            Activity::Drawing => "drawing",
            Activity::Measuring => "measuring",
            Activity::Reporting => "reporting",
        };
        (activity, live.finished(), live.failed(), live.in_flight(), state.requests, messages)
    }

    /// Returns the first exception of an answer that could not be decoded, if there is one, and
    /// forgets it.
    fn undecoded(&self, python: Python<'_>) -> Option<Py<PyAny>> {
        self.undecoded.take().map(|exception| exception.into_value(python).into_any())
    }

    /// Returns the summary, the path of the run log, the folder of the results and the exit code.
    fn result<'py>(
        &self,
        python: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<PathBuf>, PathBuf, i32)> {
        if let Some(exception) = self.raised.iter().find_map(Raised::take) {
            return Err(exception);
        }
        let result = self.shared.lock().result.take();
        let result = result.ok_or_else(|| PyRuntimeError::new_err("there is no result"))?;
        let result = result.map_err(|error| error::of_run(python, &error))?;
        let summary = json::loads(python, &result.summary)?;
        Ok((summary, result.run_log, result.folder, result.exit_code as i32))
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.stop.raise(Stop::Now);
    }
}

fn requested(plan: &Bound<'_, PyAny>, out: Option<PathBuf>) -> PyResult<FileRun> {
    let environment = Environment::from_process();
    if let Ok(plan) = plan.cast::<PyDict>() {
        return Ok(FileRun::of_document(("the plan", json::value(plan)?), out, &environment));
    }
    let Ok(path) = plan.extract::<PathBuf>() else {
        return Err(PyTypeError::new_err("a plan is a dict or the path of a file"));
    };
    // A file that cannot be read is an error of the operating system, not a fault of its content.
    let file = plan.py().import("builtins")?.call_method1("open", (&path,))?;
    file.call_method0("close")?;
    Ok(FileRun::of_file(path, out, &environment))
}
