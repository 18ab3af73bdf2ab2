//! The program that serves the simulator on a port: its flags, and its life until a signal ends it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use servemark_signals::Signals;
use thiserror::Error;

use crate::{
    Fault, ImitatedEngine, MockError, MockServer, MockSpec, ReportedTimes, parse_duration,
    write_requests, write_truth,
};

/// The flags of a program that serves the simulator on a port.
#[derive(Args, Clone, Debug)]
pub struct ServerFlags {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port; 0 selects a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Time from a request to its first chunk, in milliseconds
    #[arg(long, value_name = "MS", default_value = "50", value_parser = parse_duration)]
    pub ttft_ms: Duration,
    /// Time that the front end takes before a request enters the queue of --places, in
    /// milliseconds; --ttft-ms counts from when the request is served
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    pub frontend_ms: Duration,
    /// Time between the prompt's computation and the first chunk in which the key-value cache is
    /// transferred, in milliseconds
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    pub kv_transfer_ms: Duration,
    /// Time between two chunks, in milliseconds
    #[arg(long, value_name = "MS", default_value = "10", value_parser = parse_duration)]
    pub itl_ms: Duration,
    /// Number of tokens in a chunk
    #[arg(long, value_name = "TOKENS", default_value = "1")]
    pub tokens_per_chunk: NonZeroU32,
    /// Maximum number of chunks in one write, if several are due
    #[arg(long, value_name = "PIECES", default_value = "1")]
    pub pieces_per_write: NonZeroU32,
    /// Maximum random delay of each chunk, uniformly distributed, in milliseconds
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    pub jitter_ms: Duration,
    /// Maximum number of requests served at the same time; further requests wait in a queue. No
    /// limit by default
    #[arg(long, value_name = "REQUESTS")]
    pub places: Option<NonZeroUsize>,
    /// Seed of the jitter
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Name of the model
    #[arg(long, default_value = "mock")]
    pub model: String,
    /// Describe the server as an engine's: vllm, sglang, llama.cpp, tgi, ollama, tensorrt-llm or
    /// lmdeploy. By default it has the descriptions of all engines and says that it is a simulator
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<ImitatedEngine>,
    /// Refuse requests for a model by another name with 404, on OpenAI's routes. By default every
    /// name is accepted
    #[arg(long)]
    pub strict_model: bool,
    /// Give every answer this number of tokens, whatever the request asks for
    #[arg(long, value_name = "TOKENS")]
    pub output_tokens: Option<u32>,
    /// Mean accepted length of speculative decoding that the server reports, in tokens; none by
    /// default
    #[arg(long, value_name = "TOKENS")]
    pub accept_length: Option<f64>,
    /// The times of its own that the server reports with an answer: usual (those of the route's
    /// usual server), llama.cpp or none
    #[arg(long, value_name = "WHOSE", default_value = "usual")]
    pub server_times: ReportedTimes,
    /// Time by which the server's clock is ahead in the instants that it reports, in milliseconds;
    /// negative if it is behind
    #[arg(long, value_name = "MS", default_value = "0", allow_negative_numbers = true)]
    pub clock_skew_ms: f64,
    /// Milliseconds that a request takes to the server, and each piece of output back; the server's
    /// own times do not contain them
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    pub network_ms: Duration,
    /// Milliseconds that each token of a prompt takes beyond --ttft-ms, unless it is found in the
    /// prefix cache
    #[arg(long, value_name = "MS", default_value = "0", value_parser = parse_duration)]
    pub prefill_per_token_ms: Duration,
    /// Number of blocks of memory for the keys and values of the requests that are being answered;
    /// others wait. Unlimited by default
    #[arg(long, value_name = "BLOCKS")]
    pub kv_blocks: Option<NonZeroUsize>,
    /// Number of blocks that a prefix cache holds; the block used least recently makes room. No cache
    /// by default
    #[arg(long, value_name = "BLOCKS")]
    pub cache_blocks: Option<NonZeroUsize>,
    /// Tokens in a block of the prefix cache and of --kv-blocks
    #[arg(long, value_name = "TOKENS", default_value = "16")]
    pub cache_block_tokens: NonZeroUsize,
    /// Do not report how many prompt tokens were found in the prefix cache
    #[arg(long)]
    pub hide_cached: bool,
    /// A fault: a name, then, where they apply, @CHUNK, :ARGUMENT and /EVERY: status:500/10 (every
    /// tenth request), cut@5/3, stall@5:2s. May be given several times; an unknown name is refused
    /// with a list of all faults
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<Fault>,
    /// Number of server threads; connections are distributed evenly
    #[arg(long, default_value = "1")]
    pub threads: NonZeroUsize,
    /// Poll without sleeping; each thread uses a whole core
    #[arg(long)]
    pub spin: bool,
    /// At the end, write what was sent for each request, and when, to this file as JSON lines
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// At the end, write every received request to this file as JSON lines
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
}

/// An error of a program that serves the simulator on a port.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The address to listen on has no number.
    #[error("cannot find the address of {host}")]
    Host {
        /// Name or number of the address.
        host: String,
        /// The error of the operating system, if it is known.
        #[source]
        source: Option<io::Error>,
    },
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] MockError),
    /// Signals cannot be waited for.
    #[error("cannot wait for signals")]
    Signals(#[source] io::Error),
    /// The address cannot be printed.
    #[error("cannot print the server's URL")]
    Print(#[source] io::Error),
    /// A file cannot be written.
    #[error("cannot write to {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl ServerFlags {
    /// Serves until SIGINT, SIGTERM or SIGHUP arrives, then writes the files. Prints the server's
    /// address on standard output as soon as it accepts connections.
    pub fn serve(self) -> Result<(), ProgramError> {
        // Created before the server starts, so that a path that cannot be written is reported at
        // once.
        let truth = self.truth.clone().map(Output::create).transpose()?;
        let requests = self.requests.clone().map(Output::create).transpose()?;
        let server = MockServer::start(self.spec()?)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map_err(ProgramError::Signals)?.block_on(announce_until_signal(&server))?;
        if let Some(file) = truth {
            let rows = server.take_truth();
            file.write(|out| write_truth(&rows, out))?;
        }
        if let Some(file) = requests {
            let received = server.requests();
            file.write(|out| write_requests(&received, out))?;
        }
        Ok(())
    }

    fn spec(self) -> Result<MockSpec, ProgramError> {
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

fn resolve(host: &str, port: u16) -> Result<SocketAddr, ProgramError> {
    let unknown = |source| ProgramError::Host { host: host.to_owned(), source };
    let mut addresses = (host, port).to_socket_addrs().map_err(|error| unknown(Some(error)))?;
    addresses.next().ok_or_else(|| unknown(None))
}

/// Prints the URL and waits for a signal that ends the program. The signal handlers are installed
/// before the URL is printed, so that a program that has read it can end this one in order.
async fn announce_until_signal(server: &MockServer) -> Result<(), ProgramError> {
    let mut signals = Signals::listen().map_err(ProgramError::Signals)?;
    writeln!(io::stdout(), "{}", server.base_url()).map_err(ProgramError::Print)?;
    signals.next().await;
    Ok(())
}

/// A file that is written at the end.
struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    fn create(path: PathBuf) -> Result<Self, ProgramError> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(ProgramError::Write { path, source }),
        }
    }

    fn write(
        self,
        lines: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ProgramError> {
        let mut file = BufWriter::new(self.file);
        let written = lines(&mut file).and_then(|()| file.flush());
        written.map_err(|source| ProgramError::Write { path: self.path, source })
    }
}
