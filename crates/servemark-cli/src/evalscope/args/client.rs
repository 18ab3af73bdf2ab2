//! How the client works and what it tells.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Client")]
pub(in crate::evalscope) struct ClientArgs {
    /// After how many rows a database is written: no effect, nothing is written during a run
    #[arg(long, value_name = "N", default_value = "1000", value_parser = python::int)]
    pub(in crate::evalscope) db_commit_interval: i64,
    /// How many results wait to be counted: no effect, they wait for nothing
    #[arg(long, value_name = "N", default_value = "5", value_parser = python::int)]
    pub(in crate::evalscope) queue_size_multiplier: i64,
    /// How many requests are prepared ahead of their time: no effect, memory alone bounds it
    #[arg(long, value_name = "N", default_value = "2", value_parser = python::int)]
    pub(in crate::evalscope) in_flight_task_multiplier: i64,
    /// How many processes make prompts: no effect on the prompts; there is one here
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) num_workers: Option<i64>,
    /// After how many requests the numbers so far are told: no effect, a bar tells them all the
    /// time
    #[arg(long, value_name = "N", default_value = "100", value_parser = python::int)]
    pub(in crate::evalscope) log_every_n_query: i64,
    /// Tell in benchmark.log of every piece that was sent and received
    #[arg(long)]
    pub(in crate::evalscope) debug: bool,
    /// Send the numbers to a service; not built
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(["wandb", "swanlab",
          "clearml"]))]
    pub(in crate::evalscope) visualizer: Option<String>,
    /// The same for Weights & Biases; not built
    #[arg(long, value_name = "KEY")]
    pub(in crate::evalscope) wandb_api_key: Option<String>,
    /// The same for SwanLab; not built
    #[arg(long, value_name = "KEY")]
    pub(in crate::evalscope) swanlab_api_key: Option<String>,
    /// Where SwanLab is; not built
    #[arg(long, value_name = "URL")]
    pub(in crate::evalscope) swanlab_host: Option<String>,
    /// The folder of the results instead of the model
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) name: Option<String>,
    /// What the reports call the model
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) alias: Option<String>,
    /// Keep how far the runs are in progress.json
    #[arg(long)]
    pub(in crate::evalscope) enable_progress_tracker: bool,
}
