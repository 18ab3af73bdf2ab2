//! The flag for the progress display of Servemark's own commands.

use clap::Args;

/// Whether progress is displayed. Peers have flags of their own for it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DisplayArgs {
    /// Display no progress while requests are sent, only warnings and the results
    #[arg(long)]
    pub(crate) quiet: bool,
}
