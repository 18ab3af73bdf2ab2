//! Parses command lines that name a peer's client by its file instead of its module, such as
//! `python3 bench_serving.py …`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::file_name;
use crate::commands::Command;
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
#[cfg(feature = "engine")]
use crate::invocation::bench_offline;
use crate::invocation::{Invocation, bench_serving};
use crate::sglang::one_batch;

/// Returns whether a name is that of a Python file.
pub(super) fn is_python_file(name: &str) -> bool {
    extension(name) == Some("py")
}

/// Returns whether a name is that of a shell, or of a file for one.
pub(super) fn is_shell(name: &str) -> bool {
    extension(name).is_some_and(|end| ["bash", "sh", "zsh"].contains(&end))
        || ["bash", "dash", "sh", "zsh"].contains(&name)
}

fn extension(name: &str) -> Option<&str> {
    Path::new(name).extension().and_then(OsStr::to_str)
}

/// Parses the command line of a peer's client that is the file `script`. The client is recognised
/// by the file's name and, where that is ambiguous, its folder.
pub(super) fn of_file(
    script: &OsStr,
    python: Option<&str>,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let name = file_name(script);
    match name.as_str() {
        "bench_serving.py" => bench_serving(&name, args, environment),
        "serving.py" if is_in(script, "benchmark") => bench_serving(&name, args, environment),
        #[cfg(feature = "engine")]
        "bench_offline_throughput.py" | "offline_throughput.py" => {
            bench_offline(&name, Some(python.unwrap_or("python3")), args, environment)
        }
        "bench_one_batch_server.py" | "one_batch_server.py" => {
            let bench = one_batch::parse(&name, python, args, environment)?;
            Ok(Command::OneBatch(Box::new(bench)).into())
        }
        "benchmark_serving.py" => of_vllms("serve", python, args, environment),
        "serve.py" if is_in(script, "benchmarks") => of_vllms("serve", python, args, environment),
        "benchmark_throughput.py" => of_vllms("throughput", python, args, environment),
        "benchmark_latency.py" => of_vllms("latency", python, args, environment),
        _ => Err(super::refused(CliError::UnknownScript { given: name })),
    }
}

/// Parses the command line of a file of vLLM's as the command of `vllm bench` that took its place.
pub(super) fn of_vllms(
    kind: &str,
    python: Option<&str>,
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<Invocation, UsageError> {
    let words = ["bench", kind].map(OsString::from);
    super::of_vllm(python, words.into_iter().chain(args), environment)
}

/// Returns whether the file is in a folder of this name.
fn is_in(script: &OsStr, folder: &str) -> bool {
    let parent = Path::new(script).parent().and_then(Path::file_name);
    parent.is_some_and(|parent| parent == folder)
}
