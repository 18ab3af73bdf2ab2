//! The command line that was given: which flags it has, and what their values are.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgMatches, Command, FromArgMatches};

use super::{Flag, Grammar, Reading, refusal};
use crate::error::{CliError, UsageError};
use crate::python;

/// A command line read by argparse's rules, and the command whose defaults apply to it.
#[derive(Clone, Debug)]
pub(crate) struct ParsedCommandLine {
    pub(crate) reading: Reading,
    pub(crate) command: Command,
    grammar: Grammar,
}

impl ParsedCommandLine {
    /// Reads a command line by argparse's rules. `peer` lists the peer's flags in their order; of
    /// the flags of a group in `exclusive` at most one may be given.
    pub(crate) fn read(
        command: Command,
        peer: &[&str],
        exclusive: &'static [&'static [Flag]],
        args: &[String],
    ) -> Result<Self, CliError> {
        let grammar = Grammar::of(&command, peer, exclusive);
        let mut reading = Reading::default();
        match grammar.read(args, &mut reading) {
            Ok(()) => Ok(Self { reading, command, grammar }),
            Err(error) => Err(refusal::of_value(&command, &reading).unwrap_or(error)),
        }
    }

    /// Returns the flags of this command line that another command has as well and that `is_shared`
    /// accepts, as a command line of that command. `peer` lists the peer's flags of it.
    pub(crate) fn shared(
        &self,
        command: Command,
        peer: &[&str],
        is_shared: impl Fn(&str) -> bool,
    ) -> Self {
        let grammar = Grammar::of(&command, peer, &[]);
        let given = self.reading.given.iter().filter(|occurrence| is_shared(&occurrence.flag));
        let reading = Reading { given: given.cloned().collect(), ..Reading::default() };
        Self { reading, command, grammar }
    }

    /// Converts the values to their types, as the fields of `T`, and returns clap's matches too.
    pub(crate) fn typed<T: FromArgMatches>(
        &self,
        program: &str,
    ) -> Result<(T, ArgMatches), UsageError> {
        let args = [program.to_owned()].into_iter().chain(self.reading.canonical());
        let refuse = |error| refusal::of_clap(program, &self.command, &error);
        let matches = self.command.clone().try_get_matches_from(args).map_err(refuse)?;
        Ok((T::from_arg_matches(&matches).map_err(refuse)?, matches))
    }

    /// Returns whether a flag was given, with any value.
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.reading.is_given(flag.name())
    }

    /// Returns whether a flag is the peer's; otherwise it is Servemark's own.
    pub(crate) fn is_peers(&self, flag: Flag) -> bool {
        self.grammar.peer.iter().any(|known| known.name == flag.name())
    }

    /// Returns the values of a flag as they were written; empty if the flag was not given.
    pub(crate) fn values(&self, flag: Flag) -> &[String] {
        self.reading.values(flag.name()).unwrap_or_default()
    }

    /// Returns the last value of a flag as it was written; its default if the flag was not given,
    /// and an empty text without one.
    pub(crate) fn value(&self, flag: Flag) -> &str {
        let given = self.values(flag).last().map(String::as_str);
        let default = || self.arg(flag)?.get_default_values().last()?.to_str();
        given.or_else(default).unwrap_or_default()
    }

    /// Returns the argument of the command that a flag gives a value to.
    pub(super) fn arg(&self, flag: Flag) -> Option<&Arg> {
        self.command.get_arguments().find(|arg| arg.get_long() == Some(flag.long()))
    }

    /// Returns whether a flag was given and its values are not the default. A switch always asks
    /// for something, and so does a flag whose optional value is left out. A list without a value
    /// asks for nothing, as with SGLang, unless it has a default.
    pub(crate) fn is_requested(&self, flag: Flag) -> bool {
        let Some(values) = self.reading.values(flag.name()) else { return false };
        let Some(arg) = self.arg(flag) else { return false };
        if !arg.get_action().takes_values() {
            return true;
        }
        let is_optional =
            |arg: &Arg| arg.get_num_args().is_some_and(|range| range.max_values() == 1);
        let default = arg.get_default_values();
        let is_default = default.len() == values.len()
            && default.iter().zip(values).all(|(default, given)| is_same(default, given));
        !is_default || values.is_empty() && is_optional(arg)
    }
}

/// Returns whether a value is the default. Numbers are compared by value, not by notation.
fn is_same(default: &OsStr, given: &str) -> bool {
    let default = default.to_string_lossy();
    let number = |text| python::float(text).ok();
    default == given || number(&default).is_some_and(|default| number(given) == Some(default))
}

/// Converts arguments to text, which every flag and value of the peers is; refuses arguments that
/// are not UTF-8.
pub(crate) fn texts(args: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, CliError> {
    let not_utf8 = |arg: OsString| CliError::NotUtf8 { text: arg.to_string_lossy().into_owned() };
    args.into_iter().map(|arg| arg.into_string().map_err(not_utf8)).collect()
}
