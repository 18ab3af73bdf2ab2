//! The flags of `evalscope perf`: the peer's by theme, then our own.
//!
//! Names, types, defaults and choices are evalscope 1.14.1's; a test compares them with a recording
//! of its parser. What the flags mean is documented in the modules that turn them into plans.

mod choice;
mod client;
mod dataset;
mod extras;
mod load;
mod output;
mod prompt;
mod sampling;
mod sla;
mod target;
mod turns;

use clap::{Command, CommandFactory, Parser};

pub(super) use self::client::ClientArgs;
pub(super) use self::dataset::DatasetArgs;
pub(super) use self::extras::ExtrasArgs;
pub(super) use self::load::LoadArgs;
pub(super) use self::output::OutputArgs;
pub(super) use self::prompt::PromptArgs;
pub(super) use self::sampling::SamplingArgs;
pub(super) use self::sla::SlaArgs;
pub(super) use self::target::TargetArgs;
pub(super) use self::turns::TurnsArgs;
use crate::argparse::{Group, PeerFlags};
use crate::own::{
    AskingArgs, JudgingArgs, ProtocolArgs, ReuseArgs, SimulatorArgs, StoppingArgs, TelemetryArgs,
    ThreadArgs, TrustArgs, with_online_notes,
};
use crate::until::{UntilArgs, UntilFlag};

/// Benchmark a running server: evalscope perf's command line, and more
#[derive(Clone, Debug, Parser)]
#[command(
    name = "evalscope perf",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
pub(super) struct EvalscopeArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) sla: SlaArgs,
    #[command(flatten)]
    pub(super) client: ClientArgs,
    #[command(flatten)]
    pub(super) prompt: PromptArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) dataset: DatasetArgs,
    #[command(flatten)]
    pub(super) sampling: SamplingArgs,
    #[command(flatten)]
    pub(super) turns: TurnsArgs,
    #[command(flatten)]
    pub(super) extras: ExtrasArgs,
    #[command(flatten)]
    pub(super) judging: JudgingArgs,
    #[command(flatten)]
    pub(super) until: UntilFlag,
    #[command(flatten)]
    pub(super) stopping: StoppingArgs,
    #[command(flatten)]
    pub(super) asking: AskingArgs,
    #[command(flatten)]
    pub(super) threads: ThreadArgs,
    #[command(flatten)]
    pub(super) protocol: ProtocolArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(super) simulator: SimulatorArgs,
}

impl EvalscopeArgs {
    /// All flags with the limits on their effects.
    pub(super) const GROUPS: &'static [Group] = &[
        Group::of(TargetArgs::FLAGS),
        Group::of(LoadArgs::FLAGS),
        Group::of(SlaArgs::FLAGS),
        Group::of(ClientArgs::FLAGS),
        Group::of(PromptArgs::FLAGS),
        Group::of(OutputArgs::FLAGS),
        Group::of(DatasetArgs::FLAGS),
        Group::of(SamplingArgs::FLAGS),
        Group::of(TurnsArgs::FLAGS),
        Group::of(ExtrasArgs::FLAGS),
        Group::of(JudgingArgs::FLAGS),
        Group::of(UntilArgs::FLAGS),
        Group::of(StoppingArgs::FLAGS),
        Group::of(AskingArgs::FLAGS),
        Group::of(ThreadArgs::FLAGS),
        Group::of(ProtocolArgs::FLAGS),
        Group::of(ReuseArgs::FLAGS),
        Group::of(TrustArgs::FLAGS),
        Group::of(TelemetryArgs::FLAGS),
        Group::of(SimulatorArgs::FLAGS),
    ];

    /// Returns the prompt of `--prompt`, which is used instead of a data set. As in evalscope, an
    /// empty prompt counts as none, and conversations come from the data set in any case.
    pub(super) fn own_prompt(&self) -> Option<&str> {
        let prompt = self.prompt.prompt.as_deref().filter(|prompt| !prompt.is_empty());
        prompt.filter(|_| !self.turns.multi_turn)
    }

    /// Returns whether prompts can be measured in tokens.
    pub(super) fn has_tokenizer(&self) -> bool {
        self.target.tokenizer_path.is_some() || self.simulator.simulate.is_some()
    }

    /// Returns the complete clap command; help and messages call the program `program`.
    pub(super) fn whole_command(program: &str) -> Command {
        let mut command = Self::command().after_help(with_online_notes(NOTES)).bin_name(program);
        command.build();
        command
    }
}

const NOTES: &str = "\
Examples:
  evalscope perf --url http://gpu-box:8000/v1/chat/completions --model m --parallel 8 --number 80
  evalscope perf --url http://gpu-box:8000/v1/chat/completions --model m --dataset random

evalscope's flags may be abbreviated as Python allows it; ours may not. Each run has a folder of its \
own in OUTPUTS_DIR/DATE_TIME/MODEL, with evalscope's files and our run log.";

/// The flags of evalscope's client.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../flags/evalscope/flags.txt"));
