//! The server's own counters of its work.

use servemark_metrics::{Diffusion, PrefixCache, ServerWork, Speculation};

use super::style::{number, percent, unit};
use crate::table::Table;

/// Writes the server's counters. They include the work of all its clients during the run.
pub(super) fn server_work(table: &mut Table, work: &ServerWork) {
    let ServerWork { speculation, diffusion, prefix_cache, .. } = work;
    if speculation.is_none() && diffusion.is_none() && prefix_cache.is_none() {
        return;
    }
    table.section("By the server's counters, before and after");
    if let Some(cache) = prefix_cache {
        table.row("prefix cache", cached(cache));
    }
    if let Some(speculation) = speculation {
        guessed(table, speculation);
    }
    if let Some(diffusion) = diffusion {
        denoised(table, diffusion);
    }
}

fn cached(cache: &PrefixCache) -> String {
    let PrefixCache { queries, hits, .. } = cache;
    format!("{} of {queries} prompt tokens ({hits})", percent(cache.hit_rate()))
}

fn guessed(table: &mut Table, work: &Speculation) {
    let Speculation { drafts, draft_tokens, accepted_tokens, .. } = work;
    let length = number(Some(work.acceptance_length));
    let accepted = percent(work.acceptance_rate_percent / 100.0);
    table.row("tokens per step", format!("{length} ({drafts} drafts)"));
    table.row(
        "accepted",
        format!("{accepted} of {draft_tokens} guessed tokens ({accepted_tokens})"),
    );
    let positions: Vec<String> = work.acceptance_by_position.iter().copied().map(percent).collect();
    if !positions.is_empty() {
        table.row("  by position", positions.join(", "));
    }
}

fn denoised(table: &mut Table, work: &Diffusion) {
    table.row("committed tokens", unit(Some(work.committed_tokens_per_s), "/s"));
    table.row("  per step", number(Some(work.committed_per_step)));
    table.row("steps per canvas", number(Some(work.steps_per_canvas)));
}
