//! The kernel's figures of the connections.

use std::time::Duration;

use serde::Serialize;
use servemark_core::{RequestRecord, SocketFacts};

use super::tally::{Spread, Tally};

/// The kernel's figures of the connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Network {
    /// Number of requests for which the kernel's figures are known.
    pub requests: u64,
    /// Number of segments that were retransmitted.
    pub retransmits: u64,
    /// Number of packets that arrived out of order.
    pub out_of_order: u64,
    /// Smoothed round-trip times at the ends of the requests.
    pub rtt: Spread,
    /// Shortest round-trip times of the requests' connections.
    pub min_rtt: Spread,
    /// Time from writing a request, by the client's clock, to the kernel handing its last bytes to
    /// the device. It counts as the server's time in every latency. Empty unless the plan asks for
    /// it.
    #[serde(rename = "departure")]
    pub transmit: Spread,
}

impl Network {
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a RequestRecord>) -> Self {
        let mut counts = Counts::default();
        records.for_each(|record| counts.add(record));
        counts.network()
    }
}

/// Figures of the records read so far.
#[derive(Default)]
struct Counts {
    network: Network,
    rtt: Tally,
    min_rtt: Tally,
    transmit: Tally,
}

impl Counts {
    fn add(&mut self, record: &RequestRecord) {
        if let Some(facts) = record.socket {
            self.add_facts(facts);
        }
        if let Some((left, sent)) = record.left.zip(record.sent) {
            self.transmit.add(micros(left.since(sent)));
        }
    }

    fn add_facts(&mut self, facts: SocketFacts) {
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
        let Self { network, rtt, min_rtt, transmit } = self;
        let (rtt, min_rtt, transmit) = (rtt.spread(), min_rtt.spread(), transmit.spread());
        Network { rtt, min_rtt, transmit, ..network }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
