//! A system on which no worker process is started.

use servemark_engine::{EngineRunSpec, EngineSpec, WorkerEngine, WorkerSpec};

use crate::stage::{block_on, run};

#[test]
fn the_system_is_named_as_the_reason_and_not_python() {
    let worker = WorkerSpec::new(WorkerEngine::Vllm, "no-such-python");
    let spec = EngineRunSpec::new(EngineSpec::Worker(Box::new(worker)));
    let checked = block_on(async { spec.check_presence().await.unwrap_err() });
    for error in [checked, run(&spec, &["a"]).unwrap_err()] {
        assert_eq!(
            error.to_string(),
            "the engine vllm runs in a process of its own, which this program starts on Linux and \
             macOS only"
        );
    }
}
