//! How many streams this machine carries as a client, and what is used up first.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::MachineLimits;
use crate::run::capacity::{Figures, SHARE, USUAL_SPEED};

/// Number of streams that a machine carries as a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamCapacity {
    /// Output tokens per second of each stream. Each token comes alone.
    pub tokens_per_s: f64,
    /// Number of streams that the machine carries: that of the first limit.
    pub streams: u64,
    /// What limits the number of streams, as far as it is known; the first limit is reached first.
    pub limits: Vec<StreamLimit>,
}

/// A limit on the number of streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct StreamLimit {
    /// What is used up.
    pub resource: StreamResource,
    /// Number of streams for which it suffices.
    pub streams: u64,
}

/// Something of which every stream needs a part.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamResource {
    /// Cores that read and send, each used up to 70 %.
    Cores,
    /// Open files of the process.
    OpenFiles,
    /// Local ports to one address of a server.
    Ports,
    /// Entries of the kernel's table of connections, which exists if it filters packets.
    ConnectionTracking,
    /// The fastest network card, used up to 70 %.
    Network,
}

impl StreamResource {
    /// Returns how the resource is called in a table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cores => "  cores, 70 % of each",
            Self::OpenFiles => "  open files",
            Self::Ports => "  local ports to one address",
            Self::ConnectionTracking => "  connection tracking",
            Self::Network => "  network card, 70 % of it",
        }
    }
}

impl StreamCapacity {
    /// Computes the capacity of this machine from the figures of one of its cores.
    pub(super) fn of(figures: Figures, cores: usize, limits: &MachineLimits) -> Self {
        let network = network_bits_per_s(Path::new("/sys/class/net"));
        Self::new(figures, cores, limits, free_connections(), network)
    }

    fn new(
        figures: Figures,
        cores: usize,
        limits: &MachineLimits,
        connections: Option<u64>,
        network_bits_per_s: Option<f64>,
    ) -> Self {
        let cores = SHARE * figures.chunks_per_second * cores as f64 / USUAL_SPEED;
        let network = network_bits_per_s.map(|bits| SHARE * bits / STREAM_BITS_PER_S);
        let known = [
            (StreamResource::Cores, Some(floor(cores))),
            (StreamResource::OpenFiles, limits.descriptors_free),
            (StreamResource::Ports, limits.ports),
            (StreamResource::ConnectionTracking, connections),
            (StreamResource::Network, network.map(floor)),
        ];
        let mut limits: Vec<StreamLimit> = known
            .into_iter()
            .filter_map(|(resource, streams)| Some(StreamLimit { resource, streams: streams? }))
            .collect();
        limits.sort_by_key(|limit| limit.streams);
        Self { tokens_per_s: USUAL_SPEED, streams: limits[0].streams, limits }
    }
}

/// Returns the whole part of a number of streams.
#[expect(clippy::cast_sign_loss, reason = "no limit is negative")]
fn floor(streams: f64) -> u64 {
    streams as u64
}

/// Returns the number of connections that the kernel's table has room for; `None` if there is no
/// table.
fn free_connections() -> Option<u64> {
    let read = |name: &str| {
        let text =
            fs::read_to_string(format!("/proc/sys/net/netfilter/nf_conntrack_{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(read("max")?.saturating_sub(read("count")?))
}

/// Returns the speed of the fastest network card in a folder of the kernel's; `None` if no card says
/// its speed.
fn network_bits_per_s(cards: &Path) -> Option<f64> {
    let speed = |card: fs::DirEntry| {
        let text = fs::read_to_string(card.path().join("speed")).ok()?;
        let megabits = text.trim().parse::<f64>().ok()?;
        (megabits > 0.0).then_some(megabits * 1e6)
    };
    fs::read_dir(cards).ok()?.filter_map(|card| speed(card.ok()?)).max_by(f64::total_cmp)
}

/// Bits that a stream receives each second: an event of 250 bytes for each token, with the headers
/// of its packet.
const STREAM_BITS_PER_S: f64 = 330.0 * 8.0 * USUAL_SPEED;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: MachineLimits = MachineLimits {
        descriptors_soft: Some(1024),
        descriptors_hard: Some(20_000),
        descriptors_free: Some(19_900),
        ports: Some(28_232),
    };

    fn first(cores: usize, connections: Option<u64>, network: Option<f64>) -> (u64, &'static str) {
        let figures = Figures::new(100_000.0, 10_000.0);
        let capacity = StreamCapacity::new(figures, cores, &LIMITS, connections, network);
        assert!(capacity.limits.is_sorted_by_key(|limit| limit.streams), "{capacity:?}");
        (capacity.streams, capacity.limits[0].resource.name().trim())
    }

    #[test]
    fn the_capacity_is_that_of_what_is_used_up_first() {
        assert_eq!(first(2, None, None), (2_800, "cores, 70 % of each"));
        assert_eq!(first(64, None, None), (19_900, "open files"));
        assert_eq!(first(64, Some(5_000), None), (5_000, "connection tracking"));
        // 1 Gbit/s carries 5,303 streams of 132 kbit/s within 70 %.
        assert_eq!(first(64, None, Some(1e9)), (5_303, "network card, 70 % of it"));
    }

    #[test]
    fn the_fastest_card_counts_and_one_that_does_not_say_its_speed_does_not() {
        let cards = tempfile::tempdir().unwrap();
        for (card, speed) in [("lo", ""), ("eth0", "1000\n"), ("eth1", "25000\n"), ("tun0", "-1\n")]
        {
            let folder = cards.path().join(card);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("speed"), speed).unwrap();
        }
        assert_eq!(network_bits_per_s(cards.path()), Some(25e9));
        assert_eq!(network_bits_per_s(&cards.path().join("none")), None);
    }
}
