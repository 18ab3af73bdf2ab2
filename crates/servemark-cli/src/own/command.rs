//! Command lines of Servemark's own commands, which clap reads alone.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};

use crate::error::UsageError;

/// Returns the end of a command's help: examples, one a line, and its exit codes.
pub(crate) fn notes(examples: &[&str], exit_codes: &str) -> String {
    let title = if examples.len() == 1 { "Example" } else { "Examples" };
    format!("{title}:\n  {}\n\nExit codes: {exit_codes}", examples.join("\n  "))
}

/// Returns the end of the help of a command that measures a server: examples, how machines share its
/// load, and its exit codes.
pub(crate) fn online_notes(examples: &[&str], exit_codes: &str) -> String {
    notes(examples, &format!("{exit_codes}\n\n{SHARED}"))
}

/// Returns a help text with how machines share the load of a command that measures a server, and
/// with its exit codes, at its end.
pub(crate) fn with_online_notes(notes: &str) -> String {
    format!("{}\n\n{SHARED}", with_exit_codes(notes))
}

/// How several machines share the load of a command that measures a server.
const SHARED: &str = "Several machines share the load with --coordinator nats://HOST:PORT --world N --rank R (servemark \
     launch --help).";

/// Returns a help text with the exit codes of a command that sends requests at its end.
pub(crate) fn with_exit_codes(notes: &str) -> String {
    format!("{notes}\n\nExit codes: {RUN_EXIT_CODES}")
}

/// Exit codes of a command that sends requests.
pub(crate) const RUN_EXIT_CODES: &str = "0 done, 1 internal error, 2 usage, 3 a gate failed, 4 server not ready, 5 too many requests \
     failed, 6 an objective undecided, 130 interrupted (129 by SIGHUP, 143 by SIGTERM).";

/// Exit codes of a command that only prints or writes something.
pub(crate) const PLAIN_EXIT_CODES: &str = "0 done, 1 internal error, 2 usage.";

/// Parses the arguments of one of Servemark's own commands, without the program's name. Help and
/// messages call the program `program`.
pub(crate) fn parse_command<T: CommandFactory + FromArgMatches>(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
) -> Result<T, UsageError> {
    let command = T::command().bin_name(program).no_binary_name(true);
    let matches = command.try_get_matches_from(args);
    let parsed = matches.and_then(|matches| T::from_arg_matches(&matches));
    parsed.map_err(|error| UsageError::from_clap(&error))
}
