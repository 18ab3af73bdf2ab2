//! Forwards connections to a server and records all bytes in both directions.
//!
//! The wiretap neither parses nor changes the bytes. It adds two copies on loopback, which are
//! part of the client's latencies but not of the server's.

use std::io::{Read, Write};
use std::mem;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A port that forwards to the server and records the connections.
#[derive(Debug)]
pub(super) struct Wiretap {
    port: u16,
    connections: Connections,
}

/// Bytes of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    pub(super) sent: Vec<u8>,
    pub(super) received: Vec<u8>,
}

type Connections = Arc<Mutex<Vec<JoinHandle<std::io::Result<Conversation>>>>>;

impl Wiretap {
    /// Listens on a new port and forwards to the port `server`. The listener lives as long as the
    /// program.
    pub(super) fn start(server: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let connections = Connections::default();
        let known = Arc::clone(&connections);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Lock before the thread starts, so that every connection that is served is also
                // listed.
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.push(thread::spawn(move || carry(&client, server)));
            }
        });
        Ok(Self { port, connections })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the connections since the last call, in the order of their opening. Waits for
    /// their end, so the client must have ended.
    pub(super) fn take(&self) -> Vec<Conversation> {
        let mut known = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = mem::take(&mut *known).into_iter().map(JoinHandle::join);
        ended.filter_map(|carried| carried.ok()?.ok()).collect()
    }
}

fn carry(client: &TcpStream, server: u16) -> std::io::Result<Conversation> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    Ok(thread::scope(|scope| {
        let sent = scope.spawn(|| copy(client, &server));
        let received = copy(&server, client);
        Conversation { sent: sent.join().unwrap_or_default(), received }
    }))
}

/// Forwards bytes until one side closes, and returns them.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let handed_on = to.write_all(&buffer[..length]);
        kept.extend(&buffer[..length]);
        if handed_on.is_err() {
            break;
        }
    }
    // This fails if the other side is already closed, which has the intended effect.
    let _ = to.shutdown(Shutdown::Write);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_carried_and_kept() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let wiretap = Wiretap::start(server.local_addr().unwrap().port()).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, wiretap.port())).unwrap();
        client.write_all(b"ping").unwrap();
        let (mut peer, _) = server.accept().unwrap();
        let mut ping = [0; 4];
        peer.read_exact(&mut ping).unwrap();
        peer.write_all(b"pong").unwrap();
        drop(peer);
        let mut pong = String::new();
        client.read_to_string(&mut pong).unwrap();
        drop(client);
        let kept = wiretap.take();
        assert_eq!((&ping, pong.as_str(), kept.len()), (b"ping", "pong", 1));
        assert_eq!((&*kept[0].sent, &*kept[0].received), (&b"ping"[..], &b"pong"[..]));
        assert!(wiretap.take().is_empty());
    }
}
