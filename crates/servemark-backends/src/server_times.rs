//! The times that servers report with an answer, in each server's own words.
//!
//! Every time comes from outside: a value that is not a plausible number counts as not reported.

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{JsonObject, ServerTimes};

/// Reads vLLM's `metrics`, which stand beside the counts: durations in milliseconds. The time to
/// first token begins at the end of the queue.
pub(crate) fn of_vllm(metrics: &RawValue) -> Option<ServerTimes> {
    let times = Reported::of(metrics)?;
    let times_of = ServerTimes::new(times.ms("queue_time_ms"), times.ms("time_to_first_token_ms"))
        .with_decode(times.ms("generation_time_ms"));
    non_empty(times_of)
}

/// Reads llama.cpp's `timings`: durations in milliseconds, without the wait for a slot.
pub(crate) fn of_llama_cpp(timings: &RawValue) -> Option<ServerTimes> {
    let times = Reported::of(timings)?;
    let times_of = ServerTimes::default()
        .with_prefill(times.ms("prompt_ms"))
        .with_decode(times.ms("predicted_ms"));
    non_empty(times_of)
}

/// Reads the `timing` that Dynamo puts into `nvext`: durations in milliseconds. Its time to first
/// token begins at the reception, so it is not read.
pub(crate) fn of_dynamo(nvext: &RawValue) -> Option<ServerTimes> {
    let extension: DynamoExtension<'_> = serde_json::from_str(nvext.get()).ok()?;
    let times = Reported::of(extension.timing?)?;
    let times_of = ServerTimes::new(times.ms("prefill_wait_time_ms"), None)
        .with_prefill(times.ms("prefill_time_ms"))
        .with_kv_transfer(times.ms("kv_transfer_estimated_latency_ms"))
        .with_total(times.ms("total_time_ms"));
    non_empty(times_of)
}

/// Reads SGLang's `meta_info`: durations in seconds, and instants in seconds since the Unix epoch.
///
/// The time before the queue is not reported; it is the time from the reception to the first
/// forward pass, less the time in the queue. With disaggregated prefill the instants are those of
/// the decode worker, and the `pd_` durations take their place.
pub(crate) fn of_sglang(meta_info: &RawValue) -> Option<ServerTimes> {
    let times = Reported::of(meta_info)?;
    let received = times.unix_s("request_received_ts");
    let sent = times.unix_s("response_sent_to_client_ts");
    let queue_ms = times.s_in_ms("queue_time");
    let times_of = ServerTimes::new(queue_ms, None)
        .with_total(times.s_in_ms("e2e_latency"))
        .with_instants(received.map(nanos), sent.map(nanos));
    if times.is_disaggregated() {
        return non_empty(
            times_of
                .with_prefill(times.s_in_ms("pd_prefill_forward_duration"))
                .with_kv_transfer(times.s_in_ms("pd_decode_transfer_duration")),
        );
    }
    let (entry, prefilled) =
        (times.unix_s("forward_entry_time"), times.unix_s("prefill_finished_time"));
    let finished = times.unix_s("request_finished_ts");
    let before_queue = since(received, entry).zip(queue_ms);
    let frontend = before_queue.map(|(until_forward, queue)| (until_forward - queue).max(0.0));
    non_empty(
        times_of
            .with_frontend(frontend)
            .with_prefill(since(entry, prefilled))
            .with_decode(since(prefilled, finished)),
    )
}

/// Reads the times of a frame of `/generate`, or of the first frame of a list.
pub(crate) fn of_generate(json: &[u8]) -> Option<ServerTimes> {
    #[derive(Deserialize)]
    struct Timed<'a> {
        #[serde(borrow)]
        meta_info: Option<&'a RawValue>,
    }
    let first = if json.trim_ascii_start().starts_with(b"[") {
        let all: Vec<Timed<'_>> = serde_json::from_slice(json).ok()?;
        all.into_iter().next()?
    } else {
        serde_json::from_slice::<Timed<'_>>(json).ok()?
    };
    of_sglang(first.meta_info?)
}

/// Reads the headers that text-generation-inference puts before a whole answer: durations in whole
/// milliseconds. A stream's head comes before its times are known and has none.
pub(crate) fn of_tgi(headers: &HeaderMap) -> Option<ServerTimes> {
    let ms = |name: &str| -> Option<f64> {
        plausible(headers.get(name)?.to_str().ok()?.trim().parse().ok()?)
    };
    let times_of = ServerTimes::new(ms("x-queue-time"), None)
        .with_frontend(ms("x-validation-time"))
        .with_total(ms("x-total-time"));
    non_empty(times_of)
}

#[derive(Deserialize)]
struct DynamoExtension<'a> {
    #[serde(borrow)]
    timing: Option<&'a RawValue>,
}

/// The object that holds a server's times.
struct Reported(JsonObject);

impl Reported {
    fn of(object: &RawValue) -> Option<Self> {
        serde_json::from_str(object.get()).ok().map(Self)
    }

    /// Returns a duration in milliseconds.
    fn ms(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64().and_then(plausible)
    }

    /// Returns a duration that is reported in seconds, in milliseconds.
    fn s_in_ms(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64().and_then(|seconds| plausible(seconds * 1e3))
    }

    /// Returns an instant in seconds since the Unix epoch.
    fn unix_s(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64().filter(|seconds| YEARS_2000_TO_2200.contains(seconds))
    }

    fn is_disaggregated(&self) -> bool {
        self.0.keys().any(|key| key.starts_with("pd_"))
    }
}

