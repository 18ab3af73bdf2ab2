//! The audit of the server's prefix cache.

use servemark_metrics::{CacheAudit, CacheFinding, SavedTime};

use super::style::{number, percent, unit};
use crate::table::Table;

/// Writes what the times of the audited prompts show.
pub(super) fn cache_audit(table: &mut Table, audit: &CacheAudit) {
    table.section("Prefix cache, by prompts that were sent again");
    table.row("prompts", audit.prompts.to_string());
    let medians = [audit.cold_ms, audit.warm_ms, audit.measured_ms].map(|ms| unit(ms, "ms"));
    let [cold, warm, measured] = medians;
    table.row("median TTFT", format!("new {cold}, repeated {warm}, measured {measured}"));
    let savings = [
        ("a cache saves", audit.saved_by_cache.as_ref()),
        ("saved in the run", audit.saved_in_run.as_ref()),
    ];
    for (label, saved) in savings {
        if let Some(saved) = saved {
            table.row(label, saved_time_text(saved));
        }
    }
    let expected = percent(audit.expected_share);
    if let (Some(share), Some([low, high])) = (audit.share, audit.interval) {
        let [share, low, high] = [share, low, high].map(percent);
        let told = format!(
            "{share} of the prompt tokens ({low} to {high}) came from it; the plan intends {expected}"
        );
        table.paragraph("found", &told);
        return;
    }
    let why = match audit.finding {
        CacheFinding::NoCache => {
            "a repeated prompt is quicker than a new one by less than a tenth, if at all: no cache made \
             this run much quicker"
        }
        CacheFinding::LoadDiffers => {
            "not known: measured prompts were slower than new ones, or quicker than repeated ones, \
             so the load of the audit was not that of the run"
        }
        _ => "not known: too few prompts have all three times",
    };
    table.paragraph("found", why);
}

fn saved_time_text(saved: &SavedTime) -> String {
    let [low, high] = saved.interval_ms.map(|ms| number(Some(ms)));
    let (ms, chance) = (number(Some(saved.ms)), saved.chance);
    let chance = if chance < 0.001 { "below 0.001".to_owned() } else { format!("{chance:.3}") };
    format!("{ms} ms ({low} to {high}), by chance {chance} (signed ranks)")
}
