//! Writes the results of a self-test as a table.

use std::fmt;

use servemark_core::ArrivalClock;

use super::{Cost, Lateness, MachineLimits, Selftest};
use crate::run::capacity::whole;

impl fmt::Display for Selftest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Accuracy of this machine as a client (servemark {})", self.servemark)?;
        for (what, value) in self.rows() {
            writeln!(f, "  {what:<38}{value}")?;
        }
        writeln!(f, "Verdict: {}: {}", self.verdict.fitness, self.verdict.reason)
    }
}

impl Selftest {
    fn rows(&self) -> Vec<(&'static str, String)> {
        let (accuracy, paced) = (&self.accuracy, &self.paced);
        let (reading, machine) = (&accuracy.audit.reading, accuracy.audit.machine.as_ref());
        let lag = reading.lag.p99_us.map_or_else(unknown, |lag| format!("{lag:.0} us"));
        let together = reading.pieces_per_read().map_or_else(unknown, |many| format!("{many:.2}"));
        let waited = machine.and_then(|machine| machine.shards.first()?.run_delay_share);
        let stolen = machine.and_then(|machine| machine.steal_share);
        let mut rows = vec![
            ("machine", format!("{}, {}", self.host.system, self.sides())),
            ("open files, soft / hard / free", descriptors(&self.limits)),
            ("local ports to one address", limit(self.limits.ports)),
            ("arrival clock", clock(reading.arrival_clock).to_owned()),
            ("timer lateness, p50 / p99 / max", lateness(&self.timer)),
            (
                "answers at once, a piece each",
                format!("{}, {} ms", accuracy.streams, accuracy.itl_ms),
            ),
            ("  mean TTFT, reported minus true", error(accuracy.mean_ttft_error_ms)),
            ("  p99 TTFT, reported minus true", error(accuracy.p99_ttft_error_ms)),
            ("  p99 ITL, reported minus true", error(accuracy.p99_itl_error_ms)),
            ("  client lag, p99", lag),
            ("  pieces per read", together),
            ("  client waited for its core", waited.map_or_else(unknown, share)),
            ("  taken by the hypervisor", stolen.map_or_else(unknown, share)),
            ("a piece that comes alone", cost(paced)),
            ("  pieces per core and second", whole(paced.per_core_and_second())),
            ("a piece that comes without a pause", cost(&self.flood)),
            ("  pieces per core and second", whole(self.flood.per_core_and_second())),
            ("a request for one token", cost(&self.requests)),
            ("  requests per core and second", whole(self.requests.per_core_and_second())),
            ("streams that this machine carries", self.capacity()),
        ];
        let limits = self.capacity.limits.iter();
        rows.extend(limits.map(|limit| (limit.resource.name(), whole(limit.streams as f64))));
        rows
    }

    fn capacity(&self) -> String {
        let (streams, speed) = (self.capacity.streams as f64, self.capacity.tokens_per_s);
        format!("{}, of {speed} tokens per second each; limited by", whole(streams))
    }

    fn sides(&self) -> String {
        match (self.placement.client_core, self.placement.server_core) {
            (Some(client), Some(server)) => {
                format!("client on core {client}, server on core {server}")
            }
            _ => "client and server not kept on cores of their own".to_owned(),
        }
    }
}

fn descriptors(limits: &MachineLimits) -> String {
    let limits = [limits.descriptors_soft, limits.descriptors_hard, limits.descriptors_free];
    limits.map(limit).join(" / ")
}

fn limit(limit: Option<u64>) -> String {
    limit.map_or_else(|| "no limit".to_owned(), |limit| whole(limit as f64))
}

fn clock(clock: Option<ArrivalClock>) -> &'static str {
    match clock {
        Some(ArrivalClock::User) => "the program's own (no receive stamps here)",
        Some(_) => "the kernel's receive stamps",
        None => "unknown, for nothing arrived",
    }
}

fn lateness(late: &Lateness) -> String {
    format!("{:.0} / {:.0} / {:.0} us", late.p50_us, late.p99_us, late.max_us)
}

fn error(milliseconds: f64) -> String {
    format!("{milliseconds:+.3} ms")
}

fn share(share: f64) -> String {
    format!("{:.1} % of the time", share * 100.0)
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn cost(cost: &Cost) -> String {
    format!("{:.2} us of CPU ({} per second seen)", cost.cpu_us, whole(cost.per_second))
}
