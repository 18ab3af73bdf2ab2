//! The flags for what Servemark's own commands display.

use clap::Args;

use crate::plan_file::PlanFormat;

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

/// Whether the plan is printed and nothing is run. Benchmarks have these flags in `AskingArgs`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PlanOnlyArgs {
    /// Print the plan and stop
    #[arg(long, conflicts_with = "live")]
    plan_only: bool,
    /// Language of the plan that --plan-only prints; also --as
    #[arg(long, value_name = "LANGUAGE", requires = "plan_only", default_value = "json")]
    plan_format: PlanFormat,
}

impl PlanOnlyArgs {
    /// Returns the language of the plan if it is only printed.
    pub(crate) fn printed_plan(self) -> Option<PlanFormat> {
        self.plan_only.then_some(self.plan_format)
    }
}
