//! The processes that shared a run.

use servemark_core::{RankMember, Ranks};
use servemark_metrics::{Audit, RankAudit};

use super::style::{absent, percent};
use crate::table::Table;

/// Writes the processes that shared the run, if there were several.
pub(super) fn ranks(table: &mut Table, ranks: Option<&Ranks>, audit: &Audit) {
    let Some((ranks, found)) = ranks.zip(audit.ranks.as_ref()) else { return };
    table.section("Ranks");
    let RankAudit { present, missing_share, clock_bound_us, .. } = found;
    table.row("ranks", format!("{present} of {}", found.ranks));
    if *missing_share > 0.0 {
        table.row("missing", format!("{} of the planned requests", percent(*missing_share)));
    }
    table.row("clocks", format!("within {:.3} ms of each other", clock_bound_us / 1000.0));
    for lost in &found.lost {
        table.row("lost", lost);
    }
    if let Some(worst) = &found.worst {
        let words = format!("rank {} ({}): {}", worst.rank, worst.host, worst.verdict);
        table.paragraph("worst", &format!("{words}: {}", worst.reason));
    }
    each(table, &ranks.members);
}

/// Writes one line for each process.
fn each(table: &mut Table, members: &[RankMember]) {
    table.grid("Each rank", HEADS);
    let planned: usize = members.iter().map(|member| member.planned).sum();
    for member in members.iter().take(MOST_LISTED) {
        table.cells(&format!("rank {}", member.rank), cells(member, planned));
    }
    let more = members.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        table.note(format!("  and {more} more"));
    }
    table.long_note(
        "clock: rank 0's less the rank's own at the start, right to within the bound; late: from \
         when the rank's first request was due until it was sent",
    );
}

const HEADS: [&str; 9] =
    ["host", "cores", "files", "requests", "share", "clock", "bound", "late", "audit"];

fn cells(member: &RankMember, planned: usize) -> Vec<String> {
    let machine = &member.machine;
    let or_absent = |text: Option<String>| text.unwrap_or_else(absent);
    let clock = member.clock_before;
    let audit = if member.lost.is_some() { Some("lost") } else { member.verdict.as_deref() };
    vec![
        or_absent(Some(machine.host.clone()).filter(|host| !host.is_empty())),
        or_absent((machine.cores > 0).then(|| machine.cores.to_string())),
        or_absent(machine.open_files.map(|files| files.to_string())),
        format!("{}/{}", member.recorded, member.planned),
        percent(member.planned as f64 / planned.max(1) as f64),
        or_absent(clock.map(|clock| format!("{:+.6} s", clock.offset_ns as f64 / 1e9))),
        or_absent(member.clock_bound_ns().map(|bound| format!("{:.3} ms", bound as f64 / 1e6))),
        or_absent(member.start_late_ns.map(|late| format!("{:.3} ms", late as f64 / 1e6))),
        or_absent(audit.map(ToOwned::to_owned)),
    ]
}

/// Largest number of ranks that are listed one by one.
const MOST_LISTED: usize = 64;

#[cfg(test)]
mod tests {
    use servemark_core::{Header, RankClock, RankMachine, RunFacts, RunLog};

    use super::super::style::NativeStyle;
    use super::*;

    fn member(rank: usize) -> RankMember {
        let machine =
            RankMachine { host: format!("host-{rank}"), cores: 8, open_files: Some(20_000) };
        RankMember { rank, machine, planned: 50, recorded: 50, ..RankMember::default() }
    }

    fn table_text(members: Vec<RankMember>) -> String {
        let mut header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        header.ranks = Some(Ranks { run: "run".to_owned(), members });
        let log = RunLog::new(header, Vec::new(), None);
        let mut table = Table::default();
        ranks(&mut table, log.header().ranks.as_ref(), &Audit::of(&log));
        let mut out = Vec::new();
        NativeStyle { columns: 100 }.write(table.lines(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_rank_has_a_line_with_its_machine_its_share_its_clock_and_its_verdict() {
        let mut second = member(1);
        second.clock_before = Some(RankClock { offset_ns: -5_000_012_000, bound_ns: 15_000 });
        second.start_late_ns = Some(31_000);
        second.verdict = Some("client-limited".to_owned());
        second.reason = Some("it was busy".to_owned());
        let lost = RankMember {
            lost: Some("nothing was heard of it".to_owned()),
            recorded: 7,
            ..member(2)
        };
        insta::assert_snapshot!(table_text(vec![member(0), second, lost]), @r"

        Ranks
          ranks             2 of 3
          missing           28.7 % of the planned requests
          clocks            within 0.015 ms of each other
          lost              rank 2 (host-2): nothing was heard of it
          worst             rank 1 (host-1): client-limited: it was busy

        Each rank
                             host cores files requests  share       clock    bound     late          audit
          rank 0           host-0     8 20000    50/50 33.3 %           -        -        -              -
          rank 1           host-1     8 20000    50/50 33.3 % -5.000012 s 0.015 ms 0.031 ms client-limited
          rank 2           host-2     8 20000     7/50 33.3 %           -        -        -           lost
          clock: rank 0's less the rank's own at the start, right to within the bound; late: from when the
          rank's first request was due until it was sent
        ");
    }

    #[test]
    fn the_list_of_many_ranks_ends() {
        let text = table_text((0..1000).map(member).collect());
        assert!(text.contains("\n  and 936 more\n") && !text.contains("rank 64"), "{text}");
    }
}
