//! `servemark launch`: starts a command on several machines, which share its load.

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use crate::error::UsageError;
use crate::own::parse_command;

/// Start a command on several machines, which share its load
#[derive(Clone, Debug, Eq, Parser, PartialEq)]
#[command(name = "launch", max_term_width = 100, after_help = NOTES)]
pub struct LaunchArgs {
    /// Hosts, one for each rank, with commas; localhost needs no ssh
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', required = true)]
    pub hosts: Vec<String>,
    /// NATS server over which the ranks find each other; without it, nats-server is started on this
    /// machine for the time of the command
    #[arg(long, value_name = "URL")]
    pub coordinator: Option<String>,
    /// The command that reaches a host, which is its last argument
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes")]
    pub ssh: String,
    /// The program on the other machines
    #[arg(long, value_name = "PATH", default_value = "servemark")]
    pub program: String,
    /// The command that every machine runs, without the name of the program
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Parses the arguments of `servemark launch`.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<LaunchArgs, UsageError> {
    parse_command("servemark launch", args)
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    LaunchArgs::command()
}

/// What the help says besides the flags.
const NOTES: &str = "\
The command is started over ssh on every host, and directly on localhost. The
first host is rank 0, which prints the report; put localhost there to keep its
files, and Ctrl-C, on this machine. Every machine needs the program, the data
set and the tokenizer at the same places.

With another launcher, start the command itself on every machine. All commands
that measure a server take
  --coordinator nats://[TOKEN@|NAME:PASSWORD@]HOST:PORT[/NAME]
                           NATS server over which the ranks find each other
  --world N --rank R       by default those of Slurm, Open MPI, PMI, torchrun
                           or an indexed Kubernetes job
  --gather records|logs    content of what rank 0 gets: the records that a
                           report needs, or whole run logs
  --share-concurrency      hand on places of --max-concurrency, which is split
                           into fixed parts otherwise
  --require-all-ranks      exit with 3 if a rank was lost
  --join-timeout SECONDS   time to wait for the coordinator and the ranks (300)
  --coordinator-creds FILE
                           credentials of a NATS user; NATS_TOKEN, or NATS_USER
                           and NATS_PASSWORD, hold others
  --coordinator-ca FILE, --coordinator-cert FILE, --coordinator-key FILE
                           certificates for tls://HOST:PORT

Examples:
  servemark launch --hosts localhost,b,c -- bench-serving --backend vllm \\
    --base-url http://10.0.0.9:8000 --num-prompts 100000 --request-rate 3000
  srun -N4 servemark vllm bench serve ... --coordinator nats://10.0.0.1:4222

Exit codes: 0 if all ranks succeeded; otherwise that of rank 0, or the largest
one if rank 0 succeeded.";
