//! Control requests to the server around the measurement: readiness check, cache flush, profiler.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use servemark_backends::{BackendName, ServerKind};
use servemark_core::JsonObject;
use servemark_plan::{ControlSpec, ProfileSpec, Profiled, WorkerSpec};

use super::args::{LoadArgs, ProfileArgs, SglangArgs, TargetArgs};
use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, seconds};

/// Returns the readiness check, the cache flush and the profiler that the flags ask for.
pub(super) fn control(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<ControlSpec, CliError> {
    let mut control = ControlSpec::default();
    // A negative time counts as zero, as in SGLang.
    let patience = args.target.ready_check_timeout_sec.max(0);
    let ready = at_least(TargetArgs::READY_CHECK_TIMEOUT_SEC, 0, patience)?;
    control.ready_timeout = Duration::from_secs(ready);
    control.flush_cache = flush(&args.load, backend, environment)?;
    if args.profile.profile {
        control.profile = Some(profile(&args.profile, environment, warnings));
    }
    args.telemetry.apply(&mut control)?;
    Ok(control)
}

/// Returns how long flushing the cache may take; `None` if the cache is not flushed. SGLang's own
/// tests set `SGLANG_IS_IN_CI`, so that none of their runs finds the cache of another; it has an
/// effect on SGLang's backends only.
fn flush(
    args: &LoadArgs,
    backend: BackendName,
    environment: &Environment,
) -> Result<Option<Duration>, CliError> {
    let is_forced = backend.server() == ServerKind::Sglang && environment.is_on("SGLANG_IS_IN_CI");
    let timeout = seconds(LoadArgs::FLUSH_CACHE_TIMEOUT, args.flush_cache_timeout)?;
    Ok((args.flush_cache || is_forced).then_some(timeout))
}

/// Returns the profiler with the bodies of `/start_profile` and `/stop_profile`: keys and order are
/// those of SGLang 0.5.23's client.
fn profile(
    args: &ProfileArgs,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> ProfileSpec {
    let (steps, num_steps) = (args.profile_steps, args.profile_num_steps);
    // With `--pd-separated` SGLang's client stops the workers itself, even if it gave them
    // `--profile-num-steps`.
    let stops_by_itself = steps.is_some() || num_steps.is_some() && !args.pd_separated;
    let num_steps = num_steps.or(args.profile_by_stage.then_some(STEPS_BY_STAGE));
    let mut start = object([
        ("activities", json!(args.profile_activities)),
        ("num_steps", json!(num_steps)),
        ("profile_by_stage", json!(args.profile_by_stage)),
        ("profile_stages", json!(args.profile_stages)),
        ("output_dir", json!(output_dir(args, environment))),
        ("profile_prefix", json!(args.profile_prefix)),
    ]);
    let mut stop = JsonObject::new();
    // SGLang's client sends these two numbers as text.
    if let Some(step) = args.profile_start_step {
        start.insert("start_step".to_owned(), json!(step.to_string()));
        stop.insert("start_step".to_owned(), json!(step.to_string()));
    }
    if let Some(steps) = steps {
        start.insert("num_steps".to_owned(), json!(steps.to_string()));
    }
    ProfileSpec {
        of: profiled(args, warnings),
        start,
        stop: (!stops_by_itself).then_some(stop),
        ..ProfileSpec::default()
    }
}

/// Returns what is profiled: the server or, with `--pd-separated`, the workers in the order of the
/// command line, those for prefill before those for decode.
fn profiled(args: &ProfileArgs, warnings: &mut Vec<String>) -> Profiled {
    if !args.pd_separated {
        return Profiled::Server;
    }
    let roles = [
        ("Prefill", ProfileArgs::PROFILE_PREFILL_URL, &args.profile_prefill_url),
        ("Decode", ProfileArgs::PROFILE_DECODE_URL, &args.profile_decode_url),
    ];
    let workers = roles.into_iter().flat_map(|(role, flag, urls)| {
        workers(role, flag, urls.as_deref().unwrap_or_default(), warnings)
    });
    Profiled::Workers(workers.collect())
}

/// Returns the workers of a role. As in SGLang's client, a worker with an invalid URL is left out
/// with a warning.
fn workers(role: &str, flag: Flag, urls: &[String], warnings: &mut Vec<String>) -> Vec<WorkerSpec> {
    let mut worker = |(number, url): (usize, &String)| match url.parse() {
        Ok(url) => Some(WorkerSpec::new(format!("{role}-{number}"), url)),
        Err(error) => {
            warnings.push(format!("{flag}: {role}-{number} is not profiled: {url:?}: {error}"));
            None
        }
    };
    urls.iter().enumerate().filter_map(&mut worker).collect()
}

pub(super) fn object<const N: usize>(pairs: [(&str, Value); N]) -> JsonObject {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns a folder for the traces of this run alone. SGLang's client also creates it, on the
/// client's machine; here only the server does, on its own machine, where it is needed.
fn output_dir(args: &ProfileArgs, environment: &Environment) -> PathBuf {
    let chosen = args.profile_output_dir.as_deref();
    let base = chosen.or(environment.variable("SGLANG_TORCH_PROFILER_DIR")).unwrap_or("/tmp");
    let folder = normal(&environment.directory().join(base));
    folder.join(format!("{:?}", environment.now().unix_seconds))
}

/// Returns a path without `.` and `..`. Like Python's `os.path.abspath` it considers only the
/// path's components, not the file system.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// Number of steps that SGLang's client asks for with `--profile-by-stage` if `--profile-num-steps`
/// is absent.
const STEPS_BY_STAGE: i64 = 5;
