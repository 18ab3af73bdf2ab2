//! What the kernel knew of the connections.

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
}

impl Network {
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a RequestRecord>) -> Self {
        let (mut network, mut rtt, mut min_rtt) =
            (Self::default(), Tally::default(), Tally::default());
        for SocketFacts { rtt_us, min_rtt_us, retransmits, out_of_order, .. } in
            records.filter_map(|record| record.socket)
        {
            network.requests += 1;
            network.retransmits += u64::from(retransmits);
            network.out_of_order += u64::from(out_of_order);
            rtt.add(rtt_us.into());
            if let Some(micros) = min_rtt_us {
                min_rtt.add(micros.into());
            }
        }
        Self { rtt: rtt.spread(), min_rtt: min_rtt.spread(), ..network }
    }
}
