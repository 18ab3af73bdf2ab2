//! Finds flags that were given and have no effect.

use super::Given;
use crate::error::CliError;

/// Flags, and the condition `in_use`, of type `F`, under which they have an effect. `when` ends the
/// message "FLAG has no effect …" for the case that the condition is not met.
pub(crate) struct Scope<F> {
    pub(crate) flags: &'static [&'static str],
    pub(crate) in_use: F,
    pub(crate) when: &'static str,
    pub(crate) owner: Owner,
}

/// What happens if a flag has no effect.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    /// An error: the flag is Servemark's own, or contradicts a flag of Servemark's own.
    Ours,
    /// A warning: the flag asks for what happens without it.
    Harmless,
    /// A warning: the flag is the peer's, which accepts it and does nothing with it.
    Peer,
}

/// Refuses Servemark's own flags that have no effect, and warns of harmless ones and of the peer's.
/// `answer` returns whether a condition is met.
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
