//! Parts of the time to the first output over the time of a run.

use servemark_core::RunLog;
use servemark_metrics::{AnatomyFacts, RequestAnatomy, RequestPart};

use super::bins::Bins;
use super::times::Times;
use crate::series::{Panel, Scales};

/// Returns the stacked panel of the parts of the time to the first output: the mean of each part
/// over the requests that were sent in each time step. It is absent if the server reported no
/// times, or if no answer was a stream.
pub(super) fn panel(times: &Times, log: &RunLog) -> Option<Panel> {
    if log.measured().all(|record| record.server_times.is_none()) {
        return None;
    }
    let facts = AnatomyFacts::of(log);
    let streamed = log.measured().filter_map(|record| {
        let anatomy = RequestAnatomy::of(record, &facts)?;
        anatomy.ttft_ms.map(|_| (times.at(record.started()), anatomy))
    });
    let streamed: Vec<(f64, RequestAnatomy)> = streamed.collect();
    if streamed.is_empty() {
        return None;
    }
    let bins = Bins::of(times.span(), (streamed.len() / 12).clamp(6, 200));
    let mut counts = vec![0.0_f64; bins.count];
    let mut sums = vec![[0.0; GROUPS.len()]; bins.count];
    for (at, anatomy) in &streamed {
        let Some(place) = bins.place(*at) else { continue };
        counts[place] += 1.0;
        for (sum, (_, parts)) in sums[place].iter_mut().zip(GROUPS) {
            *sum += parts.iter().filter_map(|part| anatomy.part_ms(*part)).sum::<f64>();
        }
    }
    let mut panel = Panel::new("anatomy", "Parts of the time to first token", "ms", Scales::Linear);
    panel.about = format!(
        "Mean of each part over the requests that were sent in a step of {} s, by the server's own times.",
        bins.step
    );
    let mut below: Vec<f64> = counts.iter().map(|count| empty_or(*count, 0.0)).collect();
    for (group, (name, _)) in GROUPS.iter().enumerate() {
        let means = sums.iter().zip(&counts).map(|(sums, count)| empty_or(*count, sums[group]));
        let above: Vec<f64> = below.iter().zip(means).map(|(below, mean)| below + mean).collect();
        if sums.iter().any(|sums| sums[group] > 0.0) {
            panel.stacked(name, group, [bins.series(&below), bins.series(&above)]);
        }
        below = above;
    }
    Some(panel)
}

/// Returns `sum / count`; NaN if `count` is zero.
fn empty_or(count: f64, sum: f64) -> f64 {
    if count > 0.0 { sum / count } else { f64::NAN }
}

/// The bands of the plot from the bottom up: the name of each, and the parts of a request that it
/// adds up.
const GROUPS: [(&str, &[RequestPart]); 6] = [
    ("prefill", &[RequestPart::Prefill, RequestPart::KvTransfer]),
    ("server queue", &[RequestPart::ServerQueue]),
    ("front end", &[RequestPart::ServerFrontend]),
    ("rest inside the server", &[RequestPart::InsideServer]),
    ("network", &[RequestPart::RequestTransit, RequestPart::ResponseTransit]),
    ("client", &[RequestPart::GateWait, RequestPart::SendLag, RequestPart::ReadLag]),
];
