//! The flags for the progress display of Servemark's own commands.

use clap::Args;

/// How progress is displayed. Peers have flags of their own for it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DisplayArgs {
    /// Display no progress while requests are sent, only warnings and the results
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the whole tables, and not only a summary
    #[arg(long)]
    pub(crate) full: bool,
    /// Serve the page of the run at http://127.0.0.1:PORT/ while it goes on, up to date within
    /// seconds; 0 takes any free port
    #[arg(long, value_name = "PORT")]
    pub(crate) live: Option<u16>,
}
