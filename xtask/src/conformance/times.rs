//! Compares the log's times with the server's own times, if the server reports them.

use super::answer::WireAnswer;
use super::case::Promise;
use super::record::Record;

/// Client times minus server times, in seconds. The server's clock starts after the client's and
/// stops before it, so no value can be negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    /// Client's time to the first chunk minus the server's time to the first token.
    pub(super) ttft: f64,
    /// Client's time to the last byte minus the server's time to the end.
    pub(super) latency: f64,
    /// Client's stamp of the first chunk minus the server's stamp of sending it. Both clocks are
    /// on the same machine.
    pub(super) arrival: f64,
}

impl Excess {
    /// Returns the excess of one request.
    pub(super) fn of(record: &Record, answer: &WireAnswer) -> Option<Self> {
        let clock = answer.clock?;
        Some(Self {
            ttft: record.ttft()? - clock.first_token,
            latency: record.latency()? - clock.end,
            arrival: record.first_piece_at()? - clock.answered_at,
        })
    }

    fn faults(self) -> Vec<String> {
        let times = [("TTFT", self.ttft), ("latency", self.latency), ("first piece", self.arrival)];
        let far = times.into_iter().filter(|(_, seconds)| !(0.0..FARTHEST).contains(seconds));
        far.map(|(what, seconds)| format!("its {what} is {seconds:+.6} s from the server's"))
            .collect()
    }
}

/// Whether times can be compared: the server reports its times, and requests are sent one after
/// the other, so that each reply certainly belongs to its record.
pub(super) fn are_comparable(promises: &[Promise]) -> bool {
    promises.contains(&Promise::ServerTimes) && promises.contains(&Promise::InTurn)
}

/// Returns all times that are not close to the server's.
pub(super) fn faults(promises: &[Promise], record: &Record, answer: &WireAnswer) -> Vec<String> {
    if !are_comparable(promises) {
        return Vec::new();
    }
    let missing = || vec!["the server did not tell its times".to_owned()];
    Excess::of(record, answer).map_or_else(missing, Excess::faults)
}

/// Maximum delay of the client behind the server, in seconds, on a machine that the engine fully
/// uses.
const FARTHEST: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::super::answer::ServerClock;
    use super::super::record::tests::finished;
    use super::*;

    const PROMISES: [Promise; 2] = [Promise::ServerTimes, Promise::InTurn];

    /// Checks a server's times against a request with 20 ns to its first chunk and 40 ns in
    /// total.
    #[track_caller]
    fn check(clock: Option<ServerClock>, expected: &[&str]) {
        let answer = WireAnswer { clock, ..WireAnswer::default() };
        assert_eq!(faults(&PROMISES, &finished(), &answer), expected);
        assert!(faults(&PROMISES[..1], &finished(), &answer).is_empty());
    }

    #[test]
    fn a_client_is_a_little_behind_its_server() {
        check(Some(ServerClock { first_token: 15e-9, end: 30e-9, answered_at: 25e-9 }), &[]);
    }

    #[test]
    fn a_client_is_never_ahead_of_its_server() {
        let fault = "its first piece is -1.000000 s from the server's";
        check(Some(ServerClock { first_token: 15e-9, end: 30e-9, answered_at: 1.0 }), &[fault]);
        let faults = [
            "its TTFT is -0.500000 s from the server's",
            "its latency is -0.700000 s from the server's",
        ];
        check(Some(ServerClock { first_token: 0.5, end: 0.7, answered_at: 25e-9 }), &faults);
    }

    #[test]
    fn times_that_are_not_told_are_missed() {
        check(None, &["the server did not tell its times"]);
    }
}
