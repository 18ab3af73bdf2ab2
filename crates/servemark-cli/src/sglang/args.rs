//! The flags: SGLang's by theme, then Servemark's own.
//!
//! Names, types, defaults and choices are those of SGLang 0.5.23; a test compares them with a
//! recording of its parser. The modules that turn the flags into a plan describe their meaning.

mod choice;
mod client;
mod dataset;
mod embedding;
mod load;
mod output;
mod own;
mod profile;
mod request;
mod shared_prefix;
mod target;
mod trace;

use clap::{Command, CommandFactory, Parser};

pub(super) use self::client::ClientArgs;
pub(super) use self::dataset::DatasetArgs;
pub(super) use self::embedding::EmbeddingArgs;
pub(super) use self::load::LoadArgs;
pub(super) use self::output::OutputArgs;
pub(super) use self::own::{OwnArgs, SessionArgs, StyleArgs, parse_bad_line};
pub(super) use self::profile::ProfileArgs;
pub(super) use self::request::RequestArgs;
pub(super) use self::shared_prefix::SharedPrefixArgs;
pub(super) use self::target::TargetArgs;
pub(super) use self::trace::{TraceArgs, replays};
use crate::argparse::{Flag, Group, PeerFlags};
use crate::own::{
    AskingArgs, ConnectionArgs, JudgingArgs, ProtocolArgs, ReuseArgs, RunArgs, ShardArgs,
    SimulatorArgs, StoppingArgs, TelemetryArgs, ThreadArgs, TrustArgs, with_online_notes,
};
use crate::results_folder::ResultsArgs;
use crate::sweep;

/// Benchmark a running server: SGLang's command line, and more
#[derive(Clone, Debug, Parser)]
#[command(
    name = "bench-serving",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
pub(super) struct SglangArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) dataset: DatasetArgs,
    #[command(flatten)]
    pub(super) shared_prefix: SharedPrefixArgs,
    #[command(flatten)]
    pub(super) trace: TraceArgs,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) request: RequestArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) profile: ProfileArgs,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) results: ResultsArgs,
    #[command(flatten)]
    pub(super) own: OwnArgs,
    #[command(flatten)]
    pub(super) style: StyleArgs,
    #[command(flatten)]
    pub(super) shards: ShardArgs,
    #[command(flatten)]
    pub(super) sessions: SessionArgs,
    #[command(flatten)]
    pub(super) embedding: EmbeddingArgs,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(super) simulator: SimulatorArgs,
}

impl SglangArgs {
    /// All flags with the limits on their effects.
    pub(super) const GROUPS: &'static [Group] = &[
        Group::of(TargetArgs::FLAGS),
        Group::of(DatasetArgs::FLAGS),
        Group::of(SharedPrefixArgs::FLAGS),
        Group::of(TraceArgs::FLAGS),
        Group::of(LoadArgs::FLAGS),
        Group::of(RequestArgs::FLAGS),
        Group::of(OutputArgs::FLAGS),
        Group::of(ProfileArgs::FLAGS),
        Group::of(ClientArgs::FLAGS),
        Group::of(RunArgs::FLAGS),
        Group::of(ResultsArgs::FLAGS),
        Group::of(JudgingArgs::FLAGS),
        Group::of(StoppingArgs::FLAGS),
        Group::of(AskingArgs::FLAGS),
        Group::of(OwnArgs::FLAGS),
        Group::of(StyleArgs::FLAGS),
        Group::of(ShardArgs::FLAGS),
        Group::of(ThreadArgs::FLAGS),
        Group::of(SessionArgs::FLAGS),
        Group::of(EmbeddingArgs::FLAGS),
        Group::of(ConnectionArgs::FLAGS),
        Group::of(ProtocolArgs::FLAGS),
        Group::of(ReuseArgs::FLAGS),
        Group::of(TrustArgs::FLAGS),
        Group::of(TelemetryArgs::FLAGS),
        Group::of(SimulatorArgs::FLAGS),
    ];

    /// Creates the arguments of a command line without flags.
    #[cfg(feature = "engine")]
    pub(super) fn usual() -> Self {
        Self::parse_from(["bench-serving"])
    }

    /// Creates the command with all flags.
    pub(super) fn whole_command(program: &str) -> Command {
        Self::extended_command(program, |command| command)
    }

    /// Creates the command with all flags and with what `extend` adds for another program.
    pub(super) fn extended_command(
        program: &str,
        extend: impl FnOnce(Command) -> Command,
    ) -> Command {
        let notes = with_online_notes(&format!("{NOTES}\n\n{}", sweep::NOTES));
        let command = Self::command().after_help(notes);
        let mut command = extend(command).bin_name(program);
        command.build();
        command
    }
}

const NOTES: &str = "\
Examples:
  bench-serving --simulate                                 the bundled simulator, no server
  bench-serving --backend vllm-chat --base-url http://gpu-box:8000 --request-rate 8
  bench-serving --max-concurrency 32 --num-prompts 400 --slo 'ttft:p99<2000ms,success>=99%'

SGLang's flags may be abbreviated as Python allows it (--num-prompt 10, --random-input=512); ours \
are written in full.

Environment: OPENAI_API_KEY (sent as a bearer token), API_KEY (sent as it is), \
ANTHROPIC_API_KEY (with --backend anthropic, as x-api-key), SGLANG_IS_IN_CI, \
SGLANG_TORCH_PROFILER_DIR.";

/// The flags of SGLang's client.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../flags/sglang/flags.txt"));

/// Groups of flags of which at most one flag may be given.
pub(super) const EXCLUSIVE: &[&[Flag]] =
    &[&[ProfileArgs::PROFILE_PREFILL_URL, ProfileArgs::PROFILE_DECODE_URL]];
