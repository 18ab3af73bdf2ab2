//! Creates run logs of a chosen size, like those of a run against a steady server.

use std::time::Duration;

use servemark::core::{
    Arrival, ArrivalClock, ClientCost, Delta, Finish, Footer, Header, Phase, Recorder,
    RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp,
};

/// Returns a complete log of `requests` requests with `tokens` tokens each.
pub fn run_log(requests: usize, tokens: u32) -> RunLog {
    let records: Vec<_> = (0..requests).map(|index| record(index, tokens)).collect();
    let ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
    RunLog::new(header(requests), records, Some(footer(ended)))
}

/// Returns the header of a chat run.
pub fn header(requests: usize) -> Header {
    let mut facts = RunFacts::default();
    facts.backend = "vllm-chat".into();
    facts.api_path = "/v1/chat/completions".into();
    facts.requests = requests;
    Header::new(0, facts, serde_json::Value::Null)
}

/// Returns the footer of a completed run.
pub fn footer(ended: Stamp) -> Footer {
    let mut footer = Footer::default();
    footer.ended = ended;
    footer.client = Some(ClientCost::new(1, ended.as_nanos()));
    footer
}

/// Returns the record of a request. Requests are due 5 ms apart. Tokens arrive 20 ms apart, plus up
/// to 2 ms that depend on both, and are seen 30 to 250 us after their arrival.
pub fn record(index: usize, tokens: u32) -> RequestRecord {
    let sample = Sample::new("Tell me a story.", 1024, tokens);
    let due = Stamp::ZERO + Duration::from_millis(5) * index as u32;
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, due);
    recorder.arrival_clock(ArrivalClock::Kernel);
    recorder.granted(due);
    recorder.record_sent(due + Duration::from_micros(40));
    let first = due + Duration::from_millis(200);
    recorder.headers(first, 200);
    for token in 0..tokens {
        let wobble = (u64::from(token) * 7919 + index as u64 * 104_729) % 2000;
        let at = first + Duration::from_millis(20) * token + Duration::from_micros(wobble);
        let seen = at + Duration::from_micros(30 + wobble % 220);
        recorder.body(at, 1);
        recorder.at(Arrival::new(at, seen)).delta(Delta::content(" token").with_tokens(Some(1)));
    }
    let end = Finish::new(Some("length".to_owned()));
    recorder.finish(Ok(end), first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_as_large_as_asked() {
        let log = run_log(3, 5);
        assert!(log.is_complete());
        assert_eq!(log.records().len(), 3);
        for record in log.records() {
            let stamps: Vec<_> = record.deltas.rows().map(|row| row.at).collect();
            assert_eq!(stamps.len(), 5);
            assert!(stamps.is_sorted() && record.is_success(), "{record:?}");
        }
    }
}
