//! What the kernel knew of the connections.

use std::time::Duration;

use serde::Serialize;
use servemark_core::{RequestRecord, SocketFacts};

use super::tally::{Spread, Tally};

/// What the kernel knew of the connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Network {
    /// Of how many requests it is known.
    pub requests: u64,
    /// Segments that had to be sent again.
    pub retransmits: u64,
    /// Packets that arrived out of their order.
    pub out_of_order: u64,
    /// The smoothed round trips at the ends of the requests.
    pub rtt: Spread,
    /// The shortest round trips of their connections.
    pub min_rtt: Spread,
    /// From when requests were written, by the client's clock, to when the kernel handed their last
    /// bytes to the device. It counts as the server's time in every latency. Only where it was
    /// asked for.
    pub departure: Spread,
}

impl Network {
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a RequestRecord>) -> Self {
        let mut counts = Counts::default();
        records.for_each(|record| counts.see(record));
        counts.network()
    }
}

/// What was seen so far.
#[derive(Default)]
struct Counts {
    network: Network,
    rtt: Tally,
    min_rtt: Tally,
    departure: Tally,
}

impl Counts {
    fn see(&mut self, record: &RequestRecord) {
        if let Some(facts) = record.socket {
            self.see_facts(facts);
        }
        if let Some((left, sent)) = record.left.zip(record.sent) {
            self.departure.add(micros(left.since(sent)));
        }
    }

    fn see_facts(&mut self, facts: SocketFacts) {
        let SocketFacts { rtt_us, min_rtt_us, retransmits, out_of_order, .. } = facts;
        self.network.requests += 1;
        self.network.retransmits += u64::from(retransmits);
        self.network.out_of_order += u64::from(out_of_order);
        self.rtt.add(rtt_us.into());
        if let Some(micros) = min_rtt_us {
            self.min_rtt.add(micros.into());
        }
    }

    fn network(self) -> Network {
        let Self { network, rtt, min_rtt, departure } = self;
        let (rtt, min_rtt, departure) = (rtt.spread(), min_rtt.spread(), departure.spread());
        Network { rtt, min_rtt, departure, ..network }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
