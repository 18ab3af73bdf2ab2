//! Checks that an engine can be loaded before anything is prepared for it.

use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::{EngineError, EngineRunSpec, EngineSpec, WorkerEngine, WorkerSpec};

impl EngineRunSpec {
    /// Fails if this program was built without the engine, if the engine does not run on this
    /// system, or if its Python does not exist or cannot find the engine's modules. The check imports
    /// nothing of the engine. It needs a Tokio runtime with I/O and time.
    pub async fn check_presence(&self) -> Result<(), EngineError> {
        match &self.engine {
            #[cfg(not(feature = "candle"))]
            EngineSpec::Candle(_) => Err(EngineError::NotBuilt { feature: "candle" }),
            #[cfg(feature = "candle")]
            EngineSpec::Candle(_) => Ok(()),
            EngineSpec::Scripted(_) => Ok(()),
            EngineSpec::Worker(worker) if cfg!(not(unix)) => {
                Err(EngineError::Unsupported { name: worker.engine.as_str() })
            }
            EngineSpec::Worker(worker) => worker.check_presence(self.patience).await,
        }
    }
}

impl WorkerSpec {
    async fn check_presence(&self, patience: Duration) -> Result<(), EngineError> {
        let mut command = Command::new(&self.python);
        command.args(["-c", FIND]).args(self.engine.modules()).envs(&self.environment);
        command.stdin(Stdio::null()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let started =
            |source| EngineError::Start { command: self.python.display().to_string(), source };
        let Ok(output) = timeout(patience, command.output()).await else {
            let reason = format!("{} did not end within {patience:?}", self.python.display());
            return Err(self.not_installed(reason));
        };
        match self.missing(&output.map_err(started)?) {
            Some(reason) => Err(self.not_installed(reason)),
            None => Ok(()),
        }
    }

    /// Returns why the engine cannot be loaded, judged by the output of the search for its modules.
    fn missing(&self, output: &Output) -> Option<String> {
        let python = self.python.display();
        let printed = String::from_utf8_lossy(&output.stdout);
        if let Some(module) = printed.lines().find_map(|line| line.strip_prefix(MISSING)) {
            return Some(format!("{python} has no module named {module}"));
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().next_back().map(|line| format!(": {line}")).unwrap_or_default();
        (!output.status.success()).then(|| format!("{python} ended with {}{last}", output.status))
    }

    fn not_installed(&self, reason: String) -> EngineError {
        EngineError::NotInstalled { name: self.engine.as_str(), reason }
    }
}

impl WorkerEngine {
    /// Returns the Python modules of the engine that the worker imports, and those that every
    /// engine needs.
    const fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Sglang | Self::SglangRuntime => &["sglang", "torch", "transformers"],
            Self::Transformers => &["torch", "transformers"],
            Self::Vllm => &["vllm", "torch", "transformers"],
        }
    }
}

/// A Python program that prints the first module in its arguments that Python cannot find. As in
/// the worker, a folder of that name in the working directory does not count.
const FIND: &str = "\
import sys
if sys.path and not sys.path[0]:
    del sys.path[0]
from importlib.util import find_spec
for module in sys.argv[1:]:
    if find_spec(module) is None:
        print('missing', module)
        break
";

const MISSING: &str = "missing ";
