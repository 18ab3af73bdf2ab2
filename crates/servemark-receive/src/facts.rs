//! The kernel's counts of a connection: `TCP_INFO`.

#[cfg(target_os = "linux")]
mod machine {
    use std::ffi::OsString;
    use std::sync::OnceLock;

    use nix::sys::socket::getsockopt;
    use nix::sys::socket::sockopt::GetOsString;
    use nix::{getsockopt_impl, libc, sockopt_impl};
    use rustix::fd::AsFd;
    use servemark_core::SocketFacts;

    /// Returns the kernel's counts since the connection was opened; `None` if it does not report
    /// them.
    pub fn facts(socket: &impl AsFd) -> Option<SocketFacts> {
        match TcpInfoFields::of_this_kernel(socket)? {
            TcpInfoFields::Nothing => None,
            TcpInfoFields::Retransmits => read(&getsockopt(socket, Retransmits).ok()?),
            TcpInfoFields::Segments => read(&getsockopt(socket, Segments).ok()?),
            TcpInfoFields::Order => read(&getsockopt(socket, Order).ok()?),
        }
    }

    // `struct tcp_info` as words, up to the last field that is used. It has grown with the kernel,
    // and `getsockopt` panics if a kernel returns fewer bytes than it was asked for.
    sockopt_impl!(
        Retransmits,
        GetOnly,
        libc::IPPROTO_TCP,
        libc::TCP_INFO,
        [u32; 1 + TOTAL_RETRANS]
    );
    sockopt_impl!(Segments, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; 1 + DATA_SEGS_IN]);
    sockopt_impl!(Order, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; 1 + RCV_OOOPACK]);
    sockopt_impl!(Length, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, OsString, GetOsString<NoNul>);

    /// Buffer of the longest structure, to find the number of bytes that a kernel returns. `nix`
    /// accepts fewer bytes than it asked for only as a text, which ends at the first NUL, so the
    /// content is replaced by one without a NUL.
    #[derive(Debug)]
    struct NoNul([u8; 4 * (1 + RCV_OOOPACK)]);

    impl AsMut<[u8]> for NoNul {
        fn as_mut(&mut self) -> &mut [u8] {
            self.0.fill(1);
            &mut self.0
        }
    }

    /// Fields of `tcp_info` up to one that is used.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum TcpInfoFields {
        Nothing,
        Retransmits,
        Segments,
        Order,
    }

    impl TcpInfoFields {
        /// Returns the fields that this kernel returns, which the first socket is asked for; `None`
        /// if it returns an error.
        fn of_this_kernel(socket: &impl AsFd) -> Option<Self> {
            static FIELDS: OnceLock<TcpInfoFields> = OnceLock::new();
            if let Some(fields) = FIELDS.get() {
                return Some(*fields);
            }
            let fields = Self::in_bytes(getsockopt(socket, Length).ok()?.len());
            Some(*FIELDS.get_or_init(|| fields))
        }

        /// Returns the fields in the first `bytes` bytes. QEMU's user emulation returns 4 bytes.
        fn in_bytes(bytes: usize) -> Self {
            match bytes / size_of::<u32>() {
                words if words > RCV_OOOPACK => Self::Order,
                words if words > DATA_SEGS_IN => Self::Segments,
                words if words > TOTAL_RETRANS => Self::Retransmits,
                _ => Self::Nothing,
            }
        }
    }

    /// Returns the facts in the words that a kernel returned; `None` if one is missing that
    /// [`SocketFacts`] always has.
    fn read(words: &[u32]) -> Option<SocketFacts> {
        let word = |index: usize| words.get(index).copied();
        let mut facts = SocketFacts::default();
        facts.rtt_us = word(RTT)?;
        facts.min_rtt_us = word(MIN_RTT).filter(|&rtt| rtt != UNKNOWN);
        facts.retransmits = word(TOTAL_RETRANS)?;
        facts.data_segments_in = word(DATA_SEGS_IN);
        facts.out_of_order = word(RCV_OOOPACK).unwrap_or_default();
        Some(facts)
    }

    const RTT: usize = 17;
    const TOTAL_RETRANS: usize = 25;
    const MIN_RTT: usize = 37;
    const DATA_SEGS_IN: usize = 38;
    const RCV_OOOPACK: usize = 56;

    /// Value of `MIN_RTT` before the first round trip was measured.
    const UNKNOWN: u32 = u32::MAX;

    #[cfg(test)]
    mod tests {
        use super::*;

        #[track_caller]
        fn check_length(bytes: usize, expected: TcpInfoFields) {
            assert_eq!(TcpInfoFields::in_bytes(bytes), expected, "{bytes} bytes");
        }

        #[test]
        fn no_kernel_is_asked_for_more_than_it_returns() {
            check_length(0, TcpInfoFields::Nothing);
            check_length(4, TcpInfoFields::Nothing);
            check_length(103, TcpInfoFields::Nothing);
            check_length(104, TcpInfoFields::Retransmits);
            check_length(155, TcpInfoFields::Retransmits);
            check_length(156, TcpInfoFields::Segments);
            check_length(227, TcpInfoFields::Segments);
            check_length(228, TcpInfoFields::Order);
        }

        /// Reads a structure of `length` words that are their own indices.
        fn facts_in(length: u32) -> Option<SocketFacts> {
            read(&(0..length).collect::<Vec<_>>())
        }

        #[track_caller]
        fn check_words(
            length: u32,
            min_rtt: Option<u32>,
            segments: Option<u32>,
            out_of_order: u32,
        ) {
            let mut expected = SocketFacts::default();
            (expected.rtt_us, expected.min_rtt_us, expected.retransmits) = (17, min_rtt, 25);
            (expected.data_segments_in, expected.out_of_order) = (segments, out_of_order);
            assert_eq!(facts_in(length), Some(expected), "{length} words");
        }

        #[test]
        fn an_answer_has_the_facts_that_its_length_covers() {
            for length in 0..26 {
                assert_eq!(facts_in(length), None, "{length} words");
            }
            check_words(26, None, None, 0);
            check_words(38, Some(37), None, 0);
            check_words(39, Some(37), Some(38), 0);
            check_words(56, Some(37), Some(38), 0);
            check_words(57, Some(37), Some(38), 56);
        }

        #[test]
        fn no_round_trip_is_known_before_the_first() {
            let mut words = [1; 57];
            words[MIN_RTT] = UNKNOWN;
            assert_eq!(read(&words).unwrap().min_rtt_us, None);
        }

        #[test]
        fn a_socket_without_counts_has_none() {
            let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
            assert_eq!(facts(&socket), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use rustix::fd::AsFd;

    use servemark_core::SocketFacts;

    /// Returns `None`: this system does not report facts of a connection.
    pub fn facts(_socket: &impl AsFd) -> Option<SocketFacts> {
        None
    }
}

pub use machine::facts;
