//! The `main` functions of the binaries.

use std::env::args_os;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use servemark::{ExitCode as Code, stopped_by};
use servemark_cli::{ClusterArgs, Environment, Invocation, UsageError, take_cluster};

use tracing_subscriber::filter::LevelFilter;

#[cfg(feature = "commands")]
use crate::commands::starter;
use crate::{screen, serve};

/// Runs `bench-embedding`.
pub fn bench_embedding() -> ExitCode {
    answer(own_args(), |args, environment| {
        servemark_cli::embedding_bench("bench-embedding", args, environment)
    })
    .into()
}

/// Runs `bench-offline`.
#[cfg(feature = "engine")]
pub fn bench_offline() -> ExitCode {
    answer(own_args(), |args, environment| {
        servemark_cli::bench_offline("bench-offline", None, args, environment)
    })
    .into()
}

/// Runs `bench-serving`.
pub fn bench_serving() -> ExitCode {
    answer(own_args(), |args, environment| {
        servemark_cli::bench_serving("bench-serving", args, environment)
    })
    .into()
}

/// Runs `servemark`.
#[cfg(feature = "commands")]
pub fn dispatch() -> ExitCode {
    answer(own_args(), servemark_cli::dispatch::parse).into()
}

/// Runs `servemark` inside a process that another program started, such as a Python interpreter.
/// `args` are the arguments after the program's name. `starter` is the command that starts
/// `servemark` once more, to which its arguments are added.
///
/// It is to be called at most once in a process, whose exit code it returns.
#[cfg(feature = "commands")]
pub fn dispatch_inside(starter: Vec<OsString>, args: Vec<OsString>) -> Code {
    starter::set(starter);
    answer(args, servemark_cli::dispatch::parse)
}

/// Returns the arguments of this process after the program's name.
fn own_args() -> Vec<OsString> {
    args_os().skip(1).collect()
}

fn answer(
    args: Vec<OsString>,
    parse: impl FnOnce(Vec<OsString>, &Environment) -> Result<Invocation, UsageError>,
) -> Code {
    // A closed standard error is not an error of the program.
    let log = tracing_subscriber::fmt().with_ansi(false).without_time();
    let log = log.with_max_level(LevelFilter::WARN);
    log.with_writer(|| screen::LogLines).log_internal_errors(false).init();
    let environment = Environment::from_process();
    screen::set_columns(environment.columns());
    let parse = |args| {
        let (args, cluster) = take_cluster(args, &environment)?;
        Ok((parse(args, &environment)?, cluster))
    };
    match survive_file_size_limit().map(|()| parse(args)) {
        Err(error) => {
            screen::eprint_line(&format!("error: cannot handle signals: {error}"));
            Code::Internal
        }
        Ok(parsed) => answered(parsed, &environment).of_process(stopped_by()),
    }
}

fn answered(
    parsed: Result<(Invocation, Option<ClusterArgs>), UsageError>,
    environment: &Environment,
) -> Code {
    match parsed {
        Ok((invocation, cluster)) => {
            serve::invoked(invocation, cluster.as_ref(), &environment.files_read())
        }
        Err(usage) if usage.is_help() => {
            screen::print(&usage.to_string());
            screen::final_code(Code::Ok)
        }
        Err(usage) => {
            screen::eprint_lines(&usage.to_string());
            Code::Usage
        }
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error. Otherwise the signal
/// that accompanies it ends the program. Windows has no such limit.
fn survive_file_size_limit() -> io::Result<()> {
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    Ok(())
}
