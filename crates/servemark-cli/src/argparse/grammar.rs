//! What argparse's rules must know of the flags: their names, and the number of values of each.

use clap::{Arg, ArgAction, Command};

use super::Flag;

/// The flags of a command line, as far as argparse's rules depend on them.
#[derive(Clone, Debug)]
pub(crate) struct Grammar {
    /// The peer's flags in the peer's order, which messages show. They may be abbreviated.
    pub(crate) peer: Vec<FlagSyntax>,
    /// Servemark's own flags, which are matched exactly.
    pub(crate) own: Vec<FlagSyntax>,
    /// Groups of flags of which at most one flag may be given.
    pub(crate) exclusive: &'static [&'static [Flag]],
}

/// A long flag, and what argparse's rules must know of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FlagSyntax {
    /// Name of the flag, with its dashes.
    pub(crate) name: String,
    /// Letter that stands for the flag after a single dash; `None` if there is none.
    pub(crate) letter: Option<char>,
    /// Number of values that the flag takes.
    pub(crate) arity: Arity,
}

/// Number of values that a flag takes: argparse's `nargs`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Arity {
    /// Any number of values, including none: argparse's `*`.
    Any,
    /// Exactly one value, which is argparse's default.
    One,
    /// At most one value: argparse's `?`.
    Optional,
    /// At least one value: argparse's `+`.
    Some,
    /// No value at all.
    Switch,
}

impl Grammar {
    /// Creates the grammar of a command. `peer` lists the names of the peer's flags; all others are
    /// Servemark's.
    pub(crate) fn of(
        command: &Command,
        peer: &[&str],
        exclusive: &'static [&'static [Flag]],
    ) -> Self {
        let all: Vec<FlagSyntax> = command.get_arguments().filter_map(FlagSyntax::of).collect();
        let find = |name: &&str| all.iter().find(|flag| flag.name == *name).cloned();
        let own = all.iter().filter(|flag| !peer.contains(&flag.name.as_str()));
        Self {
            own: own.cloned().collect(),
            peer: peer.iter().filter_map(find).collect(),
            exclusive,
        }
    }
}

impl FlagSyntax {
    fn of(arg: &Arg) -> Option<Self> {
        let name = format!("--{}", arg.get_long()?);
        Some(Self { name, letter: arg.get_short(), arity: Arity::of(arg) })
    }
}

impl Arity {
    fn of(arg: &Arg) -> Self {
        if !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
            return Self::Switch;
        }
        let range = arg.get_num_args().unwrap_or_default();
        match (range.min_values(), range.max_values()) {
            (0, 1) => Self::Optional,
            (0, _) => Self::Any,
            (_, 1) => Self::One,
            _ => Self::Some,
        }
    }

    /// Returns the maximum number of values.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Switch => 0,
            Self::One | Self::Optional => 1,
            Self::Any | Self::Some => usize::MAX,
        }
    }

    /// Returns what argparse's message says is expected if there is no value; `None` if none is
    /// needed.
    pub(super) fn expected(self) -> Option<&'static str> {
        match self {
            Self::Any | Self::Optional | Self::Switch => None,
            Self::One => Some("one argument"),
            Self::Some => Some("at least one argument"),
        }
    }
}
