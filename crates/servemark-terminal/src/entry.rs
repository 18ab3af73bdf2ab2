//! The bodies of the binaries.

use std::env::args_os;
use std::ffi::OsString;
use std::process::ExitCode;

use servemark::ExitCode as Code;
use servemark_cli::{Environment, Invocation, UsageError, door as command_line, embedding_bench};

use crate::{screen, serve};

/// The body of `bench-embedding`.
pub fn bench_embedding() -> ExitCode {
    answer(|args, environment| embedding_bench("bench-embedding", args, environment))
}

/// The body of `bench-offline`.
#[cfg(feature = "engine")]
pub fn bench_offline() -> ExitCode {
    answer(|args, environment| {
        command_line::bench_offline("bench-offline", None, args, environment)
    })
}

/// The body of `bench-serving`.
pub fn bench_serving() -> ExitCode {
    answer(|args, environment| command_line::bench_serving("bench-serving", args, environment))
}

/// The body of `servemark`.
pub fn door() -> ExitCode {
    answer(command_line::parse)
}

fn answer(
    parse: impl FnOnce(Vec<OsString>, &Environment) -> Result<Invocation, UsageError>,
) -> ExitCode {
    let log = tracing_subscriber::fmt().with_ansi(false).without_time();
    log.with_writer(|| screen::LogLines).init();
    let args = args_os().skip(1).collect();
    match parse(args, &Environment::from_process()) {
        Ok(invocation) => serve::invoked(invocation).into(),
        Err(usage) if usage.is_help() => {
            screen::print(&usage.to_string());
            Code::Ok.into()
        }
        Err(usage) => {
            screen::complain_lines(&usage.to_string());
            Code::Usage.into()
        }
    }
}
