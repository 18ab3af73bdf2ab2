//! Flags about the connections to the server.

use clap::Args;
use servemark_client::{BaseUrl, HttpVersion, TargetSpec, Timeouts};

use super::simulator::SimulatorArgs;
use crate::argparse::Limit::{Unless, UnlessSince, Where};
use crate::argparse::{Limit, flags};
use crate::error::CliError;
use crate::number::seconds;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: connections")]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,
    /// Time-out of look-up, TCP and TLS together in seconds; by default 30
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    connect_timeout: Option<f64>,
    /// Time-out of the answer's first byte in seconds; by default 3600
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    first_byte_timeout: Option<f64>,
    /// Time-out between two reads of an answer in seconds; by default 600
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    idle_timeout: Option<f64>,
    /// Time-out of a request from its start to the end of its answer in seconds; by default 21600
    #[arg(long, value_name = "SECONDS", value_parser = python::finite_positive_float)]
    total_timeout: Option<f64>,
}

flags! { ConnectionArgs {
    CONNECT_TIMEOUT = "--connect-timeout" => [NOT_SIMULATED];
    FIRST_BYTE_TIMEOUT = "--first-byte-timeout" => [NOT_SIMULATED];
    IDLE_TIMEOUT = "--idle-timeout" => [NOT_SIMULATED];
    TOTAL_TIMEOUT = "--total-timeout" => [NOT_SIMULATED];
}}

/// Flags about connections except time-outs, for which some peers have flags of their own.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: connections")]
pub(crate) struct ProtocolArgs {
    /// Speak HTTP/2: over TLS by negotiation, without TLS by prior knowledge
    #[arg(long)]
    http2: bool,
    #[command(flatten)]
    reuse: ReuseArgs,
    /// Ask the kernel when it passed each request to the network device, and report the delay after
    /// the write; on Linux, over HTTP/1.1 without TLS
    #[arg(long)]
    send_stamps: bool,
    /// A PEM file of certificates to trust in addition to those of the machine: of authorities, or
    /// the server's own
    #[arg(long, value_name = "PATH")]
    ca_file: Option<String>,
    /// Maximum memory of an answer while it is read, in bytes; a request with a larger answer
    /// fails; by default 67108864
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    max_answer_bytes: Option<usize>,
    /// Maximum memory of all answers in flight together, in bytes; by default a quarter of the
    /// machine's memory, and at least 536870912
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    max_answers_bytes: Option<usize>,
}

flags! { ProtocolArgs {
    HTTP2 = "--http2" => [NOT_SIMULATED];
    SEND_STAMPS = "--send-stamps" => [
        NOT_SIMULATED,
        ONE_CONNECTION,
        Where(|effects| !effects.is_encrypted(), "over TLS, where the bytes of a request cannot be told from others"),
        Where(|_| cfg!(target_os = "linux"), "here: only Linux says when a request left"),
    ];
    CA_FILE = "--ca-file" => [NOT_SIMULATED];
    MAX_ANSWER_BYTES = "--max-answer-bytes" => [NOT_SIMULATED];
    MAX_ANSWERS_BYTES = "--max-answers-bytes" => [NOT_SIMULATED];
}}

/// Flags about the reuse of connections.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: connections")]
pub(crate) struct ReuseArgs {
    /// Open a connection for each request and say so to the server (connection: close); more than
    /// some 470 requests a second to one address then run out of local ports
    #[arg(long)]
    no_keep_alive: bool,
    /// Count a request that the server did not process (a reused connection that it had closed, a
    /// 408 on an idle one, a refused HTTP/2 stream) as failed; by default it is sent once more
    #[arg(long)]
    no_resend: bool,
}

flags! { ReuseArgs {
    NO_KEEP_ALIVE = "--no-keep-alive" => [NOT_SIMULATED, ONE_CONNECTION];
    NO_RESEND = "--no-resend" => [NOT_SIMULATED];
}}

/// The flag `--insecure`. It is a struct of its own because one peer has the flag itself.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: connections")]
pub(crate) struct TrustArgs {
    /// Do not check the server's TLS certificate: any server that answers gets the API key
    #[arg(long)]
    insecure: bool,
}

flags! { TrustArgs {
    INSECURE = "--insecure";
}}

impl TrustArgs {
    /// Sets whether the certificate of a target is checked; refuses `--insecure` if the target's
    /// address does not begin with `https://`.
    pub(crate) fn applied_to(&self, mut target: TargetSpec) -> Result<TargetSpec, CliError> {
        if self.insecure && !target.base_url.is_https() {
            return Err(no_effect("without an https:// address"));
        }
        target.accepts_any_certificate = self.insecure;
        Ok(target)
    }

    /// Refuses `--insecure` if the simulator is measured.
    pub(crate) fn refuse(&self) -> Result<(), CliError> {
        if self.insecure { Err(no_effect("with --simulate")) } else { Ok(()) }
    }
}

fn no_effect(when: &str) -> CliError {
    CliError::no_effect(TrustArgs::INSECURE, when)
}

/// Limit of flags about connections: the simulator has connections of its own.
const NOT_SIMULATED: Limit = Unless(SimulatorArgs::SIMULATE);

/// Limit of flags about connections that carry one request at a time.
const ONE_CONNECTION: Limit = UnlessSince(ProtocolArgs::HTTP2, "whose requests share a connection");

impl ConnectionArgs {
    /// Returns a target at an address, with the settings and time-outs of the flags.
    pub(crate) fn target(&self, base_url: BaseUrl) -> Result<TargetSpec, CliError> {
        let mut target = self.protocol.target(base_url);
        target.timeouts = self.timeouts()?;
        Ok(target)
    }

    fn timeouts(&self) -> Result<Timeouts, CliError> {
        let mut timeouts = Timeouts::default();
        for (flag, given, stage) in [
            (Self::CONNECT_TIMEOUT, self.connect_timeout, &mut timeouts.connect),
            (Self::FIRST_BYTE_TIMEOUT, self.first_byte_timeout, &mut timeouts.first_byte),
            (Self::IDLE_TIMEOUT, self.idle_timeout, &mut timeouts.idle),
            (Self::TOTAL_TIMEOUT, self.total_timeout, &mut timeouts.total),
        ] {
            if let Some(given) = given {
                *stage = seconds(flag, given)?;
            }
        }
        Ok(timeouts)
    }
}

impl ProtocolArgs {
    /// Returns a target at an address, with the settings of the flags and the default time-outs.
    pub(crate) fn target(&self, base_url: BaseUrl) -> TargetSpec {
        let mut target = TargetSpec::new(base_url);
        target.http_version = if self.http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
        target.reuse.keep_alive = !self.reuse.no_keep_alive;
        target.reuse.resend = !self.reuse.no_resend;
        target.send_stamps = self.send_stamps;
        target.ca_file = self.ca_file.as_ref().map(Into::into);
        if let Some(each) = self.max_answer_bytes {
            target.answers.each = each;
        }
        target.answers.together = self.max_answers_bytes;
        target
    }
}

/// Parses a number of bytes above 0.
fn byte_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(format!("expected a number of bytes above 0, got {}", python::repr(text))),
    }
}
