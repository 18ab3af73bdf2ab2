//! Distinguishes the arguments that are flags from those that are values.

use super::{FlagSyntax, Grammar};
use crate::error::CliError;

/// An argument, classified as a flag or a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A known flag, and the text after its equals sign, if it has one.
    Flag { flag: &'a FlagSyntax, attached: Option<&'a str> },
    /// The argument `--`, which ends the flags.
    End,
    /// An argument that looks like a flag and is not a known one.
    Unknown(&'a str),
    /// A value, which may belong to the flag before it.
    Value(&'a str),
}

impl<'a> Token<'a> {
    /// Returns the argument as it was written; of a flag only the full name.
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Flag { flag, .. } => &flag.name,
            Self::End => END,
            Self::Unknown(text) | Self::Value(text) => text,
        }
    }
}

impl Grammar {
    pub(super) fn tokens<'a>(&'a self, args: &'a [String]) -> Result<Vec<Token<'a>>, CliError> {
        let end = args.iter().position(|arg| arg == END).unwrap_or(args.len());
        let (flags, rest) = args.split_at(end);
        let mut tokens = flags.iter().map(|arg| self.token(arg)).collect::<Result<Vec<_>, _>>()?;
        if let Some((_, values)) = rest.split_first() {
            tokens.push(Token::End);
            tokens.extend(values.iter().map(|value| Token::Value(value)));
        }
        Ok(tokens)
    }

    fn token<'a>(&'a self, arg: &'a str) -> Result<Token<'a>, CliError> {
        if !arg.starts_with('-') || arg == "-" {
            return Ok(Token::Value(arg));
        }
        if let Some(flag) = self.exactly(arg) {
            return Ok(Token::Flag { flag, attached: None });
        }
        let (name, attached) = split_value(arg);
        if let Some(flag) = self.exactly(name).filter(|_| attached.is_some()) {
            return Ok(Token::Flag { flag, attached });
        }
        if let Some((flag, value)) = self.short_flag(arg) {
            let attached = Some(value).filter(|value| !value.is_empty());
            return Ok(Token::Flag { flag, attached });
        }
        match self.abbreviated(name).as_slice() {
            [flag] => Ok(Token::Flag { flag, attached }),
            [] if is_negative_number(arg) || arg.contains(' ') => Ok(Token::Value(arg)),
            [] => Ok(Token::Unknown(arg)),
            several => {
                let names: Vec<&str> = several.iter().map(|flag| flag.name.as_str()).collect();
                Err(CliError::Ambiguous { given: arg.to_owned(), matches: names.join(", ") })
            }
        }
    }

    fn exactly(&self, name: &str) -> Option<&FlagSyntax> {
        let name = if name == "-h" { super::HELP.name() } else { name };
        self.peer.iter().chain(&self.own).find(|flag| flag.name == name)
    }

    /// Returns the peer's flag that an argument gives by its letter, and the value right behind it,
    /// as in `-n5` and `-n=5`; the value may be empty.
    fn short_flag<'a>(&'a self, arg: &'a str) -> Option<(&'a FlagSyntax, &'a str)> {
        let mut letters = arg.strip_prefix('-')?.chars();
        let letter = letters.next();
        let flag = self.peer.iter().find(|flag| flag.letter.is_some() && flag.letter == letter)?;
        let rest = letters.as_str();
        Some((flag, rest.strip_prefix('=').unwrap_or(rest)))
    }

    /// Returns the peer's flags whose names begin with `prefix`.
    pub(super) fn abbreviated(&self, prefix: &str) -> Vec<&FlagSyntax> {
        if !prefix.starts_with("--") {
            return Vec::new();
        }
        self.peer.iter().filter(|flag| flag.name.starts_with(prefix)).collect()
    }
}

/// Splits an argument at its first equals sign into the flag and its value, if there is one.
pub(crate) fn split_value(arg: &str) -> (&str, Option<&str>) {
    arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value)))
}

/// Returns whether an argument is a negative number by argparse's rule, such as `-5`, `-.5` or
/// `-0.5`, but not `-1e5`.
fn is_negative_number(arg: &str) -> bool {
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    arg.strip_prefix('-').is_some_and(|number| match number.split_once('.') {
        Some((whole, fraction)) => {
            all_digits(whole) && all_digits(fraction) && !fraction.is_empty()
        }
        None => all_digits(number) && !number.is_empty(),
    })
}

/// Argument that ends the flags.
const END: &str = "--";
