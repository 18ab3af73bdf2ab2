//! The client audit in the table: the influence of the client on its own measurement.

use servemark_core::ArrivalClock;
use servemark_metrics::{Audit, LittlesLaw, Machine, Network, Reading, Sending, ShardLoad, Spread};

use super::style::{number, percent, unit};
use crate::table::Table;

pub(super) fn audit(table: &mut Table, audit: &Audit) {
    table.section("Client audit");
    table.row("verdict", audit.verdict);
    table.row("load", audit.load.verdict);
    table.row("latencies", &audit.latencies);
    for found in &audit.reasons {
        table.paragraph("", &found.reason);
    }
    if !audit.unchecked.is_empty() {
        table.paragraph("not checked", &audit.unchecked.join("; "));
    }
    if !audit.inapplicable.is_empty() {
        table.paragraph("does not apply", &audit.inapplicable.join("; "));
    }
    let mut label = "connections";
    for note in audit.resending.notes() {
        table.paragraph(std::mem::take(&mut label), &note);
    }
    reading(table, &audit.reading);
    sending(table, &audit.sending);
    network(table, &audit.network);
    if let Some(machine) = &audit.machine {
        self::machine(table, machine);
    }
    if let Some(law) = &audit.littles_law {
        table.row("Little's law", little(law));
    }
    waits(table, audit);
}

fn reading(table: &mut Table, reading: &Reading) {
    table.row("arrivals by", arrival_clock(reading.arrival_clock));
    if let (Some(itl), Some(by_user)) = (reading.p99_itl_us, reading.p99_itl_by_user_clock_us) {
        let [itl, by_user] = [itl, by_user].map(milliseconds);
        table.row("p99 gap", format!("{itl}; by the client's own clock {by_user}"));
    }
    if reading.reads > 0 {
        let (label, pieces) = pieces(reading);
        table.row(label, pieces);
    }
    let error = reading.stamp_error;
    if let Some(p99) = error.p99_us.filter(|_| error.doubtful > 0) {
        let (share, p99) = (percent(reading.share_of_pieces(error.doubtful)), milliseconds(p99));
        table.row("stamp error", format!("p99 at most {p99}; {share} of the pieces in doubt"));
    }
}

fn arrival_clock(clock: Option<ArrivalClock>) -> &'static str {
    match clock {
        None => "-",
        Some(ArrivalClock::User) => "the client's clock: its own lag is in every latency",
        Some(ArrivalClock::KernelBound) => "the kernel's stamps, an upper bound on HTTP/2",
        Some(ArrivalClock::Kernel) => "the kernel's stamps",
        Some(ArrivalClock::Engine) => "the engine's stamps",
    }
}

/// Returns the label and value of the pieces row. An in-process engine has no socket, so its row
/// shows pieces per step only.
fn pieces(reading: &Reading) -> (&'static str, String) {
    match reading.arrival_clock {
        Some(ArrivalClock::Engine) => ("pieces per step", number(reading.pieces_per_read())),
        _ => ("pieces per read", pieces_per_read(reading)),
    }
}

fn pieces_per_read(reading: &Reading) -> String {
    let shared = reading.shared;
    let share = |pieces: u64| percent(reading.share_of_pieces(pieces));
    let (lay, came) = (share(shared.by_client + shared.unknown), share(shared.elsewhere));
    format!(
        "{}; {lay} queued unread, {came} coalesced by the network",
        number(reading.pieces_per_read())
    )
}

fn sending(table: &mut Table, sending: &Sending) {
    let late = sending.late_share().map_or_else(|| "-".to_owned(), percent);
    let (judged, limit) = (sending.judged, milliseconds(sending.late_from_us));
    table.row("late sends", format!("{late} of {judged} by more than {limit}"));
    if let Some(gate) = &sending.gate {
        let longest = gate.wait.max_us.map(milliseconds);
        let longest =
            longest.map_or_else(String::new, |longest| format!(", for at most {longest}"));
        let (all, through) = (sending.sent, unit(sending.let_through_per_s, "/s"));
        let blocked = format!("{} of {all}{longest}; let through {through}", gate.blocked);
        table.row("blocked by gate", blocked);
    }
}

fn network(table: &mut Table, network: &Network) {
    let Network { requests, retransmits, out_of_order, min_rtt, .. } = network;
    if *requests > 0 {
        let shortest = min_rtt.median_us.map_or_else(|| "-".to_owned(), milliseconds);
        table.row(
            "network",
            format!(
                "shortest round trip {shortest}, {retransmits} sent again, {out_of_order} out of \
                 order"
            ),
        );
    }
}

fn machine(table: &mut Table, machine: &Machine) {
    let loads = machine.shards.iter().map(|shard| percent(shard.cpu_share));
    let busiest = machine.shards.iter().map(ShardLoad::busy_share).fold(0.0, f64::max);
    let cpu = match machine.shards.len() {
        count @ ..=MOST_SHARDS => {
            let threads = if count == 1 { "of one core" } else { "of a core each" };
            format!("{} {threads}", loads.collect::<Vec<_>>().join(", "))
        }
        count => format!("{count} threads, the busiest {} of its core", percent(busiest)),
    };
    table.paragraph("client CPU", &cpu);
    table.paragraph("kept from it", &kept_from_it(machine));
}

/// Returns the causes that kept the client from running, as far as they are known. Unknown values
/// are listed as "not checked".
fn kept_from_it(machine: &Machine) -> String {
    let delay = machine.longest_run_delay();
    let switches = machine.shards.iter().filter_map(|shard| shard.involuntary_switches);
    let parts = [
        delay.map(|share| format!("{} waiting for a core", percent(share))),
        switches.reduce(|all, some| all + some).map(|count| format!("{count} times displaced")),
        machine.steal_share.map(|share| format!("{} stolen", percent(share))),
        Some(format!("{} waiting for the run log", percent(machine.log_wait_share))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn little(law: &LittlesLaw) -> String {
    let [swept, expected] =
        [law.concurrency, law.expected_concurrency].map(|value| number(Some(value)));
    let difference = law.difference * 100.0;
    format!("{swept} in flight; throughput x latency is {expected} ({difference:+.1} %)")
}

fn waits(table: &mut Table, audit: &Audit) {
    let Audit { reading, sending, network, .. } = audit;
    let rows = [
        ("read lag", &reading.lag),
        ("of first pieces", &reading.first_lag),
        ("sent after due", &sending.from_due),
        ("left after sent", &network.transmit),
        ("round trip", &network.rtt),
    ];
    table.grid("The client's waits (ms)", ["samples", "p50", "p99", "p99.9", "max"]);
    for (label, spread) in rows.into_iter().filter(|(_, spread)| spread.samples > 0) {
        table.cells(label, cells(spread));
    }
}

fn cells(spread: &Spread) -> Vec<String> {
    let known = [spread.median_us, spread.p99_us, spread.p999_us, spread.max_us];
    let cells = known.map(|micros| number(micros.map(|micros| micros / 1e3)));
    [spread.samples.to_string()].into_iter().chain(cells).collect()
}

fn milliseconds(micros: f64) -> String {
    unit(Some(micros / 1e3), "ms")
}

/// Largest number of threads listed one by one; more do not fit a line.
const MOST_SHARDS: usize = 8;
