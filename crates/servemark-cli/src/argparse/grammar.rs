//! What must be known of the flags: their names, and how many values each takes.

use clap::{Arg, ArgAction, Command};

/// The flags of a command line.
#[derive(Clone, Debug)]
pub(crate) struct Grammar {
    /// The peer's flags in the peer's order, which its messages show. They may be abbreviated.
    pub(crate) peer: Vec<Flag>,
    /// Our own flags.
    pub(crate) own: Vec<Flag>,
    /// Groups of which at most one flag may be given.
    pub(crate) exclusive: &'static [&'static [&'static str]],
}

/// A long flag.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Flag {
    /// With its dashes.
    pub(crate) name: String,
    /// The letter that stands for it behind one dash.
    pub(crate) letter: Option<char>,
    /// How many values it takes.
    pub(crate) arity: Arity,
}

/// How many values a flag takes: argparse's `nargs`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Arity {
    /// `*`
    Any,
    /// One, by default.
    One,
    /// `?`
    Optional,
    /// `+`
    Some,
    /// None at all.
    Switch,
}

impl Grammar {
    /// The flags of a command, told apart by the peer's list of names.
    pub(crate) fn of(
        command: &Command,
        peer: &[&str],
        exclusive: &'static [&'static [&'static str]],
    ) -> Self {
        let all: Vec<Flag> = command.get_arguments().filter_map(Flag::of).collect();
        let find = |name: &&str| all.iter().find(|flag| flag.name == *name).cloned();
        let own = all.iter().filter(|flag| !peer.contains(&flag.name.as_str()));
        Self {
            own: own.cloned().collect(),
            peer: peer.iter().filter_map(find).collect(),
            exclusive,
        }
    }
}

impl Flag {
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

    /// How many values at most.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Switch => 0,
            Self::One | Self::Optional => 1,
            Self::Any | Self::Some => usize::MAX,
        }
    }

    /// What is missing where there is no value.
    pub(super) fn expected(self) -> Option<&'static str> {
        match self {
            Self::Any | Self::Optional | Self::Switch => None,
            Self::One => Some("one argument"),
            Self::Some => Some("at least one argument"),
        }
    }
}
