//! Applies the rules of Python's argparse to the arguments, before clap sees them.
//!
//! A [`Grammar`] is what these rules must know of the flags: their names, and the number of values
//! of each. It resolves abbreviations, distinguishes values from flags, and returns a canonical
//! command line in which every argument is `--flag` or `--flag=value`. A peer's flags may be
//! abbreviated; Servemark's are matched exactly, so that none of them ever makes an abbreviation of
//! a peer's flag ambiguous.
//!
//! The rules are those of Python 3.11's `argparse.py` for long options without positionals. Types
//! and choices are left to clap.

mod command_line;
#[cfg(feature = "commands")]
mod config;
mod effect;
mod flag;
#[cfg(feature = "commands")]
mod flexible;
mod grammar;
mod namespace;
mod peer;
mod refusal;
mod token;
mod values;
#[cfg(feature = "commands")]
mod yaml;

use std::iter::Peekable;
use std::vec;

pub(crate) use self::command_line::{ParsedCommandLine, texts};
#[cfg(feature = "commands")]
pub(crate) use self::config::{with_config, yaml_document};
pub(crate) use self::effect::{Effects, Group, Limit};
pub(crate) use self::flag::{Declared, Flag, HELP, flags};
#[cfg(feature = "commands")]
pub(crate) use self::flexible::Flexible;
pub(crate) use self::grammar::{Arity, FlagSyntax, Grammar};
pub use self::namespace::Namespace;
pub(crate) use self::peer::PeerFlags;
pub(crate) use self::refusal::refuse_missing;
use self::token::Token;
pub(crate) use self::token::split_value;
pub(crate) use self::values::Values;
use crate::error::CliError;
use crate::nearest::nearest;
use crate::python::repr;

/// A command line, split into flags with their values and the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Flags with their values, in the order of the command line.
    pub(crate) given: Vec<Occurrence>,
    /// Arguments that no flag takes. The peers refuse them last, if nothing else is wrong.
    pub(crate) leftovers: Vec<String>,
    /// Known flags most similar to the unknown flags among the leftovers, for a hint in the error.
    pub(crate) suggested: Vec<String>,
}

/// A flag as it occurs on the command line, with its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrence {
    /// Full name of the flag, with its dashes.
    pub(crate) flag: String,
    /// Values of this occurrence, as they were written.
    pub(crate) values: Vec<String>,
}

impl Grammar {
    /// Reads a command line into `reading`. Arguments after a request for help are ignored. After
    /// an error, `reading` contains the flags before the wrong one, because argparse has converted
    /// their values by then.
    pub(crate) fn read(&self, args: &[String], reading: &mut Reading) -> Result<(), CliError> {
        let mut tokens = self.tokens(args)?.into_iter().peekable();
        while let Some(token) = tokens.next() {
            if let Token::Unknown(text) = token {
                reading
                    .suggested
                    .extend(self.nearest(text).filter(|name| !reading.suggested.contains(name)));
            }
            let Token::Flag { flag, attached } = token else {
                reading.leftovers.push(token.text().to_owned());
                continue;
            };
            let values = match attached {
                Some(value) => flag.attached(value)?,
                None => flag.following(&mut tokens)?,
            };
            reading.given.push(Occurrence { flag: flag.name.clone(), values });
            self.refuse_conflict(&flag.name, reading)?;
            if flag.name == HELP.name() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the known flag that was most likely meant by an unknown one.
    fn nearest(&self, unknown: &str) -> Option<String> {
        let names = self.peer.iter().chain(&self.own).map(|flag| flag.name.as_str());
        nearest(split_value(unknown).0, names).map(str::to_owned)
    }

    fn refuse_conflict(&self, flag: &str, reading: &Reading) -> Result<(), CliError> {
        let is_in = |group: &&&[Flag]| group.iter().any(|known| known.name() == flag);
        let mut others = self.exclusive.iter().filter(is_in).copied().flatten();
        match others.find(|other| other.name() != flag && reading.is_given(other.name())) {
            None => Ok(()),
            Some(other) => {
                Err(CliError::Conflict { flag: flag.to_owned(), other: other.to_string() })
            }
        }
    }
}

impl Reading {
    /// Returns whether a flag was given.
    pub(crate) fn is_given(&self, flag: &str) -> bool {
        self.values(flag).is_some()
    }

    /// Returns the values of a flag's last occurrence, which is the one that counts.
    pub(crate) fn values(&self, flag: &str) -> Option<&[String]> {
        let last = self.given.iter().rev().find(|occurrence| occurrence.flag == flag);
        last.map(|occurrence| occurrence.values.as_slice())
    }

    /// Returns the command line in a form that can be parsed without argparse's rules: every flag
    /// is one argument, in which the values of a list are separated by [`LIST`].
    pub(crate) fn canonical(&self) -> impl Iterator<Item = String> {
        self.given.iter().map(|Occurrence { flag, values }| {
            if values.is_empty() {
                return flag.clone();
            }
            format!("{flag}={}", values.join(&LIST.to_string()))
        })
    }

    /// Refuses the command line if it has arguments that no flag takes.
    pub(crate) fn refuse_leftovers(&self) -> Result<(), CliError> {
        if self.leftovers.is_empty() {
            return Ok(());
        }
        Err(self.unrecognized(&self.leftovers))
    }

    /// Returns the error for some of the leftovers, with the flags that were most likely meant.
    pub(crate) fn unrecognized(&self, leftovers: &[String]) -> CliError {
        let hint = match self.suggested.as_slice() {
            [] => String::new(),
            suggested => format!("; did you mean {}?", suggested.join(" and ")),
        };
        CliError::Unrecognized { given: leftovers.join(" "), hint }
    }
}

impl FlagSyntax {
    fn attached(&self, value: &str) -> Result<Vec<String>, CliError> {
        if self.arity == Arity::Switch {
            return Err(CliError::UnwantedArgument {
                flag: self.display_name(),
                value: repr(value),
            });
        }
        Ok(vec![value.to_owned()])
    }

    fn following(
        &self,
        tokens: &mut Peekable<vec::IntoIter<Token<'_>>>,
    ) -> Result<Vec<String>, CliError> {
        let mut values = Vec::new();
        while values.len() < self.arity.most() {
            let Some(Token::Value(value)) = tokens.next_if(|next| matches!(next, Token::Value(_)))
            else {
                break;
            };
            values.push(value.to_owned());
        }
        match self.arity.expected() {
            Some(expected) if values.is_empty() => {
                Err(CliError::ExpectedArgument { flag: self.display_name(), expected })
            }
            _ => Ok(values),
        }
    }

    /// Returns the flag's name in the form that messages show.
    fn display_name(&self) -> String {
        if self.name == HELP.name() { "-h/--help".to_owned() } else { self.name.clone() }
    }
}

/// Separates the values of a list in a canonical argument: ASCII's unit separator, which does not
/// occur in typed arguments.
pub(crate) const LIST: char = '\u{1f}';

#[cfg(test)]
mod tests;
