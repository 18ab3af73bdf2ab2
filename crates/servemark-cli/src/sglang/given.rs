//! Which flags the user gave, beside what they say.

use std::ffi::OsStr;

use clap::{Arg, Command};

use crate::argparse::Reading;
use crate::python;

/// The command line by flags, held against the command's defaults.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) reading: Reading,
    pub(super) command: Command,
}

impl Given {
    /// Whether a flag was given at all.
    pub(super) fn is(&self, flag: &str) -> bool {
        self.reading.is_given(flag)
    }

    /// A flag's values as they were written.
    pub(super) fn values(&self, flag: &str) -> &[String] {
        self.reading.values(flag).unwrap_or_default()
    }

    /// Whether a flag was given and says another thing than its default. A list without a value
    /// asks for nothing, as with SGLang.
    pub(super) fn asks(&self, flag: &str) -> bool {
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
