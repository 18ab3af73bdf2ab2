//! Which flags the user gave, beside what they say.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgMatches, Command, FromArgMatches};

use super::{Grammar, Reading, refusal};
use crate::error::{CliError, UsageError};
use crate::python;

/// The command line by flags, held against the command's defaults.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) reading: Reading,
    pub(crate) command: Command,
}

impl Given {
    /// Reads a command line by argparse's rules.
    pub(crate) fn read(
        command: Command,
        peer: &[&str],
        exclusive: &'static [&'static [&'static str]],
        args: &[String],
    ) -> Result<Self, CliError> {
        let reading = Grammar::of(&command, peer, exclusive).read(args)?;
        Ok(Self { reading, command })
    }

    /// The values in their types.
    pub(crate) fn typed<T: FromArgMatches>(
        &self,
        program: &str,
    ) -> Result<(T, ArgMatches), UsageError> {
        let args = [program.to_owned()].into_iter().chain(self.reading.canonical());
        let refuse = |error| refusal::of_clap(program, &self.command, &error);
        let matches = self.command.clone().try_get_matches_from(args).map_err(refuse)?;
        Ok((T::from_arg_matches(&matches).map_err(refuse)?, matches))
    }

    /// Whether a flag was given at all.
    pub(crate) fn is(&self, flag: &str) -> bool {
        self.reading.is_given(flag)
    }

    /// A flag's values as they were written.
    pub(crate) fn values(&self, flag: &str) -> &[String] {
        self.reading.values(flag).unwrap_or_default()
    }

    /// Whether a flag was given and says another thing than its default. A list without a value
    /// asks for nothing, as with SGLang.
    pub(crate) fn asks(&self, flag: &str) -> bool {
        let Some(values) = self.reading.values(flag) else { return false };
        let mut args = self.command.get_arguments();
        let Some(arg) = args.find(|arg| arg.get_long() == flag.strip_prefix("--")) else {
            return false;
        };
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

/// Whether a value is the default, however its number is written.
fn is_same(default: &OsStr, given: &str) -> bool {
    let default = default.to_string_lossy();
    let number = |text| python::float(text).ok();
    default == given || number(&default).is_some_and(|default| number(given) == Some(default))
}

/// Arguments as text, which every flag and value of the peers is.
pub(crate) fn texts(args: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, CliError> {
    let not_utf8 = |arg: OsString| CliError::NotUtf8 { shown: arg.to_string_lossy().into_owned() };
    args.into_iter().map(|arg| arg.into_string().map_err(not_utf8)).collect()
}
