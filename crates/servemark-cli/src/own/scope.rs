//! Finds flags of Servemark's own that would have no effect in any dialect.

use crate::address;
use crate::argparse::{Given, Owner, Scope, check_scopes};
use crate::error::CliError;
use crate::own::CONNECTION;

/// Refuses flags of Servemark's own that were given and have no effect.
pub(crate) fn check(given: &Given) -> Result<(), CliError> {
    check_scopes(SCOPES, given, |in_use| in_use(given), &mut Vec::new())
}

fn is_simulated(given: &Given) -> bool {
    given.is("--simulate")
}

fn is_encrypted(given: &Given) -> bool {
    given.values("--base-url").last().is_some_and(|url| address::is_encrypted(url))
}

type InUse = fn(&Given) -> bool;

const SCOPES: &[Scope<InUse>] = &[
    Scope {
        flags: &["--base-url", "--host", "--port"],
        in_use: |given| !is_simulated(given),
        when: "with --simulate, which starts a server of its own",
        owner: Owner::Ours,
    },
    Scope {
        flags: CONNECTION,
        in_use: |given| !is_simulated(given),
        when: "with --simulate",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--no-keep-alive"],
        in_use: |given| !given.is("--http2"),
        when: "with --http2, whose requests share a connection",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--send-stamps"],
        in_use: |given| !given.is("--http2"),
        when: "with --http2, whose requests share a connection",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--send-stamps"],
        in_use: |given| !is_encrypted(given),
        when: "over TLS, where nobody knows which bytes are a request's",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--send-stamps"],
        in_use: |_| cfg!(target_os = "linux"),
        when: "here: only Linux says when a request left",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--simulate-fault"],
        in_use: is_simulated,
        when: "without --simulate",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--steady-state-output-file"],
        in_use: |given| given.is("--steady-state-concurrency-ratio"),
        when: "without --steady-state-concurrency-ratio",
        owner: Owner::Ours,
    },
];
