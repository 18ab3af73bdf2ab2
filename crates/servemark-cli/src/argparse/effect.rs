//! Finds flags that were given and have no effect.

use super::{Declared, Flag, ParsedCommandLine};
use crate::error::CliError;
use crate::nearest::listed;

/// A condition without which a flag has no effect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// The value of a flag must not be one of these. The text says why.
    Except(Flag, &'static [&'static str], &'static str),
    /// Another flag must be given.
    Needs(Flag),
    /// The flag never has an effect. The text follows "has no effect".
    Never(&'static str),
    /// The value of a flag must be one of these.
    Only(Flag, &'static [&'static str]),
    /// A condition that no other limit expresses. The text follows "only applies to".
    OnlyWhere(Condition, &'static str),
    /// Another flag does what this flag asks for, and the text says how. The user is only warned,
    /// even if the flag is Servemark's own.
    Redundant(Flag, &'static str),
    /// Another flag must not be given.
    Unless(Flag),
    /// Another flag must not be given. The text says why.
    UnlessSince(Flag, &'static str),
    /// A condition that no other limit expresses. The text follows "has no effect".
    Where(Condition, &'static str),
}

/// Whether a flag has an effect.
pub(crate) type Condition = fn(&Effects<'_>) -> bool;

/// The flags of one group of arguments on a command line, and further limits on some of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) flags: &'static [Declared],
    limits: &'static [Limit],
    exempt: &'static [Flag],
}

impl Group {
    pub(crate) const fn of(flags: &'static [Declared]) -> Self {
        Self { flags, limits: &[], exempt: &[] }
    }

    /// Adds limits on all flags of the group but `exempt`.
    pub(crate) const fn limited(self, limits: &'static [Limit], exempt: &'static [Flag]) -> Self {
        Self { limits, exempt, ..self }
    }

    /// Returns whether a command line breaks a limit on a flag. Limits with a condition in code
    /// (`OnlyWhere`, `Where`) are not evaluated.
    #[cfg(test)]
    pub(crate) fn is_ineffective(&self, declared: &Declared, effects: &Effects<'_>) -> bool {
        let names_flags =
            |limit: &&Limit| !matches!(limit, Limit::OnlyWhere(..) | Limit::Where(..));
        let all = self.limits(declared.flag).iter().chain(declared.limits);
        all.filter(names_flags).any(|limit| !limit.has_effect(effects))
    }

    fn limits(&self, flag: Flag) -> &'static [Limit] {
        if self.exempt.contains(&flag) { &[] } else { self.limits }
    }
}

/// A command line, as far as the effects of its flags depend on it.
#[derive(Debug)]
pub(crate) struct Effects<'a> {
    given: &'a ParsedCommandLine,
    resolved: Vec<(Flag, String)>,
    is_encrypted: bool,
}

impl<'a> Effects<'a> {
    pub(crate) fn of(given: &'a ParsedCommandLine) -> Self {
        Self { given, resolved: Vec::new(), is_encrypted: false }
    }

    /// Sets whether the address of the server begins with `https://`.
    pub(crate) fn encrypted(self, is_encrypted: bool) -> Self {
        Self { is_encrypted, ..self }
    }

    /// Returns whether the address of the server begins with `https://`.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Sets the value that counts for a flag, whether it was given or chosen.
    pub(crate) fn with(mut self, flag: Flag, value: impl Into<String>) -> Self {
        self.resolved.push((flag, value.into()));
        self
    }

    /// Returns whether a flag was given, with any value.
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.given.is(flag)
    }

    /// Returns whether a flag was given and its values are not the default.
    pub(crate) fn is_requested(&self, flag: Flag) -> bool {
        self.given.is_requested(flag)
    }

    /// Returns the value that counts for a flag; its default if it was not given, or an empty text.
    pub(crate) fn value(&self, flag: Flag) -> &str {
        let resolved = self.resolved.iter().find(|(known, _)| *known == flag);
        resolved.map_or_else(|| self.given.value(flag), |(_, value)| value)
    }

    /// Returns whether the value that counts for a flag is one of these.
    pub(crate) fn is_one_of(&self, flag: Flag, values: &[&str]) -> bool {
        values.contains(&self.value(flag))
    }

    /// Refuses flags of Servemark's own that were given and have no effect, and flags that one of
    /// them contradicts; warns of the peer's.
    pub(crate) fn check(
        &self,
        groups: &[Group],
        warnings: &mut Vec<String>,
    ) -> Result<(), CliError> {
        for group in groups {
            for Declared { flag, limits } in group.flags {
                let all = group.limits(*flag).iter().chain(*limits);
                if let Some(limit) = self.broken(*flag, all) {
                    if self.is_mistake(*flag, limit) {
                        return Err(limit.refusal(*flag));
                    }
                    warnings.push(limit.warning(*flag));
                }
            }
        }
        Ok(())
    }

    /// Returns the first limit that a flag does not keep, if the flag asks for anything.
    fn broken(
        &self,
        flag: Flag,
        mut limits: impl Iterator<Item = &'static Limit>,
    ) -> Option<&'static Limit> {
        limits.find(|limit| !limit.has_effect(self)).filter(|_| self.is_requested(flag))
    }

    /// Returns whether a flag without effect is an error: Servemark's own flags are, and those that
    /// contradict one of them. The peers accept theirs and do nothing with them.
    fn is_mistake(&self, flag: Flag, limit: &Limit) -> bool {
        let is_own = |flag| !self.given.is_peers(flag);
        match limit {
            Limit::Redundant(..) => false,
            Limit::Except(by, ..)
            | Limit::Only(by, _)
            | Limit::Unless(by)
            | Limit::UnlessSince(by, _) => is_own(flag) || is_own(*by),
            _ => is_own(flag),
        }
    }
}

impl Limit {
    fn has_effect(&self, effects: &Effects<'_>) -> bool {
        match *self {
            Self::Except(flag, values, _) => !effects.is_one_of(flag, values),
            Self::Needs(flag) => effects.is(flag),
            Self::Never(_) => false,
            Self::Only(flag, values) => effects.is_one_of(flag, values),
            Self::Redundant(flag, _) | Self::Unless(flag) | Self::UnlessSince(flag, _) => {
                !effects.is(flag)
            }
            Self::OnlyWhere(holds, _) | Self::Where(holds, _) => holds(effects),
        }
    }

    fn warning(&self, flag: Flag) -> String {
        let ignored = match self {
            Self::Only(..) | Self::OnlyWhere(..) => "; ignored here",
            _ => "",
        };
        format!("{}{ignored}", self.refusal(flag))
    }

    fn refusal(&self, flag: Flag) -> CliError {
        match self {
            Self::Only(by, values) => {
                CliError::only_applies(flag, format!("{by} {}", listed(values, "or")))
            }
            Self::OnlyWhere(_, to) => CliError::only_applies(flag, to),
            Self::Except(by, values, why) => {
                CliError::no_effect(flag, format!("with {by} {}, {why}", listed(values, "and")))
            }
            Self::Needs(other) => CliError::no_effect(flag, format!("without {other}")),
            Self::Unless(by) => CliError::no_effect(flag, format!("with {by}")),
            Self::Redundant(by, why) | Self::UnlessSince(by, why) => {
                CliError::no_effect(flag, format!("with {by}, {why}"))
            }
            Self::Never(when) | Self::Where(_, when) => CliError::no_effect(flag, when),
        }
    }
}
