//! Python argparse's rules, as a pass over the arguments before clap sees them.
//!
//! A [`Grammar`] is what the pass must know of the flags: names and how many values each takes. It
//! resolves abbreviations, tells values from flags, and leaves a canonical command line in which
//! every argument is `--flag` or `--flag=value`. The peer's flags may be abbreviated; ours are
//! matched exactly, so that none of them ever makes a peer's abbreviation ambiguous.
//!
//! The rules are those of Python 3.11's `argparse.py` for long options without positionals. Types
//! and choices are not its business.

mod config;
mod flexible;
mod given;
mod grammar;
mod namespace;
mod refusal;
mod scope;
mod token;
mod yaml;

pub(crate) use self::config::with_config;
pub(crate) use self::flexible::Flexible;
pub(crate) use self::given::{Given, texts};
pub(crate) use self::grammar::{Arity, Flag, Grammar};
pub use self::namespace::Namespace;
pub(crate) use self::refusal::refuse_missing;
pub(crate) use self::scope::{Owner, Scope, check_scopes};
pub(crate) use self::token::split_value;

use std::iter::Peekable;
use std::vec;

use self::token::Token;
use crate::error::CliError;
use crate::nearest::nearest;
use crate::python::repr;

/// What the arguments say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Every flag with its values, in order.
    pub(crate) given: Vec<Occurrence>,
    /// What no flag takes. The peers refuse it last, when everything else is well.
    pub(crate) leftovers: Vec<String>,
    /// For unknown flags among the leftovers, the known flags that were most likely meant.
    pub(crate) meant: Vec<String>,
}

/// A flag with its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrence {
    /// The flag's full name.
    pub(crate) flag: String,
    /// Its values.
    pub(crate) values: Vec<String>,
}

impl Grammar {
    /// Reads a command line; nothing after a request for help counts.
    pub(crate) fn read(&self, args: &[String]) -> Result<Reading, CliError> {
        let mut tokens = self.tokens(args)?.into_iter().peekable();
        let mut reading = Reading::default();
        while let Some(token) = tokens.next() {
            if let Token::Unknown(text) = token {
                reading
                    .meant
                    .extend(self.nearest(text).filter(|name| !reading.meant.contains(name)));
            }
            let Token::Flag { flag, attached } = token else {
                reading.leftovers.push(token.text().to_owned());
                continue;
            };
            let values = match attached {
                Some(value) => flag.attached(value)?,
                None => flag.following(&mut tokens)?,
            };
            self.refuse_conflict(&flag.name, &reading)?;
            reading.given.push(Occurrence { flag: flag.name.clone(), values });
            if flag.name == HELP {
                break;
            }
        }
        Ok(reading)
    }

    /// The flag that was most likely meant by an unknown one.
    fn nearest(&self, unknown: &str) -> Option<String> {
        let names = self.peer.iter().chain(&self.own).map(|flag| flag.name.as_str());
        nearest(split_value(unknown).0, names).map(str::to_owned)
    }

    fn refuse_conflict(&self, flag: &str, reading: &Reading) -> Result<(), CliError> {
        let others = self.exclusive.iter().filter(|group| group.contains(&flag));
        match others
            .copied()
            .flatten()
            .copied()
            .find(|other| *other != flag && reading.is_given(other))
        {
            None => Ok(()),
            Some(other) => {
                Err(CliError::Conflict { flag: flag.to_owned(), other: other.to_owned() })
            }
        }
    }
}

impl Reading {
    /// Whether a flag was given.
    pub(crate) fn is_given(&self, flag: &str) -> bool {
        self.values(flag).is_some()
    }

    /// The values of a flag's last occurrence, which is the one that counts.
    pub(crate) fn values(&self, flag: &str) -> Option<&[String]> {
        let last = self.given.iter().rev().find(|occurrence| occurrence.flag == flag);
        last.map(|occurrence| occurrence.values.as_slice())
    }

    /// The same command line in a form that needs no rules: lists are one argument each, parted by
    /// [`LIST`].
    pub(crate) fn canonical(&self) -> impl Iterator<Item = String> {
        self.given.iter().map(|Occurrence { flag, values }| {
            if values.is_empty() {
                return flag.clone();
            }
            format!("{flag}={}", values.join(&LIST.to_string()))
        })
    }

    /// Refuses what no flag takes.
    pub(crate) fn refuse_leftovers(&self) -> Result<(), CliError> {
        if self.leftovers.is_empty() {
            return Ok(());
        }
        Err(self.unrecognized(&self.leftovers))
    }

    /// The refusal of some of the leftovers.
    pub(crate) fn unrecognized(&self, leftovers: &[String]) -> CliError {
        let hint = match self.meant.as_slice() {
            [] => String::new(),
            meant => format!("; did you mean {}?", meant.join(" and ")),
        };
        CliError::Unrecognized { given: leftovers.join(" "), hint }
    }
}

impl Flag {
    fn attached(&self, value: &str) -> Result<Vec<String>, CliError> {
        if self.arity == Arity::Switch {
            return Err(CliError::UnwantedArgument { flag: self.shown(), value: repr(value) });
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
                Err(CliError::ExpectedArgument { flag: self.shown(), expected })
            }
            _ => Ok(values),
        }
    }

    /// As messages name it.
    fn shown(&self) -> String {
        if self.name == HELP { "-h/--help".to_owned() } else { self.name.clone() }
    }
}

/// The flag that ends a command line.
const HELP: &str = "--help";

/// What parts the values of a list in a canonical argument: ASCII's unit separator, which nobody
/// types.
pub(crate) const LIST: char = '\u{1f}';

#[cfg(test)]
mod tests;
