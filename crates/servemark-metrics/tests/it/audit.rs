//! Runs written by hand for each verdict and each of its limits.

use std::time::Duration;

use servemark_core::{
    Arrival, ArrivalClock, ClientCost, Connection, Delta, EngineFacts, ErrorKind, Finish, Footer,
    Header, Phase, Recorder, RequestError, RequestRecord, RunFacts, RunLog, Sample, ShardCost,
    Sink, SocketFacts, Stamp,
};
use servemark_metrics::{Audit, LagReference, Verdict};

mod engine;
mod machine;
mod parts;
mod reading;
mod sending;
mod shared_connections;

/// Returns a stamp at a number of microseconds.
fn at(micros: u64) -> Stamp {
    Stamp::from_nanos(micros * 1_000)
}

/// A request of a clean run. One is due every 10 ms and sent 50 us later. Its answer has headers
/// and four pieces, the first after 20 ms and the others 10 ms apart, each read 40 us after it
/// arrived.
#[derive(Clone)]
struct Request {
    due: u64,
    granted: u64,
    sent: u64,
    left_after: Option<u64>,
    connection: Connection,
    clock: ArrivalClock,
    /// Arrival of each piece after the request was sent, and its read lag, in microseconds.
    pieces: Vec<(u64, u64)>,
    /// Read lag of the end of an answer without pieces, in microseconds.
    end_lag: u64,
    segments: Option<u32>,
    /// End of the request after it was sent, in microseconds.
    ends_after: u64,
    fails: bool,
    /// Whether the request was retried after it failed.
    is_retried: bool,
}

impl Request {
    fn number(index: u64) -> Self {
        let due = 1_000_000 + index * 10_000;
        Self {
            due,
            granted: due + 20,
            sent: due + 50,
            left_after: None,
            connection: Connection::Reused,
            clock: ArrivalClock::Kernel,
            pieces: (0..4).map(|piece| (20_000 + piece * 10_000, 40)).collect(),
            end_lag: 40,
            segments: Some(6),
            ends_after: 55_000,
            fails: false,
            is_retried: false,
        }
    }

    fn record(&self, index: usize) -> RequestRecord {
        let sample = Sample::new("", 1, 4);
        let phase = if self.is_retried { Phase::Retried } else { Phase::Measure };
        let mut recorder = Recorder::new(index, phase, &sample, at(self.due));
        recorder.granted(at(self.granted));
        recorder.connected(self.connection);
        recorder.record_sent(at(self.sent));
        if let Some(after) = self.left_after {
            recorder.record_transmitted(at(self.sent + after));
        }
        recorder.arrival_clock(self.clock);
        recorder.headers(at(self.sent + 1_000), 200);
        for &(after, lag) in &self.pieces {
            let came = self.sent + after;
            let arrival = Arrival::new(at(came), at(came + lag));
            recorder.body(arrival, 1);
            recorder.at(arrival).delta(Delta::content("x"));
        }
        let end = at(self.sent + self.ends_after);
        recorder.body(Arrival::new(end, end + Duration::from_micros(self.end_lag)), 1);
        if let Some(segments) = self.segments {
            let mut facts = SocketFacts::default();
            (facts.rtt_us, facts.min_rtt_us) = (60, Some(30));
            (facts.retransmits, facts.data_segments_in) = (1, Some(segments));
            recorder.socket(facts);
        }
        let timeout = || RequestError::new(ErrorKind::Timeout, "");
        let outcome = if self.fails { Err(timeout()) } else { Ok(Finish::default()) };
        recorder.finish(outcome, end)
    }
}

/// A run of a thousand such requests on an otherwise idle machine.
struct Run {
    requests: Vec<Request>,
    facts: RunFacts,
    engine: Option<EngineFacts>,
    cost: Option<ClientCost>,
}

impl Run {
    fn clean() -> Self {
        let mut facts = RunFacts::default();
        facts.api_path = "/v1/chat/completions".into();
        let mut cost = ClientCost::new(2_000_000_000, 10_000_000_000);
        cost.steal_ns = Some(0);
        cost.shards = vec![shard(20, 1), shard(10, 1)];
        let requests = (0..1_000).map(Request::number).collect();
        Self { requests, facts, engine: None, cost: Some(cost) }
    }

