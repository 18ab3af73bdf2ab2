//! The grammar of targets: parts that the text forms of objectives, goodput, figures and required
//! precisions share.

use crate::{Latency, Statistic};

/// Splits a latency and a statistic, such as `ttft:p99`.
pub(crate) fn latency_and_statistic(text: &str) -> Option<(Latency, Statistic)> {
    let (latency, statistic) = text.split_once(':')?;
    Some((Latency::from_name(latency.trim())?, statistic_of(statistic.trim())?))
}

/// Parses a statistic: `mean`, `avg`, `median`, `p99` or `max`. The smallest value is none.
fn statistic_of(name: &str) -> Option<Statistic> {
    match name {
        "avg" => Some(Statistic::Mean),
        "max" => Some(Statistic::Percentile(100.0)),
        name => {
            Statistic::from_name(name).filter(|statistic| *statistic != Statistic::Percentile(0.0))
        }
    }
}

/// Relation of a figure to its limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Relation {
    /// Whether the figure must be below the limit.
    pub(crate) is_below: bool,
    /// Whether a figure equal to the limit misses it.
    pub(crate) is_strict: bool,
}

/// Splits a text at its relation: the subject, the relation, and the limit.
pub(crate) fn relation(text: &str) -> Option<(&str, Relation, &str)> {
    const SIGNS: [(&str, bool, bool); 6] = [
        ("<=", true, false),
        ("≤", true, false),
        ("<", true, true),
        (">=", false, false),
        ("≥", false, false),
        (">", false, true),
    ];
    let (subject, rest) = text.split_at(text.find(['<', '>', '≤', '≥'])?);
    SIGNS.into_iter().find_map(|(sign, is_below, is_strict)| {
        let limit = rest.strip_prefix(sign)?.trim();
        Some((subject.trim(), Relation { is_below, is_strict }, limit))
    })
}

/// Parses a time above zero such as `2000ms`, `2s` or `500us`, in milliseconds.
pub(crate) fn time_ms(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 3] = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let (number, factor) =
        UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    positive(number).map(|number| number * factor).filter(|ms| ms.is_finite())
}

/// Parses a finite number above zero.
pub(crate) fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// Parses a share above zero, such as `99%` or `0.99`.
pub(crate) fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    // Rounding makes `99%` and `0.99` the same number.
    (share > 0.0 && share <= 1.0).then(|| percent(share) / 100.0)
}

/// Converts a share to percent, without the error of the binary fraction.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}
