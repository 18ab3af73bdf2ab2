//! Converts clap's errors to errors in argparse's words.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::{Flag, Reading};
use crate::error::{CliError, UsageError};
use crate::nearest::did_you_mean;
use crate::python::repr;

/// Converts an error of clap: errors about a value have argparse's words, help and all other errors
/// those of clap.
pub(super) fn of_clap(program: &str, command: &Command, error: &clap::Error) -> UsageError {
    match value_error(command, error) {
        Some(error) => UsageError::refused(program, error),
        None => UsageError::from_clap(error),
    }
}

/// Returns the error about the first wrong value of a command line, if it has one.
pub(super) fn of_value(command: &Command, reading: &Reading) -> Option<CliError> {
    let args = [String::new()].into_iter().chain(reading.canonical());
    let error = command.clone().try_get_matches_from(args).err()?;
    value_error(command, &error)
}

/// Returns an error of clap about a value in argparse's words; `None` for other errors.
fn value_error(command: &Command, error: &clap::Error) -> Option<CliError> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let flag = text(ContextKind::InvalidArg).and_then(|rendered| rendered.split(' ').next())?;
    let why = match error.kind() {
        ErrorKind::InvalidValue => text(ContextKind::InvalidValue).map(|value| {
            let choices = choices(command, flag);
            let hint = did_you_mean(value, choices.iter().map(String::as_str));
            let choices: Vec<String> = choices.iter().map(|choice| repr(choice)).collect();
            format!("invalid choice: {} (choose from {}){hint}", repr(value), choices.join(", "))
        }),
        ErrorKind::ValueValidation => error.source().map(ToString::to_string),
        _ => None,
    };
    Some(CliError::Value { flag: flag.to_owned(), why: why? })
}

/// Returns all choices of a flag: the peer's, then Servemark's own, which the help hides.
fn choices(command: &Command, flag: &str) -> Vec<String> {
    let is_match = |arg: &&Arg| arg.get_long() == flag.strip_prefix("--");
    let choices = command.get_arguments().find(is_match).map(Arg::get_possible_values);
    choices.unwrap_or_default().iter().map(|choice| choice.get_name().to_owned()).collect()
}

/// Refuses a command line that lacks required flags. Each flag of `flags` comes with whether it was
/// given.
pub(crate) fn refuse_missing<const N: usize>(flags: [(Flag, bool); N]) -> Result<(), CliError> {
    let missing: Vec<&str> =
        flags.into_iter().filter(|(_, is_given)| !is_given).map(|(flag, _)| flag.name()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::Required { flags: missing.join(", ") })
}

/// Returns the error for a flag that lacks a value.
pub(super) fn expected_argument(flag: &str, expected: &'static str) -> CliError {
    CliError::ExpectedArgument { flag: flag.to_owned(), expected }
}
