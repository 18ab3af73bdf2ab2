//! The processes that shared a run.

use servemark_core::{RankMember, Ranks};
use servemark_metrics::{Audit, RankAudit};

use crate::table::Table;

/// Writes the processes that shared the run, if there were several.
pub(super) fn ranks(table: &mut Table, ranks: Option<&Ranks>, audit: &Audit) {
    let Some((ranks, found)) = ranks.zip(audit.ranks.as_ref()) else { return };
    table.section("Ranks");
    let RankAudit { present, missing_share, clock_bound_us, .. } = found;
    table.row("ranks", format!("{present} of {}", found.ranks));
    if *missing_share > 0.0 {
        table.row("missing", format!("{:.1} % of the planned requests", 100.0 * missing_share));
    }
    table.row("clocks", format!("within {:.3} ms of each other", clock_bound_us / 1000.0));
    for lost in &found.lost {
        table.row("lost", lost);
    }
    if let Some(worst) = &found.worst {
        table.row("worst", format!("rank {} ({}): {}", worst.rank, worst.host, worst.verdict));
    }
    for member in ranks.members.iter().take(MOST_LISTED) {
        table.row(&format!("rank {}", member.rank), described(member));
    }
    let more = ranks.members.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        table.row("", format!("and {more} more"));
    }
}

fn described(member: &RankMember) -> String {
    let host = if member.host.is_empty() { "unknown host" } else { &member.host };
    let verdict = member.verdict.as_deref().unwrap_or("no verdict");
    format!("{host}, {} of {} requests, {verdict}", member.recorded, member.planned)
}

/// Number of ranks that are listed one by one.
const MOST_LISTED: usize = 16;
