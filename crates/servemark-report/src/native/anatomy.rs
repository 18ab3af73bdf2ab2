//! The parts of the requests' time, and the offset of the server's clock from the client's.

use servemark_metrics::{Anatomy, PartSummary, RequestPart, ServerClock};

use super::style::{number, percent, unit};
use crate::table::Table;

/// Writes the parts; writes nothing if the server reported none of its times, because the client's
/// own waits have a grid already.
pub(super) fn anatomy(table: &mut Table, anatomy: &Anatomy) {
    if anatomy.with_server_times == 0 {
        return;
    }
    let title = "Anatomy of a request (ms)";
    table.grid(title, ["samples", "mean", "p50", "p99", "of mean", "of p99", "of TTFT", "its p99"]);
    for part in &anatomy.parts {
        table.cells(label(part.name), cells(part));
    }
    table.long_note(
        "of mean, of p99: share of the time from due to the end, over all requests and over the \
         slowest 1 %; of TTFT, its p99: likewise, of the time to the first output",
    );
    let (all, text) = (anatomy.requests, anatomy.with_server_times);
    if text < all {
        table.note(format!("  the server reported its times of {text} of {all} requests"));
    }
    if !anatomy.together.is_empty() {
        let parts: Vec<&str> = anatomy.together.iter().map(|part| label(*part)).collect();
        let parts = parts.join(" and ");
        table
            .note(format!("  the server does not tell {parts} apart: they are in the rest inside"));
    }
    if anatomy.closed_loop {
        table.note(
            "  all requests were due at once: each counts from when the concurrency limit let it go",
        );
    }
    if let Some(untold) = untold_parts(anatomy) {
        table.paragraph("not told", &untold);
    }
    if let Some(clock) = &anatomy.clock {
        table.paragraph("server's clock", &placed(clock));
    }
    let residual = anatomy.residual_ms;
    if residual.p999 > MOST_RESIDUAL_MS {
        let [p50, p99, p999] = [residual.p50, residual.p99, residual.p999].map(milliseconds);
        let text = format!(
            "the parts do not sum up to the client's times: by {p50} in the median, {p99} at p99 \
             and {p999} at p99.9, because the server reports longer times than there were"
        );
        table.paragraph("residual", &text);
    }
}

/// Returns the mean parts of the time to the first output that are a hundredth of it or more, the
/// largest first; `None` if no answer was a stream.
pub fn first_output_parts(anatomy: &Anatomy) -> Option<String> {
    let share = |part: &PartSummary| part.share_of_mean_ttft.filter(|share| *share >= 0.01);
    let parts = anatomy.parts.iter().filter_map(|part| Some((share(part)?, part)));
    let mut parts: Vec<(f64, &PartSummary)> = parts.collect();
    parts.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let words = parts.into_iter().map(|(share, part)| {
        let (name, mean, share) = (label(part.name), milliseconds(part.mean_ms), percent(share));
        format!("{name} {mean} ({share})")
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Returns the parts that the server does not tell, and why; `None` if it tells all of them.
pub fn untold_parts(anatomy: &Anatomy) -> Option<String> {
    let parts: Vec<&str> = anatomy.untold.iter().map(|part| label(*part)).collect();
    let (last, parts) = parts.split_last()?;
    let parts = if parts.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", parts.join(", "))
    };
    let has_ways = !anatomy.untold.contains(&RequestPart::RequestTransit);
    if has_ways || anatomy.clock.is_some() {
        return Some(format!("{parts}: in the rest inside"));
    }
    let least = anatomy
        .round_trip_ms
        .map(|ms| format!("; both ways together take {} or more, by the kernel", milliseconds(ms)));
    Some(format!(
        "{parts}: in the rest inside, because the server tells no instants by which its clock could \
         be placed{}",
        least.unwrap_or_default()
    ))
}

/// Largest 99.9th percentile of the residual, in milliseconds, at which the table does not report
/// the residual.
const MOST_RESIDUAL_MS: f64 = 0.1;

fn label(part: RequestPart) -> &'static str {
    match part {
        RequestPart::GateWait => "gate wait",
        RequestPart::SendLag => "send lag",
        RequestPart::RequestTransit => "way there",
        RequestPart::ServerFrontend => "front end",
        RequestPart::ServerQueue => "server queue",
        RequestPart::Prefill => "prefill",
        RequestPart::KvTransfer => "KV transfer",
        RequestPart::InsideServer => "rest inside",
        RequestPart::ResponseTransit => "way back",
        RequestPart::ReadLag => "read lag",
        RequestPart::Decode => "decode",
        _ => part.name(),
    }
}

fn cells(part: &PartSummary) -> Vec<String> {
    let times = [part.mean_ms, part.p50_ms, part.p99_ms].map(|ms| number(Some(ms)));
    let of_all = [part.share_of_mean, part.share_of_p99].map(percent);
    let of_ttft = [part.share_of_mean_ttft, part.share_of_p99_ttft].into_iter().flatten();
    [part.samples.to_string()]
        .into_iter()
        .chain(times)
        .chain(of_all)
        .chain(of_ttft.map(percent))
        .collect()
}

fn placed(clock: &ServerClock) -> String {
    let ServerClock { offset_ms, bound_ms, stretches, .. } = clock;
    let offset = format!("{offset_ms:+.3} ms by ours, at most {} off", milliseconds(*bound_ms));
    match stretches {
        1 => offset,
        stretches => format!("{offset}; it changed, so it was placed in {stretches} stretches"),
    }
}

fn milliseconds(ms: f64) -> String {
    unit(Some(ms), "ms")
}
