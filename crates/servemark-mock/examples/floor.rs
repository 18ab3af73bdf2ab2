//! Measures what sending alone costs: `floor [STREAMS] [CHUNKS_PER_SECOND] [SECONDS]`.
//!
//! One thread watches the clock and writes chunks to the streams in turn; another thread reads them
//! as cheaply as possible. The time of a write here is a lower bound on the CPU time that any
//! server of paced chunks needs for each chunk on this machine.

#![expect(clippy::print_stdout, reason = "a program that measures and says what it saw")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use servemark_core::{Clock, MonotonicClock};
use servemark_pacer::thread_cpu_time;

/// A chunk as long as one of a chat's stream.
const CHUNK: [u8; 250] = [b'.'; 250];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (streams, rate, seconds) = (next(1000)?, next(50_000)?, next(5)?);
    let (senders, receivers) = connect(streams)?;
    let writes = rate * seconds;
    let expected = writes as usize * CHUNK.len();
    let reader = thread::spawn(move || read_all(receivers, expected));
    let spent = write_paced(senders, rate, writes)?;
    let (reads, cpu) = reader.join().map_err(|_| "the reader died")??;
    println!("{streams} streams, {rate} chunks/s");
    println!("{:.2} us for each write", spent.as_secs_f64() * 1e6 / f64::from(writes));
    println!("{:.2} us of the reader's CPU per chunk", cpu.as_secs_f64() * 1e6 / f64::from(reads));
    Ok(())
}

fn connect(streams: u32) -> io::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let acceptor = TcpListener::bind("127.0.0.1:0")?;
    let address = acceptor.local_addr()?;
    let pair = |_| {
        let receiver = TcpStream::connect(address)?;
        let (sender, _) = acceptor.accept()?;
        sender.set_nodelay(true)?;
        receiver.set_nonblocking(true)?;
        Ok((sender, receiver))
    };
    (0..streams).map(pair).collect()
}

/// Writes `writes` chunks at `rate` per second and returns how long the writes took together.
fn write_paced(mut senders: Vec<TcpStream>, rate: u32, writes: u32) -> io::Result<Duration> {
    let (clock, gap) = (MonotonicClock::start(), Duration::from_secs(1) / rate);
    let (mut spent, streams) = (Duration::ZERO, senders.len());
    let start = clock.now();
    for (number, turn) in (0..writes).zip((0..streams).cycle()) {
        let due = start + gap * number;
        while clock.now() < due {}
        let before = clock.now();
        senders[turn].write_all(&CHUNK)?;
        spent += clock.now().since(before);
    }
    Ok(spent)
}

/// Reads until `expected` bytes have arrived. Returns the number of reads and this thread's CPU
/// time.
fn read_all(receivers: Vec<TcpStream>, expected: usize) -> io::Result<(u32, Duration)> {
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(1024));
    let mut sockets: Vec<_> = receivers.into_iter().map(mio::net::TcpStream::from_std).collect();
    for (number, socket) in sockets.iter_mut().enumerate() {
        poll.registry().register(socket, Token(number), Interest::READABLE)?;
    }
    let (mut reads, mut bytes, mut buffer) = (0, 0, [0; 4096]);
    while bytes < expected {
        poll.poll(&mut events, None)?;
        for event in &events {
            let mut read = buffer.len();
            while read == buffer.len() {
                read = sockets[event.token().0].read(&mut buffer).or_else(nothing_yet)?;
                (reads, bytes) = (reads + 1, bytes + read);
            }
        }
    }
    Ok((reads, thread_cpu_time()))
}

fn nothing_yet(error: io::Error) -> io::Result<usize> {
    if error.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(error) }
}
