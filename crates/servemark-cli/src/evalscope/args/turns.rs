//! Flags of conversations.

use clap::Args;

use crate::argparse::Limit::Needs;
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Conversations")]
pub(in crate::evalscope) struct TurnsArgs {
    /// Hold conversations: --number of them, --parallel at once
    #[arg(long)]
    pub(in crate::evalscope) multi_turn: bool,
    /// The fewest turns of a conversation
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(in crate::evalscope) min_turns: i64,
    /// Maximum number of turns of a conversation
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) max_turns: Option<i64>,
    /// Earlier name of --dataset-args, which takes precedence
    #[arg(long, value_name = "JSON")]
    pub(in crate::evalscope) multi_turn_args: Option<String>,
}

flags! { TurnsArgs {
    MULTI_TURN = "--multi-turn";
    MIN_TURNS = "--min-turns" => [Needs(Self::MULTI_TURN)];
    MAX_TURNS = "--max-turns" => [Needs(Self::MULTI_TURN)];
    MULTI_TURN_ARGS = "--multi-turn-args" => [Needs(Self::MULTI_TURN)];
}}
