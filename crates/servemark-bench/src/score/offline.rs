//! Converts runs to the results of vLLM's offline benchmarks.

use std::num::NonZeroUsize;

use servemark_core::{RequestRecord, RunLog, Stamp};
use servemark_metrics::{MetricPolicy, Metrics};
use servemark_report::{OfflineLatency, OfflineThroughput, Report};

use crate::Run;

/// Returns the requests and tokens per second of a run.
pub fn offline_throughput(run: &Run) -> OfflineThroughput {
    let metrics = Metrics::score(&run.log, &MetricPolicy::vllm());
    OfflineThroughput::of(&Report::new(&run.log, &metrics, &run.audit))
}

/// Returns the latency of each batch of a run that sent batches of `size` requests. A batch with
/// a failed request is omitted, because its full latency is unknown.
pub fn offline_latency(log: &RunLog, size: NonZeroUsize) -> OfflineLatency {
    let mut records: Vec<&RequestRecord> = log.measured().collect();
    // No batch begins before the previous one has ended.
    records.sort_by_key(|record| began(record));
    let whole = records.chunks_exact(size.get()).filter(|batch| succeeded(batch));
    OfflineLatency::new(log.header(), whole.map(took).collect())
}

fn began(record: &RequestRecord) -> Stamp {
    record.sent.unwrap_or(record.ended)
}

fn succeeded(batch: &[&RequestRecord]) -> bool {
    batch.iter().all(|record| record.is_success())
}

fn took(batch: &[&RequestRecord]) -> f64 {
    let ended = batch.iter().map(|record| record.ended).max();
    let took = ended.zip(batch.first()).map(|(ended, first)| ended.since(began(first)));
    took.unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use servemark_core::{
        ErrorKind, Finish, Header, Phase, Recorder, RequestError, RunFacts, Sample,
    };

    use super::*;

    fn record(sent_ms: u64, ended_ms: u64, is_success: bool) -> RequestRecord {
        let at = |ms| Stamp::ZERO + Duration::from_millis(ms);
        let failed = || RequestError::new(ErrorKind::Status, "500");
        let outcome = is_success.then(Finish::default).ok_or_else(failed);
        let recorder = Recorder::new(0, Phase::Measure, &Sample::new("", 1, 1), at(0));
        let mut record = recorder.finish(outcome, at(0));
        (record.sent, record.ended) = (Some(at(sent_ms)), at(ended_ms));
        record
    }

    #[test]
    fn a_batch_takes_from_its_first_request_to_its_last_answer() {
        let records = vec![
            record(205, 260, true),
            record(0, 100, true),
            record(200, 250, true),
            record(10, 190, true),
            record(300, 301, true),
            record(302, 303, false),
        ];
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let log = RunLog::new(header, records, None);
        let two = NonZeroUsize::new(2).unwrap();
        assert_eq!(offline_latency(&log, two).seconds, [0.19, 0.06]);
    }
}
