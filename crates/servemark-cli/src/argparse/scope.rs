//! Flags whose value would change nothing.

use super::Given;
use crate::error::CliError;

/// Flags, and when they have an effect: a question of the kind `F`.
pub(crate) struct Scope<F> {
    pub(crate) flags: &'static [&'static str],
    pub(crate) in_use: F,
    pub(crate) when: &'static str,
    pub(crate) owner: Owner,
}

/// Whose business it is that a flag has no effect.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    /// A flag of ours, or one that contradicts a flag of ours: a mistake, which is refused.
    Ours,
    /// The flag asks for what happens without it: a warning says so, and the run goes on.
    Harmless,
    /// The peer accepts it and does nothing with it: the user hears of it.
    Peer,
}

/// Refuses our own flags without effect, and warns of harmless ones and of the peer's.
pub(crate) fn check_scopes<F>(
    scopes: &[Scope<F>],
    given: &Given,
    answer: impl Fn(&F) -> bool,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    for Scope { flags, in_use, when, owner } in scopes {
        for flag in flags.iter().filter(|flag| given.asks(flag) && !answer(in_use)) {
            let refusal = CliError::NoEffect { flag, when };
            match owner {
                Owner::Ours => return Err(refusal),
                Owner::Harmless | Owner::Peer => warnings.push(refusal.to_string()),
            }
        }
    }
    Ok(())
}
