//! The peer's flags that are known and not built: each is refused when it asks for anything.

use clap::{Arg, ArgAction};

use crate::error::CliError;
use crate::python;
use crate::sglang::given::Given;

/// A flag of a part that we lack.
#[derive(Clone, Copy, Debug)]
pub(in crate::sglang) struct Unbuilt {
    flag: &'static str,
    kind: Kind,
    default: Option<&'static str>,
}

/// What a flag takes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Int,
    Switch,
    Text,
}

/// The flags as clap knows them.
pub(super) fn args() -> impl Iterator<Item = Arg> {
    FLAGS.iter().map(Unbuilt::arg)
}

/// Their names, for the help: a table of what is refused would only be in the way there.
pub(super) fn names() -> String {
    FLAGS.iter().map(|unbuilt| unbuilt.flag).collect::<Vec<_>>().join(", ")
}

impl Unbuilt {
    const fn new(flag: &'static str, kind: Kind, default: Option<&'static str>) -> Self {
        Self { flag, kind, default }
    }

    /// Refuses the flag if it was given another value than its default.
    pub(in crate::sglang) fn refuse(&self, given: &Given) -> Result<(), CliError> {
        if given.asks(self.flag) {
            let what = [&[self.flag.to_owned()], given.values(self.flag)].concat().join(" ");
            return Err(CliError::not_built(what));
        }
        Ok(())
    }

    fn arg(&self) -> Arg {
        let name = self.flag.trim_start_matches('-');
        let arg = Arg::new(name).long(name).hide(true);
        let arg = self.kind.of(arg);
        match self.default {
            Some(default) => arg.default_value(default),
            None => arg,
        }
    }
}

impl Kind {
    fn of(self, arg: Arg) -> Arg {
        match self {
            Self::Switch => arg.action(ArgAction::SetTrue),
            Self::Int => arg.value_parser(python::int),
            Self::Text => arg,
        }
    }
}

const fn switch(flag: &'static str) -> Unbuilt {
    Unbuilt::new(flag, Kind::Switch, None)
}

const fn int(flag: &'static str, default: &'static str) -> Unbuilt {
    Unbuilt::new(flag, Kind::Int, Some(default))
}

const fn text(flag: &'static str, default: Option<&'static str>) -> Unbuilt {
    Unbuilt::new(flag, Kind::Text, default)
}

/// Every flag that is known and not built.
pub(in crate::sglang) const FLAGS: &[Unbuilt] = &[
    int("--image-count", "1"),
    text("--image-resolution", Some("1080p")),
    switch("--random-image-count"),
    text("--image-format", Some("jpeg")),
    text("--image-content", Some("random")),
];
