//! Why ranks cannot work together.

use servemark::core::Stamp;
use servemark::{ExitCode, RankError};

use crate::coordinator::{Coordinator, Subscription};
use crate::lead::LOST_AFTER;
use crate::message::Digest;

pub(crate) fn no_thread(error: &std::io::Error) -> RankError {
    RankError::new(format!("the thread of messages does not start: {error}"), ExitCode::Internal)
}

pub(crate) fn thread_died() -> RankError {
    RankError::new("the thread of messages died", ExitCode::Internal)
}

/// Returns how two ranks drew different loads.
pub(crate) fn unlike(name: &str, theirs: &Digest, ours: &Digest) -> String {
    let short = |digest: &str| digest.get(..12).unwrap_or(digest).to_owned();
    let what = if theirs.sessions != ours.sessions {
        format!("{} sessions, and rank 0 drew {}", theirs.sessions, ours.sessions)
    } else if theirs.requests != ours.requests {
        let [theirs, ours] = [&theirs.requests, &ours.requests].map(|digest| short(digest));
        format!("other requests (SHA-256 {theirs}…) than rank 0 ({ours}…)")
    } else {
        let [theirs, ours] = [&theirs.schedule, &ours.schedule].map(|digest| short(digest));
        format!("other due times (SHA-256 {theirs}…) than rank 0 ({ours}…)")
    };
    format!(
        "{name} drew {what}: give every rank the same files of the data set and the tokenizer, and \
         the same program"
    )
}

/// Returns why a silent rank counts as lost.
pub(crate) fn silent(seen: Stamp, started: Option<Stamp>) -> String {
    let since = LOST_AFTER.as_secs();
    match started.filter(|started| seen > *started) {
        Some(started) => format!(
            "nothing was heard of it for {since} s; its last report came {:.0} s after the start",
            seen.since(started).as_secs_f64()
        ),
        None => format!("nothing was heard of it for {since} s"),
    }
}

/// Subscribes to a subject.
pub(crate) async fn subscribed(
    coordinator: &dyn Coordinator,
    subject: String,
) -> Result<Subscription, RankError> {
    let subscription = coordinator.subscribe(subject).await;
    subscription.map_err(|error| no_connection(&error.to_string()))
}

pub(crate) fn no_connection(reason: &str) -> RankError {
    RankError::new(format!("the coordinator cannot be used: {reason}"), ExitCode::NotReady)
}
