//! Flags of conversations.

use clap::Args;

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
    /// The most turns of a conversation
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) max_turns: Option<i64>,
    /// Old name of --dataset-args, which wins
    #[arg(long, value_name = "JSON")]
    pub(in crate::evalscope) multi_turn_args: Option<String>,
}
