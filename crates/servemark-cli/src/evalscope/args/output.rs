//! Flags of the folder of the results.

use clap::Args;

use crate::argparse::flags;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub(in crate::evalscope) struct OutputArgs {
    /// The folder of all results
    #[arg(long, value_name = "FOLDER", default_value = "outputs")]
    pub(in crate::evalscope) outputs_dir: String,
    /// Leave out the folder that is named after date and time
    #[arg(long)]
    pub(in crate::evalscope) no_timestamp: bool,
}

flags! { OutputArgs {
    OUTPUTS_DIR = "--outputs-dir";
    NO_TIMESTAMP = "--no-timestamp";
}}
