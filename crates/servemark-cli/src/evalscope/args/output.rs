//! Where results go.

use clap::Args;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub(in crate::evalscope) struct OutputArgs {
    /// The folder of all results
    #[arg(long, value_name = "FOLDER", default_value = "outputs")]
    pub(in crate::evalscope) outputs_dir: String,
    /// Leave the folder with date and time out
    #[arg(long)]
    pub(in crate::evalscope) no_timestamp: bool,
}
