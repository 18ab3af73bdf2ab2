//! Command lines of Servemark's own commands, which clap reads alone.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};

use crate::error::UsageError;

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
