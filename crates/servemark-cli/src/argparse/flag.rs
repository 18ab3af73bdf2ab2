//! Declares the flags of a command line: their names, and what their effect depends on.

use std::fmt;

use super::Limit;

/// The name of a long flag, with its dashes. [`flags!`] declares it, once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Flag(&'static str);

impl Flag {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name with its dashes.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }

    /// Returns the name without its first two dashes, as clap knows it.
    pub(crate) fn long(self) -> &'static str {
        self.0.trim_start_matches('-')
    }

    /// Returns the name of the flag's value in Python.
    pub(crate) fn python(self) -> String {
        self.long().replace('-', "_")
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl From<Flag> for &'static str {
    fn from(flag: Flag) -> Self {
        flag.0
    }
}

impl PartialEq<Flag> for str {
    fn eq(&self, flag: &Flag) -> bool {
        self == flag.0
    }
}

/// Flag of every command, which ends a command line: what follows it is ignored.
pub(crate) const HELP: Flag = Flag::new("--help");

/// A flag, and the limits on its effect. The first limit that is not kept is reported.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) flag: Flag,
    pub(crate) limits: &'static [Limit],
}

/// Declares the flags of a group of arguments, each with the limits on its effect.
///
/// A line is `CONSTANT = "--name";` or `CONSTANT = "--name" => [LIMIT, …];`. The constants are
/// those of the group, and its `FLAGS` lists all of them. Name, type, default and help are those of
/// the group's field of the same name; a test compares both.
macro_rules! flags {
    ($group:ty { $($name:ident = $long:expr $(=> [$($limit:expr),* $(,)?])?;)* }) => {
        impl $group {
            $(pub(crate) const $name: $crate::argparse::Flag = $crate::argparse::Flag::new($long);)*

            /// All flags of the group.
            pub(crate) const FLAGS: &'static [$crate::argparse::Declared] = &[
                $($crate::argparse::Declared {
                    flag: Self::$name,
                    limits: &[$($($limit),*)?],
                }),*
            ];
        }
    };
}

pub(crate) use flags;
