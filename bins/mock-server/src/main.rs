//! The ground-truth server on a port.
//!
//! The URL goes to stdout once connections are accepted. Ctrl-C, SIGTERM or SIGHUP ends it, and the
//! truth log is then written to the file that was asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use servemark_mock::{Fault, MockServer, MockSpec, TruthRow, parse_duration, write_truth};
use servemark_signals::Signals;

/// A server whose answers come on an exact schedule, to test benchmarking clients with.
#[derive(Debug, Parser)]
#[command(name = "mock-server", version)]
struct Flags {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// The port; 0 lets the machine choose.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// From a request to its first piece of output, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "50", value_parser = parse_duration)]
    ttft_ms: Duration,
    /// From one piece of output to the next, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "10", value_parser = parse_duration)]
    itl_ms: Duration,
    /// Tokens in a piece of output.
    #[arg(long, value_name = "TOKENS", default_value = "1")]
    tokens_per_chunk: NonZeroU32,
    /// Pieces of output in one write, where several are due.
    #[arg(long, value_name = "PIECES", default_value = "1")]
    pieces_per_write: NonZeroU32,
    /// How much later a piece may be due, drawn evenly for each, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    jitter_ms: Duration,
    /// Requests that are served at once; who comes when all places are taken waits in line. Without
    /// a number nobody waits.
    #[arg(long, value_name = "REQUESTS")]
    places: Option<NonZeroUsize>,
    /// The seed of the jitter.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The model's name.
    #[arg(long, default_value = "mock")]
    model: String,
    /// Refuse requests for a model by another name with 404, on OpenAI's routes. Without it the name
    /// does not matter.
    #[arg(long)]
    strict_model: bool,
    /// Give every answer this many tokens, whatever the request asks for.
    #[arg(long, value_name = "TOKENS")]
    output_tokens: Option<u32>,
    /// The accepted length of speculative decoding that the server tells of itself.
    #[arg(long, value_name = "TOKENS")]
    accept_length: Option<f64>,
    /// Something that goes wrong: status:500/10 (every tenth request), cut@5/3, stall@5:2s. May be
    /// given several times; a wrong name is answered with the list of them.
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Threads that serve, each every so-many-th connection.
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
    /// Look for what is due without ever sleeping; each thread takes a whole core.
    #[arg(long)]
    spin: bool,
    /// Write what was sent, and when, to this file at the end, one line of JSON per request.
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    // A truth log beyond the limit of a file's size is an error of its write, not the end.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    // Made before the server starts, so that a path that cannot be written is known at once.
    let truth = flags.truth.as_deref().map(create).transpose()?;
    let server = MockServer::start(flags.spec()?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(announce_until_signal(&server))?;
    match truth {
        Some(file) => write(&server.take_truth(), file).context("cannot write the truth log"),
        None => Ok(()),
    }
}

impl Flags {
    fn spec(self) -> Result<MockSpec> {
        let mut spec = MockSpec::new(self.ttft_ms, self.itl_ms);
        spec.listen = resolve(&self.host, self.port)?;
        spec.tokens_per_chunk = self.tokens_per_chunk;
        spec.pieces_per_write = self.pieces_per_write;
        spec.jitter = self.jitter_ms;
        spec.places = self.places;
        spec.seed = self.seed;
        spec.model = self.model;
        spec.strict_model = self.strict_model;
        spec.output_tokens = self.output_tokens;
        spec.accept_length = self.accept_length;
        spec.faults = self.fault;
        spec.threads = self.threads;
        spec.spin = self.spin;
        Ok(spec)
    }
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let mut addresses = (host, port)
        .to_socket_addrs()
        .with_context(|| format!("cannot find the address of {host}"))?;
    addresses.next().with_context(|| format!("{host} has no address"))
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write to {}", path.display()))
}

/// Prints the URL and waits for a signal that ends the program. Signals are received before the URL is
/// printed, so that a program which has read it can end this one in order.
async fn announce_until_signal(server: &MockServer) -> Result<()> {
    let mut signals = Signals::listen().context("cannot wait for signals")?;
    writeln!(io::stdout(), "{}", server.base_url()).context("cannot print the server's URL")?;
    signals.next().await;
    Ok(())
}

fn write(rows: &[TruthRow], file: File) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    write_truth(rows, &mut file)?;
    file.flush()
}
