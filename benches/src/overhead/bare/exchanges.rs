//! The bare reader for short requests: it sends the next request when the previous answer on the
//! connection is complete.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use servemark::backends::Route;
use servemark::core::{ClientCost, MonotonicClock, Sample};

use super::super::test_bed::CostMeter;
use super::{open, request};

/// Connections of the bare reader, each of which carries one request at a time.
pub(in super::super) struct Exchanges {
    epoll: OwnedFd,
    connections: Vec<TcpStream>,
    request: Vec<u8>,
    end: &'static [u8],
}

impl Exchanges {
    pub(in super::super) fn connect(
        route: Route,
        connections: usize,
        url: &str,
    ) -> anyhow::Result<Self> {
        let address = url.strip_prefix("http://").context("the floor speaks plain HTTP only")?;
        let request = request(route, address, &Sample::new("Tell me a story.", 5, 1))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut open_ones = Vec::with_capacity(connections);
        for number in 0..connections {
            let socket = open(address)?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &socket, data, epoll::EventFlags::IN)?;
            open_ones.push(socket);
        }
        let end = if route == Route::EMBEDDINGS { DOCUMENT_END } else { STREAM_END };
        Ok(Self { epoll, connections: open_ones, request, end })
    }

    /// Sends `requests` requests and reads their answers.
    pub(in super::super) fn run(mut self, requests: usize) -> anyhow::Result<ClientCost> {
        let clock = MonotonicClock::start();
        let meter = CostMeter::start(&clock);
        self.exchange(requests)?;
        Ok(meter.stop(&clock))
    }

    fn exchange(&mut self, requests: usize) -> anyhow::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let mut events = Vec::with_capacity(self.connections.len());
        let mut sent = requests.min(self.connections.len());
        for mut connection in &self.connections[..sent] {
            connection.write_all(&self.request)?;
        }
        let mut answered = 0;
        while answered < requests {
            events.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in &events {
                let mut connection = &self.connections[event.data.u64() as usize];
                let length = connection.read(&mut buffer)?;
                ensure!(length > 0, "the server closed a connection");
                if !buffer[..length].ends_with(self.end) {
                    continue;
                }
                answered += 1;
                if sent < requests {
                    connection.write_all(&self.request)?;
                    sent += 1;
                }
            }
        }
        Ok(())
    }
}

/// Last chunk of an answer of unknown length.
const STREAM_END: &[u8] = b"0\r\n\r\n";

/// End of a list of embeddings: an object in an object, which occurs nowhere else in it.
const DOCUMENT_END: &[u8] = b"}}";
