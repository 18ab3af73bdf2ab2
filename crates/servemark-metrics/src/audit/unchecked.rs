//! Lists what the audit could not check because a fact is missing, and what does not apply to a
//! run.

use servemark_core::RunLog;

use super::{Audit, limits};

/// Returns what could not be checked, and why.
pub(super) fn unchecked(audit: &Audit, log: &RunLog) -> Vec<String> {
    let of_connections: Option<Check> = log.header().engine.is_none().then_some(network);
    let before: [Check; 3] = [lag, sends, rate];
    let after: [Check; 4] = [cpu, run_delay, steal, little];
    let checks = before.into_iter().chain(of_connections).chain(after);
    checks.filter_map(|check| check(audit)).collect()
}

/// Returns the checks that do not apply to an engine without a server.
pub(super) fn inapplicable(log: &RunLog) -> Vec<String> {
    let reasons = [
        "the client's lag, and pieces that were queued unread: the engine stamps its own answers",
        "the network: there is no connection",
    ];
    let reasons = log.header().engine.is_some().then_some(reasons);
    reasons.into_iter().flatten().map(str::to_owned).collect()
}

/// A check that returns its note if the fact that it needs is missing.
type Check = fn(&Audit) -> Option<String>;

fn lag(audit: &Audit) -> Option<String> {
    let (unknown, all) = (audit.reading.answered_by_user_clock, audit.reading.answered);
    (unknown > 0).then(|| format!("the lag of {unknown} of {all} answers: no kernel stamps"))
}

fn sends(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    (sending.judged == 0).then(|| "late sends: all were due at once".to_owned())
}

fn rate(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    (sending.behind_share.is_none()).then(|| "the achieved rate: there is no schedule".to_owned())
}

fn network(audit: &Audit) -> Option<String> {
    let (known, all) = (audit.network.requests, audit.sending.sent);
    (known < all).then(|| format!("the network: known of {known} of {all} requests"))
}

fn cpu(audit: &Audit) -> Option<String> {
    audit.machine.is_none().then(|| "the client's CPU time: not in the run log".to_owned())
}

fn run_delay(audit: &Audit) -> Option<String> {
    let machine = audit.machine.as_ref()?;
    let is_known = machine.longest_run_delay().is_some();
    (!is_known).then(|| "waits for a core: the system does not say".to_owned())
}

fn steal(audit: &Audit) -> Option<String> {
    let is_known = audit.machine.as_ref()?.steal_share.is_some();
    (!is_known).then(|| "steal: the system does not say".to_owned())
}

fn little(audit: &Audit) -> Option<String> {
    audit.littles_law.is_none().then(|| {
        let latencies = limits::LITTLE_LATENCIES;
        format!("Little's law: the middle of the run is shorter than {latencies} mean latencies")
    })
}