fn non_empty(times: ServerTimes) -> Option<ServerTimes> {
    (!times.is_empty()).then_some(times)
}

/// Returns the milliseconds from one instant to another, if both are known in this order.
fn since(earlier: Option<f64>, later: Option<f64>) -> Option<f64> {
    plausible((later? - earlier?) * 1e3)
}

fn plausible(ms: f64) -> Option<f64> {
    (0.0..=LONGEST_MS).contains(&ms).then_some(ms)
}

#[expect(clippy::cast_sign_loss, reason = "the instant lies after the year 2000")]
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Longest plausible duration in milliseconds, a hundred days; longer ones are ignored.
const LONGEST_MS: f64 = 100.0 * 86_400.0 * 1e3;

/// Seconds since the Unix epoch that can be the time of a request.
const YEARS_2000_TO_2200: std::ops::Range<f64> = 946_684_800.0..7_258_118_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        serde_json::value::to_raw_value(&serde_json::from_str::<serde_json::Value>(json).unwrap())
            .unwrap()
    }

    #[track_caller]
    fn close(actual: Option<f64>, expected: f64) {
        assert!((actual.unwrap() - expected).abs() < 0.001, "{actual:?} is not {expected}");
    }

    /// The last event of a real SGLang 0.5.23.
    const SGLANG: &str = r#"{"id":"2b2f","finish_reason":{"type":"length","length":6},
        "forward_entry_time":1795350280.7886171,"prefill_finished_time":1795350280.805101,
        "queue_time":0.0005632749998767395,"cached_tokens":5,"e2e_latency":0.10034499899938965,
        "request_received_ts":1795350280.7865338,"first_token_latency":0.020484455999394413,
        "api_server_dispatch_finish_ts":1795350280.787401,
        "response_sent_to_client_ts":1795350280.8077965,
        "request_finished_ts":1795350280.8868787,"decode_throughput":62.60914103727417}"#;

    #[test]
    fn sglangs_instants_become_the_parts_between_them() {
        let times = of_sglang(&raw(SGLANG)).unwrap();
        close(times.queue_ms, 0.563);
        close(times.frontend_ms, 1.520);
        close(times.prefill_ms, 16.484);
        close(times.decode_ms, 81.778);
        close(times.total_ms, 100.345);
        let (received, sent) = (times.received_unix_ns.unwrap(), times.first_sent_unix_ns.unwrap());
        close(Some((sent - received) as f64 / 1e6), 21.263);
    }

    #[test]
    fn a_disaggregated_sglang_reports_its_transfer() {
        let times = of_sglang(&raw(r#"{"queue_time":0.5,"forward_entry_time":1795350280.5,
                "request_received_ts":1795350280.0,"pd_prefill_forward_duration":0.125,
                "pd_decode_transfer_duration":0.05}"#));
        let times = times.unwrap();
        assert_eq!((times.prefill_ms, times.kv_transfer_ms), (Some(125.0), Some(50.0)));
        assert_eq!(times.frontend_ms, None, "the instants are another worker's");
    }

    #[test]
    fn the_first_frame_of_a_list_speaks_for_the_request() {
        let list = format!(r#"[{{"meta_info":{SGLANG}}},{{"meta_info":null}}]"#);
        close(of_generate(list.as_bytes()).unwrap().queue_ms, 0.563);
        assert_eq!(of_generate(br#"{"text":"a"}"#), None);
    }

    #[test]
    fn llama_cpp_and_dynamo_report_durations() {
        let times = of_llama_cpp(&raw(r#"{"prompt_n":1,"prompt_ms":2.831,"predicted_ms":14.026}"#));
        let times = times.unwrap();
        assert_eq!((times.prefill_ms, times.decode_ms), (Some(2.831), Some(14.026)));
        let times = of_dynamo(&raw(
            r#"{"timing":{"prefill_wait_time_ms":12.1,"prefill_time_ms":70.3,"ttft_ms":82.4,
                "kv_transfer_estimated_latency_ms":4.2,"total_time_ms":1000.1}}"#,
        ));
        let times = times.unwrap();
        assert_eq!((times.queue_ms, times.prefill_ms), (Some(12.1), Some(70.3)));
        assert_eq!((times.kv_transfer_ms, times.ttft_ms), (Some(4.2), None));
    }

    #[test]
    fn headers_of_text_generation_inference_are_milliseconds() {
        let mut headers = HeaderMap::new();
        headers.insert("x-queue-time", "7".parse().unwrap());
        headers.insert("x-validation-time", "2".parse().unwrap());
        headers.insert("x-total-time", "soon".parse().unwrap());
        let times = of_tgi(&headers).unwrap();
        assert_eq!(
            (times.queue_ms, times.frontend_ms, times.total_ms),
            (Some(7.0), Some(2.0), None)
        );
        assert_eq!(of_tgi(&HeaderMap::new()), None);
    }

    #[test]
    fn what_is_no_time_is_not_reported() {
        for metrics in [
            r#"{"queue_time_ms":-1}"#,
            r#"{"queue_time_ms":1e300}"#,
            r#"{"queue_time_ms":true}"#,
            "[]",
            "null",
        ] {
            assert_eq!(of_vllm(&raw(metrics)), None, "{metrics}");
        }
        let of_the_clock = r#"{"request_received_ts":12.5,"response_sent_to_client_ts":1e40}"#;
        assert_eq!(of_sglang(&raw(of_the_clock)), None);
    }
}
