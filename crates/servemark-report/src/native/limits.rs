//! What limits the run, in words.

use servemark_metrics::Limit;

use crate::table::Table;

/// Writes the causes with their evidence; writes nothing if nothing shows one.
pub(super) fn limits(table: &mut Table, limits: &[Limit]) {
    if limits.is_empty() {
        return;
    }
    table.section("What limits it");
    for (place, limit) in (1..).zip(limits) {
        table.paragraph(&format!("{place}."), &limit.to_string());
    }
}
