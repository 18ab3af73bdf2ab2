//! The flags of `vllm bench serve`: vLLM's by theme, then Servemark's own.
//!
//! Names, types, defaults and choices are those of vLLM 0.33.0; a test compares them with a
//! recording of its parser. The modules that turn the flags into a plan describe their meaning.

mod choice;
mod corpora;
mod dataset;
mod extras;
mod load;
mod output;
mod random;
mod request;
mod target;
mod timed_trace;

use clap::{Command, CommandFactory, Parser};

pub(super) use self::choice::generates;
pub(super) use self::corpora::CorporaArgs;
pub(super) use self::dataset::DatasetArgs;
pub(super) use self::extras::{ExtrasArgs, StyleArgs};
pub(super) use self::load::LoadArgs;
pub(super) use self::output::OutputArgs;
pub(super) use self::random::RandomArgs;
pub(super) use self::request::RequestArgs;
pub(super) use self::target::TargetArgs;
pub(super) use self::timed_trace::TimedTraceArgs;
use crate::argparse::{Group, PeerFlags};
use crate::own::{
    AskingArgs, ConnectionArgs, JudgingArgs, ProtocolArgs, ReuseArgs, RunArgs, ShardArgs,
    SimulatorArgs, StoppingArgs, TelemetryArgs, ThreadArgs, with_online_notes,
};
use crate::sweep;

/// Benchmark a running server: vLLM's command line, and more
#[derive(Clone, Debug, Parser)]
#[command(
    name = "vllm bench serve",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
pub(super) struct VllmArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) dataset: DatasetArgs,
    #[command(flatten)]
    pub(super) random: RandomArgs,
    #[command(flatten)]
    pub(super) corpora: CorporaArgs,
    #[command(flatten)]
    pub(super) timed_trace: TimedTraceArgs,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) request: RequestArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) extras: ExtrasArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) style: StyleArgs,
    #[command(flatten)]
    pub(super) shards: ShardArgs,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(super) simulator: SimulatorArgs,
}

impl VllmArgs {
    /// All flags with the limits on their effects.
    pub(super) const GROUPS: &'static [Group] = &[
        Group::of(TargetArgs::FLAGS),
        Group::of(DatasetArgs::FLAGS),
        Group::of(RandomArgs::FLAGS),
        Group::of(CorporaArgs::FLAGS),
        Group::of(TimedTraceArgs::FLAGS),
        Group::of(LoadArgs::FLAGS),
        Group::of(RequestArgs::FLAGS),
        Group::of(OutputArgs::FLAGS),
        Group::of(ExtrasArgs::FLAGS),
        Group::of(RunArgs::FLAGS),
        Group::of(JudgingArgs::FLAGS),
        Group::of(StoppingArgs::FLAGS),
        Group::of(AskingArgs::FLAGS),
        Group::of(StyleArgs::FLAGS),
        Group::of(ShardArgs::FLAGS),
        Group::of(ThreadArgs::FLAGS),
        Group::of(ConnectionArgs::FLAGS),
        Group::of(ProtocolArgs::FLAGS),
        Group::of(ReuseArgs::FLAGS),
        Group::of(TelemetryArgs::FLAGS),
        Group::of(SimulatorArgs::FLAGS),
    ];

    /// Returns the command with all flags.
    pub(super) fn whole_command(program: &str) -> Command {
        let notes = with_online_notes(&format!("{NOTES}\n\n{}", sweep::NOTES));
        let mut command = Self::command().after_help(notes).bin_name(program);
        command.build();
        command
    }
}

const NOTES: &str = "\
Examples:
  vllm bench serve --model org/model --dataset-name random --request-rate 8
  vllm bench serve --model org/model --dataset-name sharegpt --dataset-path FILE --save-result
  vllm bench serve --model org/model --plan-only --as toml > bench.toml

vLLM's flags may be abbreviated as Python allows it and written with underscores (--num_prompts \
10); ours may not. Their defaults may stand in a YAML file (--config FILE). JSON values may be \
given key by key (--extra-body.stop.0 END, --extra-body.list+ a,b). --help=WORD shows the flags \
that have the word in their name.

The API key is read from OPENAI_API_KEY.";

/// Recorded flags of vLLM's client.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../flags/vllm/serve_flags.txt"));
