//! Our own flags: what SGLang's client cannot be asked for. They are never abbreviated.

use clap::{ArgAction, Args};
use servemark_datasets::BadLine;
use servemark_metrics::Verdict;
use servemark_mock::{Fault, MockSpec};
use servemark_plan::Layout;

use crate::python;
use crate::sglang::simulate::parse_simulator;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(in crate::sglang) struct OwnArgs {
    /// The tables to print, in this order: sglang, native, embedding
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = parse_layout,
          default_value = "sglang,native")]
    pub(in crate::sglang) layout: Vec<Layout>,
    /// The file that keeps everything observed of the run; by default
    /// servemark_BACKEND_DATE_TIME.runlog.jsonl
    #[arg(long, value_name = "PATH")]
    pub(in crate::sglang) run_log: Option<String>,
    /// Keep the run in memory only
    #[arg(long)]
    pub(in crate::sglang) no_run_log: bool,
    /// Ask OpenAI routes to count tokens at the end of the stream
    #[arg(long)]
    pub(in crate::sglang) include_usage: bool,
    /// What to do about a line of custom or openai that is not JSON: fail, or skip it and say so
    #[arg(long, value_name = "WHAT", default_value = "fail", value_parser = parse_bad_line)]
    pub(in crate::sglang) bad_lines: BadLine,
    /// The largest share of failed requests, 0 to 1, with which the exit code is still 0; by
    /// default anything below 1
    #[arg(long, value_name = "SHARE", value_parser = python::float)]
    pub(in crate::sglang) tolerate_failures: Option<f64>,
    /// Exit with 3 if the client audit's verdict is this or a worse one: corrected, suspect or
    /// client-limited
    #[arg(long, value_name = "VERDICT", value_parser = parse_verdict)]
    pub(in crate::sglang) fail_on_verdict: Option<Verdict>,
    /// Tell the longest part of the run apart in which this share of its peak concurrency was in
    /// flight, above 0 and at most 1
    #[arg(long, value_name = "SHARE", value_parser = python::float)]
    pub(in crate::sglang) steady_state_concurrency_ratio: Option<f64>,
    /// The file to which a line about that part is appended
    #[arg(long, value_name = "PATH")]
    pub(in crate::sglang) steady_state_output_file: Option<String>,
    /// Print the plan as JSON and stop
    #[arg(long)]
    pub(in crate::sglang) plan_only: bool,
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: load")]
pub(in crate::sglang) struct ShardArgs {
    /// How many threads send and read, each with a core of its own if there is one; by default one
    /// for every 1000 streams that may be open at once, up to the number of cores
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::sglang) shards: Option<i64>,
    /// Send each request at the very instant it is due, by a thread that watches the clock and needs
    /// a core of its own; with a --request-rate or a trace, over HTTP/1.1 without TLS
    #[arg(long)]
    pub(in crate::sglang) precise_send: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: sessions")]
pub(in crate::sglang) struct SessionArgs {
    /// Say the reasoning of an answer again with the turns after it
    #[arg(long)]
    pub(in crate::sglang) echo_reasoning: bool,
    /// Send this header with every request: its value is the same for all turns of a session, and
    /// no other session has it
    #[arg(long, value_name = "NAME")]
    pub(in crate::sglang) session_header: Option<String>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: connections")]
pub(in crate::sglang) struct ConnectionArgs {
    /// Speak HTTP/2: over TLS by negotiation, without TLS by prior knowledge
    #[arg(long)]
    pub(in crate::sglang) http2: bool,
    /// Ask the kernel when each request left, and report how long after it was written that was: on
    /// Linux, over HTTP/1.1 without TLS
    #[arg(long)]
    pub(in crate::sglang) send_stamps: bool,
    /// A PEM file of authorities to trust beside the machine's own
    #[arg(long, value_name = "PATH")]
    pub(in crate::sglang) ca_file: Option<String>,
    /// How many seconds look-up, TCP and TLS may take; by default 30
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    pub(in crate::sglang) connect_timeout: Option<f64>,
    /// How many seconds the answer's first byte may take; by default 3600
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    pub(in crate::sglang) first_byte_timeout: Option<f64>,
    /// How many seconds may pass between two reads of an answer; by default 600
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    pub(in crate::sglang) idle_timeout: Option<f64>,
    /// How many seconds a request may take; by default 21600
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    pub(in crate::sglang) total_timeout: Option<f64>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: simulator")]
#[expect(clippy::option_option, reason = "clap's form of a flag with an optional value")]
pub(in crate::sglang) struct SimulatorArgs {
    /// Ask a bundled server whose true latencies are known, and choose a short run; KEY=VALUE pairs
    /// say how it behaves: ttft=200ms,itl=20ms,jitter=1ms,tokens_per_chunk=4,output_tokens=64,
    /// accept_length=2.5,model=NAME,seed=1, pieces_per_write=64,threads=2,spin=true
    #[arg(long, value_name = "SPEC", num_args = 0..=1, value_parser = parse_simulator)]
    pub(in crate::sglang) simulate: Option<Option<MockSpec>>,
    /// What goes wrong with it, as NAME[@CHUNK][:ARGUMENT][/EVERY]: status:503/10, cut@5/3,
    /// stall@5:2s, reset/100; may be given several times
    #[arg(long, value_name = "FAULT", action = ArgAction::Append)]
    pub(in crate::sglang) simulate_fault: Vec<Fault>,
}

fn parse_bad_line(what: &str) -> Result<BadLine, String> {
    match what {
        "fail" => Ok(BadLine::Fail),
        "skip" => Ok(BadLine::Skip),
        _ => Err(format!("expected fail or skip, got {}", python::repr(what))),
    }
}

/// Reads the name of a verdict that a run can be spared.
pub(crate) fn parse_verdict(name: &str) -> Result<Verdict, String> {
    let known = Verdict::ALL.into_iter().find(|verdict| verdict.name() == name);
    known.filter(|&verdict| verdict > Verdict::Clean).ok_or_else(|| {
        format!("expected corrected, suspect or client-limited, got {}", python::repr(name))
    })
}

/// Reads the name of a table.
pub(crate) fn parse_layout(name: &str) -> Result<Layout, String> {
    match name {
        "native" => Ok(Layout::Native),
        "sglang" => Ok(Layout::Sglang),
        "embedding" => Ok(Layout::Embedding),
        "aisbench" | "evalscope" | "vllm" => Err(format!("the layout {name} is not built yet")),
        _ => Err(format!(
            "there is no layout {name}; use sglang, native, embedding or several with commas"
        )),
    }
}
