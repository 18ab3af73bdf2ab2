//! The kernel's counts of a connection: `TCP_INFO`.

#[cfg(target_os = "linux")]
mod machine {
    use rustix::fd::AsFd;
    use std::sync::LazyLock;

    use nix::sys::socket::getsockopt;
    use nix::{getsockopt_impl, libc, sockopt_impl};
    use servemark_core::SocketFacts;

    /// Returns the kernel's counts since the connection was opened; `None` if it does not report
    /// them.
    pub fn facts(socket: &impl AsFd) -> Option<SocketFacts> {
        match *FIELDS {
            TcpInfoFields::Nothing => None,
            TcpInfoFields::Segments => getsockopt(socket, Segments).ok().map(|words| read(&words)),
            TcpInfoFields::Order => getsockopt(socket, Order).ok().map(|words| read(&words)),
        }
    }

    // `struct tcp_info` as words. It has grown with the kernel, and reading more than the kernel
    // has fails, so there are two lengths, each as long as the fields that are used.
    sockopt_impl!(Segments, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; DATA_SEGS_IN + 1]);
    sockopt_impl!(Order, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; RCV_OOOPACK + 1]);

    /// The optional fields of `tcp_info` that this kernel has.
    static FIELDS: LazyLock<TcpInfoFields> = LazyLock::new(|| {
        let release = rustix::system::uname();
        TcpInfoFields::of(release.release().to_str().unwrap_or_default())
    });

    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(super) enum TcpInfoFields {
        Nothing,
        Segments,
        Order,
    }

    impl TcpInfoFields {
        /// Returns the fields that a release of the kernel has, such as `6.1.0-13-amd64`.
        pub(super) fn of(release: &str) -> Self {
            let mut numbers = release.split(|byte: char| !byte.is_ascii_digit()).map(str::parse);
            match (numbers.next(), numbers.next()) {
                (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (5, 5) => Self::Order,
                (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (4, 14) => Self::Segments,
                _ => Self::Nothing,
            }
        }
    }

    fn read(words: &[u32]) -> SocketFacts {
        let mut facts = SocketFacts::default();
        facts.rtt_us = words[RTT];
        facts.min_rtt_us = Some(words[MIN_RTT]).filter(|&rtt| rtt != UNKNOWN);
        facts.retransmits = words[TOTAL_RETRANS];
        facts.data_segments_in = Some(words[DATA_SEGS_IN]);
        facts.out_of_order = words.get(RCV_OOOPACK).copied().unwrap_or_default();
        facts
    }

    const RTT: usize = 17;
    const TOTAL_RETRANS: usize = 25;
    const MIN_RTT: usize = 37;
    const DATA_SEGS_IN: usize = 38;
    const RCV_OOOPACK: usize = 56;

    /// Value of `MIN_RTT` before the first round trip was measured.
    const UNKNOWN: u32 = u32::MAX;
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::machine::TcpInfoFields;

    #[track_caller]
    fn check_release(release: &str, expected: TcpInfoFields) {
        assert_eq!(TcpInfoFields::of(release), expected, "{release}");
    }

    #[test]
    fn no_kernel_is_asked_for_more_than_it_has() {
        check_release("6.1.0-13-amd64", TcpInfoFields::Order);
        check_release("5.5.0", TcpInfoFields::Order);
        check_release("5.4.17-2136.el8uek", TcpInfoFields::Segments);
        check_release("4.14", TcpInfoFields::Segments);
        check_release("4.4.0", TcpInfoFields::Nothing);
        check_release("3.10.0-1160.el7", TcpInfoFields::Nothing);
        check_release("unknown", TcpInfoFields::Nothing);
    }
}
