//! Our own flags that only this dialect has.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::argparse::flags;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(in crate::evalscope) struct ExtrasArgs {
    /// The evalscope release whose tables are printed
    #[arg(long, value_name = "VERSION", default_value = "1.14",
          value_parser = PossibleValuesParser::new(["1.14", "1.7", "1.0"]))]
    pub(in crate::evalscope) style: String,
    /// Do not show a progress bar
    #[arg(long)]
    pub(in crate::evalscope) no_progress: bool,
}

flags! { ExtrasArgs {
    STYLE = "--style";
    NO_PROGRESS = "--no-progress";
}}
