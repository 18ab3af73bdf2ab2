//! Target for metrics in the text format of servers and exporters.

use servemark::core::{
    Header, RunFacts, RunLog, Stamp, Telemetry, TelemetryLine, TelemetrySample, TelemetrySource,
};
use servemark::metrics::RunSeries;
use servemark_telemetry::Readings;

/// Reads any two texts, which a form feed separates, as answers of one source: they are read as
/// series or refused. A text that is read twice adds nothing, and every reading has its series.
pub fn exposition(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, second) = text.split_once('\u{c}').unwrap_or((&text, &text));
    let mut readings = Readings::new(0, std::sync::Arc::default());
    let mut telemetry = Telemetry::default();
    telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "fuzz")));
    for (at, text) in [(1, first), (2, second), (3, second)] {
        let Some(lines) = readings.read(&mut text.into(), Stamp::from_nanos(at * 1_000_000_000), 0)
        else {
            return;
        };
        for line in lines {
            telemetry.add(line);
        }
    }
    let series = telemetry.series.len();
    let is_known = |sample: &TelemetrySample| {
        sample.values.iter().all(|(id, _)| *id < series)
            && sample.histograms.iter().all(|(id, _)| *id < series)
    };
    assert!(telemetry.samples.iter().all(is_known), "a reading without a series");
    let last = &telemetry.samples[2];
    let is_same = last.values.iter().all(|(_, value)| value.is_nan());
    assert!(is_same, "the same text changed {:?}", last.values);
    let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
    let log = RunLog::new(header, Vec::new(), None).with_telemetry(telemetry);
    let _ = RunSeries::of(&log);
}
