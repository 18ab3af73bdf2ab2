//! The values that follow a flag.

use std::ffi::OsString;
use std::iter::Peekable;
use std::vec;

use super::Flag;
use crate::error::CliError;
use crate::python;

/// Values of a flag of Servemark's that is taken out before argparse's rules apply: the text behind
/// an equals sign, or the arguments after the flag.
pub(crate) struct Values<'a> {
    pub(crate) flag: Flag,
    pub(crate) attached: Option<String>,
    pub(crate) args: &'a mut Peekable<vec::IntoIter<OsString>>,
}

impl Values<'_> {
    /// Returns all values; refuses a flag without one.
    pub(crate) fn all(self) -> Result<Vec<String>, CliError> {
        let mut values: Vec<String> = self.attached.into_iter().collect();
        if values.is_empty() {
            let is_value = |arg: &OsString| arg.to_str().is_some_and(|arg| !arg.starts_with('-'));
            while let Some(value) = self.args.next_if(is_value) {
                values.extend(value.into_string());
            }
        }
        let flag = self.flag.to_string();
        let missing = CliError::ExpectedArgument { flag, expected: "at least one argument" };
        if values.is_empty() { Err(missing) } else { Ok(values) }
    }

    /// Returns the flag's one value; refuses a flag without one.
    pub(crate) fn one(self) -> Result<String, CliError> {
        let flag = self.flag.to_string();
        let next = self.attached.or_else(|| self.args.next()?.into_string().ok());
        next.ok_or(CliError::ExpectedArgument { flag, expected: "one argument" })
    }

    /// Refuses a value, because the flag is a switch.
    pub(crate) fn none(self) -> Result<(), CliError> {
        let unwanted = |value: String| CliError::UnwantedArgument {
            flag: self.flag.to_string(),
            value: python::repr(&value),
        };
        self.attached.map_or(Ok(()), |value| Err(unwanted(value)))
    }
}