    /// Returns a clean run with every request changed.
    fn with_each(change: impl Fn(&mut Request)) -> Self {
        Self::with(1_000, change)
    }

    /// Returns a clean run with the first `count` requests changed.
    fn with(count: usize, change: impl Fn(&mut Request)) -> Self {
        let mut run = Self::clean();
        run.requests.iter_mut().take(count).for_each(change);
        run
    }

    fn with_cost(change: impl FnOnce(&mut ClientCost)) -> Self {
        let mut run = Self::clean();
        change(run.cost.as_mut().unwrap());
        run
    }

    fn audit(&self) -> Audit {
        let records = self.requests.iter().enumerate();
        let records = records.map(|(index, request)| request.record(index)).collect();
        let mut footer = Footer::default();
        footer.client.clone_from(&self.cost);
        let mut header = Header::new(0, self.facts.clone(), serde_json::Value::Null);
        header.host.cores = 4;
        header.engine.clone_from(&self.engine);
        Audit::of(&RunLog::new(header, records, Some(footer)))
    }

    /// Asserts that the audit gives this verdict, for a reason that contains the text.
    #[track_caller]
    fn is(&self, verdict: Verdict, reason: &str) {
        let audit = self.audit();
        assert_eq!(audit.verdict, verdict, "{audit}");
        assert!(audit.to_string().contains(reason), "{reason:?} is not in {audit}");
    }
}

/// Returns the cost of a thread, in percent of ten seconds.
fn shard(cpu: u64, run_delay: u64) -> ShardCost {
    let mut cost = ShardCost::default();
    (cost.cpu_ns, cost.involuntary_switches) = (cpu * 100_000_000, 7);
    cost.run_delay_ns = Some(run_delay * 100_000_000);
    cost
}

#[test]
fn a_run_that_was_watched_in_time_is_clean_and_says_why() {
    let audit = Run::clean().audit();
    let expected = "clean: load carried, latencies right to 0.03 ms: the p99 lag of 40 us is 0.4 % of the median \
         gap between reads of 10.00 ms";
    assert_eq!(audit.to_string(), expected);
    assert_eq!(audit.unchecked, [""; 0]);
}

#[test]
fn the_worst_reason_comes_first_and_none_is_left_out() {
    let mut run = Run::with_each(|request| request.clock = ArrivalClock::User);
    run.cost.as_mut().unwrap().shards = vec![shard(10, 0), shard(98, 1)];
    insta::assert_snapshot!(run.audit().to_string().replace("; ", "\n"), @r"
    client-limited: load client-limited, latencies in doubt: shard 2 ran for 98.0 % of the time
    100.0 % of the answers are timed by the client's clock, its lag included, and it waited for a core for 1.0 % of the time
    ");
}

#[test]
fn verdicts_go_from_the_best_to_the_worst_under_one_name() {
    assert!(Verdict::ALL.is_sorted());
    for verdict in Verdict::ALL {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
    }
}

#[test]
fn what_is_absent_is_said_to_be() {
    let mut run = Run::with_each(|request| {
        (request.due, request.granted, request.segments) = (1_000_000, 1_000_000, None);
        request.clock = ArrivalClock::User;
    });
    run.cost = None;
    insta::assert_snapshot!(run.audit().unchecked.join("\n"), @r"
    the lag of 1000 of 1000 answers: no kernel stamps
    late sends: all were due at once
    the achieved rate: there is no schedule
    the network: known of 0 of 1000 requests
    the client's CPU time: not in the run log
    ");
    run.cost = Some(ClientCost::new(1, 1_000));
    insta::assert_snapshot!(run.audit().unchecked.join("\n"), @r"
    the lag of 1000 of 1000 answers: no kernel stamps
    late sends: all were due at once
    the achieved rate: there is no schedule
    the network: known of 0 of 1000 requests
    waits for a core: the system does not say
    steal: the system does not say
    ");
}

#[test]
fn a_run_of_nothing_is_not_clean() {
    let mut run = Run::clean();
    run.requests.clear();
    run.is(Verdict::Suspect, "no request succeeded");
    Run::with_each(|request| (request.fails, request.pieces) = (true, Vec::new()))
        .is(Verdict::Suspect, "no request succeeded");
}
