//! Prints the values of a command line as Python prints the object that argparse makes of them.

use std::fmt;

use clap::{Arg, ArgAction, ArgMatches};
use servemark_metrics::Slo;

use super::{Flag, HELP, ParsedCommandLine};
use crate::python;

/// The values of a peer's flags, printed as Python prints `argparse.Namespace`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Namespace(Vec<(String, String)>);

impl Namespace {
    /// Creates the values of `flags`, which are the peer's in its order, each flag once.
    pub(crate) fn of(
        given: &ParsedCommandLine,
        matches: &ArgMatches,
        flags: &[&'static str],
    ) -> Self {
        let member = |name: &&'static str| {
            let flag = Flag::new(name);
            (flag.python(), value(given, matches, flag))
        };
        Self(flags.iter().filter(|name| **name != HELP.name()).map(member).collect())
    }

    /// Sets the value of a flag, if it is among them. `value` is in Python's own notation.
    pub(crate) fn set(&mut self, flag: Flag, value: impl Into<String>) {
        self.set_named(&flag.python(), value);
    }

    fn set_named(&mut self, name: &str, value: impl Into<String>) {
        if let Some((_, old)) = self.0.iter_mut().find(|(member, _)| member == name) {
            *old = value.into();
        }
    }

    /// Adds an argument before all others.
    pub(crate) fn after(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.insert(0, (name.to_owned(), value.into()));
        self
    }

    /// Returns the value of an argument, in Python's own notation.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(member, _)| member == name).map(|(_, value)| value.as_str())
    }

    /// Returns the arguments with `model` as the name of the model.
    #[must_use]
    pub fn with_model(&self, model: &str) -> Self {
        let mut named = self.clone();
        named.set_named("model", python::repr(model));
        named
    }

    /// Returns the arguments with `url` as the address of the server.
    #[must_use]
    pub fn with_base_url(&self, url: &str) -> Self {
        let mut placed = self.clone();
        placed.set_named("base_url", python::repr(url));
        placed
    }

    /// Returns whether the arguments name a model.
    pub fn has_model(&self) -> bool {
        self.0.iter().any(|(name, value)| name == "model" && value != NONE)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Namespace(")?;
        for (place, (name, value)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{name}={value}")?;
        }
        f.write_str(")")
    }
}

fn value(given: &ParsedCommandLine, matches: &ArgMatches, flag: Flag) -> String {
    let Some(arg) = given.arg(flag) else { return NONE.to_owned() };
    let id = arg.get_id().as_str();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return if matches.get_flag(id) { "True" } else { "False" }.to_owned();
    }
    let values = typed(matches, id, i64::to_string)
        .or_else(|| typed(matches, id, |number: &f64| servemark_pyjson::repr(*number)))
        .or_else(|| typed(matches, id, |text: &String| python::repr(text)))
        .or_else(|| typed(matches, id, slo))
        .or_else(|| typed(matches, id, servemark_pyjson::literal))
        .unwrap_or_default();
    match values.first() {
        _ if is_list(arg) && (given.is(flag) || !values.is_empty()) => {
            format!("[{}]", values.join(", "))
        }
        Some(value) => value.clone(),
        None => NONE.to_owned(),
    }
}

/// Returns the values of a flag as `render` prints them; `None` if they are not of this type.
fn typed<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    id: &str,
    render: impl Fn(&T) -> String,
) -> Option<Vec<String>> {
    let values = matches.try_get_many::<T>(id).ok()?;
    Some(values.into_iter().flatten().map(render).collect())
}

fn slo(slo: &Slo) -> String {
    let (name, limit) = (slo.metric.name(), servemark_pyjson::repr(slo.limit_ms));
    format!("({}, {limit})", python::repr(name))
}

fn is_list(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.max_values() > 1)
}

const NONE: &str = "None";
