//! Requests of a browser for the page of a run.

use std::net::{Ipv4Addr, Ipv6Addr};

/// What a browser asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PageRequest {
    /// The page of a version above this one, as soon as there is one.
    After(u64),
    /// The page of the run that is over.
    Last,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refused {
    Malformed,
    OtherHost,
    NotFound,
    NotGet,
}

impl Refused {
    /// Returns the status line and the text for a person.
    pub(super) fn answer(self) -> (&'static str, &'static str) {
        match self {
            Self::Malformed => ("400 Bad Request", "This is not a request for a page.\n"),
            Self::OtherHost => (
                "403 Forbidden",
                "The page is for this machine: open it at http://127.0.0.1 or http://localhost with \
                 its port.\n",
            ),
            Self::NotFound => ("404 Not Found", "The page is at /.\n"),
            Self::NotGet => ("405 Method Not Allowed", "The page can only be read.\n"),
        }
    }
}

/// Parses the head of a request. Refuses a `Host` that is not this machine: otherwise a web site
/// whose name resolves to this machine could read the run (DNS rebinding).
pub(super) fn parse(head: &[u8]) -> Result<PageRequest, Refused> {
    let head = std::str::from_utf8(head).map_err(|_| Refused::Malformed)?;
    let mut lines = head.split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let &[method, target, version] = first.as_slice() else { return Err(Refused::Malformed) };
    if !version.starts_with("HTTP/1.") {
        return Err(Refused::Malformed);
    }
    let mut hosts = lines.filter_map(host);
    let is_here = hosts.next().is_some_and(is_this_machine) && hosts.next().is_none();
    if !is_here {
        return Err(Refused::OtherHost);
    }
    if method != "GET" {
        return Err(Refused::NotGet);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != "/" {
        return Err(Refused::NotFound);
    }
    Ok(match query.strip_prefix("after=").and_then(|version| version.parse().ok()) {
        Some(version) => PageRequest::After(version),
        None if query == "last" => PageRequest::Last,
        None => PageRequest::After(0),
    })
}

/// Returns the value of the line if it is a `Host` header.
fn host(line: &str) -> Option<&str> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("host").then(|| value.trim())
}

/// Returns whether a host, with or without a port, is this machine by its address or as
/// `localhost`.
fn is_this_machine(host: &str) -> bool {
    if let Some((address, port)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        let is_loopback = address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
        return is_loopback && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = host.split_once(':').unwrap_or((host, "80"));
    let is_loopback = name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    is_port(port) && (is_loopback || name.eq_ignore_ascii_case("localhost"))
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(target: &str, host: &str) -> Result<PageRequest, Refused> {
        parse(format!("GET {target} HTTP/1.1\r\nAccept: */*\r\nhost: {host}\r\n\r\n").as_bytes())
    }

    #[test]
    fn a_browser_asks_for_the_next_page_or_the_last() {
        for (target, asked) in [
            ("/", PageRequest::After(0)),
            ("/?after=7", PageRequest::After(7)),
            ("/?after=-1", PageRequest::After(0)),
            ("/?x", PageRequest::After(0)),
            ("/?last", PageRequest::Last),
        ] {
            assert_eq!(get(target, "127.0.0.1:8001"), Ok(asked), "{target}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in ["127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST:65535", "[::1]:2", "[::1]"]
        {
            assert!(get("/", host).is_ok(), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "localhost:x",
            "10.0.0.1",
            "[::2]",
            "[::1",
            "",
        ] {
            assert_eq!(get("/", host), Err(Refused::OtherHost), "{host}");
        }
        assert_eq!(parse(b"GET / HTTP/1.1\r\n\r\n"), Err(Refused::OtherHost));
        let two = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n";
        assert_eq!(parse(two), Err(Refused::OtherHost));
    }

    #[test]
    fn other_methods_and_paths_and_garbage_are_refused() {
        assert_eq!(get("/favicon.ico", "localhost"), Err(Refused::NotFound));
        assert_eq!(get("http://localhost/", "localhost"), Err(Refused::NotFound));
        let post = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(parse(post), Err(Refused::NotGet));
        for garbage in [
            &b"\x16\x03\x01\x02"[..],
            b"",
            b"GET /",
            b"GET / HTTP/2.0\r\n\r\n",
            b"a b c d",
            b"\xff",
        ] {
            assert_eq!(parse(garbage), Err(Refused::Malformed), "{garbage:?}");
        }
    }
}
