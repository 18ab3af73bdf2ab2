//! Runs the ground-truth server on a port.
//!
//! The URL is printed to stdout once connections are accepted. Ctrl-C, SIGTERM or SIGHUP ends the
//! server; the truth log and the requests are then written to the requested files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use servemark_mock::{
    Fault, ImitatedEngine, MockServer, MockSpec, ReportedTimes, parse_duration, write_requests,
    write_truth,
};
use servemark_signals::Signals;

/// A server that answers on an exact schedule, to test benchmarking clients.
#[derive(Debug, Parser)]
#[command(name = "mock-server", version)]
struct Flags {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port; 0 selects a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Time from a request to its first chunk, in milliseconds
    #[arg(long, value_name = "MS", default_value = "50", value_parser = parse_duration)]
    ttft_ms: Duration,
    /// Time that the front end takes before a request enters the queue of --places, in
    /// milliseconds; --ttft-ms counts from when the request is served
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    frontend_ms: Duration,
    /// Time between the prompt's computation and the first chunk in which the key-value cache is
    /// transferred, in milliseconds
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    kv_transfer_ms: Duration,
    /// Time between two chunks, in milliseconds
    #[arg(long, value_name = "MS", default_value = "10", value_parser = parse_duration)]
    itl_ms: Duration,
    /// Number of tokens in a chunk
    #[arg(long, value_name = "TOKENS", default_value = "1")]
    tokens_per_chunk: NonZeroU32,
    /// Maximum number of chunks in one write, if several are due
    #[arg(long, value_name = "PIECES", default_value = "1")]
    pieces_per_write: NonZeroU32,
    /// Maximum random delay of each chunk, uniformly distributed, in milliseconds
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    jitter_ms: Duration,
    /// Maximum number of requests served at the same time; further requests wait in a queue. No
    /// limit by default
    #[arg(long, value_name = "REQUESTS")]
    places: Option<NonZeroUsize>,
    /// Seed of the jitter
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Name of the model
    #[arg(long, default_value = "mock")]
    model: String,
    /// Describe the server as an engine's: vllm, sglang, llama.cpp, tgi, ollama, tensorrt-llm or
    /// lmdeploy. By default it has the descriptions of all engines and says that it is a simulator
    #[arg(long, value_name = "ENGINE")]
    engine: Option<ImitatedEngine>,
    /// Refuse requests for a model by another name with 404, on OpenAI's routes. By default every
    /// name is accepted
    #[arg(long)]
    strict_model: bool,
    /// Give every answer this number of tokens, whatever the request asks for
    #[arg(long, value_name = "TOKENS")]
    output_tokens: Option<u32>,
    /// Mean accepted length of speculative decoding that the server reports, in tokens; none by
    /// default
    #[arg(long, value_name = "TOKENS")]
    accept_length: Option<f64>,
    /// The times of its own that the server reports with an answer: usual (those of the route's
    /// usual server), llama.cpp or none
    #[arg(long, value_name = "WHOSE", default_value = "usual")]
    server_times: ReportedTimes,
    /// How far the server's clock is ahead in the instants that it reports, in milliseconds;
    /// negative if it is behind
    #[arg(long, value_name = "MS", default_value = "0", allow_negative_numbers = true)]
    clock_skew_ms: f64,
    /// Milliseconds that a request takes to the server, and each piece of output back; the server's
    /// own times do not contain them
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    network_ms: Duration,
    /// Milliseconds that each token of a prompt takes beyond --ttft-ms, unless it is found in the
    /// prefix cache
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    prefill_per_token_ms: Duration,
    /// Number of blocks of memory for the keys and values of the requests that are being answered;
    /// others wait. Unlimited by default
    #[arg(long, value_name = "BLOCKS")]
    kv_blocks: Option<NonZeroUsize>,
    /// Number of blocks that a prefix cache holds; the block used least recently makes room. No cache
    /// by default
    #[arg(long, value_name = "BLOCKS")]
    cache_blocks: Option<NonZeroUsize>,
    /// Tokens in a block of the prefix cache and of --kv-blocks
    #[arg(long, value_name = "TOKENS", default_value = "16")]
    cache_block_tokens: NonZeroUsize,
    /// Do not report how many prompt tokens were found in the prefix cache
    #[arg(long)]
    hide_cached: bool,
    /// A fault: a name, then, where they apply, @CHUNK, :ARGUMENT and /EVERY: status:500/10 (every
    /// tenth request), cut@5/3, stall@5:2s. May be given several times; an unknown name is refused
    /// with a list of all faults
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Number of server threads; connections are distributed evenly
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
    /// Poll without sleeping; each thread uses a whole core
    #[arg(long)]
    spin: bool,
    /// At the end, write what was sent for each request, and when, to this file as JSON lines
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// At the end, write every received request to this file as JSON lines
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
}

fn main() -> ExitCode {
    match serve(Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error is not an error of the program.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal ends the program.
fn serve(flags: Flags) -> Result<()> {
    // A write beyond the limit of the file size then fails with an error and does not end the
    // process.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    // Created before the server starts, so that a path that cannot be written is reported at
    // once.
    let truth = flags.truth.as_deref().map(create).transpose()?;
    let requests = flags.requests.as_deref().map(create).transpose()?;
    let server = MockServer::start(flags.spec()?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(announce_until_signal(&server))?;
    if let Some(file) = truth {
        let rows = server.take_truth();
        write(file, |out| write_truth(&rows, out)).context("cannot write the truth log")?;
    }
    if let Some(file) = requests {
        let received = server.requests();
        write(file, |out| write_requests(&received, out)).context("cannot write the requests")?;
    }
    Ok(())
}

impl Flags {
    fn spec(self) -> Result<MockSpec> {
        let mut spec = MockSpec::new(self.ttft_ms, self.itl_ms);
        spec.listen = resolve(&self.host, self.port)?;
        spec.frontend = self.frontend_ms;
        spec.kv_transfer = self.kv_transfer_ms;
        spec.network = self.network_ms;
        spec.prefill_per_token = self.prefill_per_token_ms;
        spec.kv_blocks = self.kv_blocks;
        spec.server_times = self.server_times;
        spec.clock_skew_ms = self.clock_skew_ms;
        spec.cache_blocks = self.cache_blocks;
        spec.cache_block_tokens = self.cache_block_tokens;
        spec.hides_cached = self.hide_cached;
        spec.tokens_per_chunk = self.tokens_per_chunk;
        spec.pieces_per_write = self.pieces_per_write;
        spec.jitter = self.jitter_ms;
        spec.places = self.places;
        spec.seed = self.seed;
        spec.model = self.model;
        spec.engine = self.engine;
        spec.strict_model = self.strict_model;
        spec.output_tokens = self.output_tokens;
        spec.accept_length = self.accept_length;
        spec.faults = self.fault;
        spec.threads = self.threads;
        spec.spin = self.spin;
        spec.keep_requests = if self.requests.is_some() { usize::MAX } else { 0 };
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

/// Prints the URL and waits for a signal that ends the program. The signal handlers are installed
/// before the URL is printed, so that a program that has read it can end this one in order.
async fn announce_until_signal(server: &MockServer) -> Result<()> {
    let mut signals = Signals::listen().context("cannot wait for signals")?;
    writeln!(io::stdout(), "{}", server.base_url()).context("cannot print the server's URL")?;
    signals.next().await;
    Ok(())
}

fn write(file: File, lines: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    lines(&mut file)?;
    file.flush()
}
