//! Flags of the client: its processes, its logs, and names in its results.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::sla::SlaArgs;
use crate::argparse::Limit::{Needs, Never, Unless};
use crate::argparse::{Limit, flags};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Client")]
pub(in crate::evalscope) struct ClientArgs {
    /// After how many rows a database is written: no effect, nothing is written during a run
    #[arg(long, value_name = "N", default_value = "1000", value_parser = python::int)]
    pub(in crate::evalscope) db_commit_interval: i64,
    /// Number of results that may wait to be counted: no effect, results do not wait
    #[arg(long, value_name = "N", default_value = "5", value_parser = python::int)]
    pub(in crate::evalscope) queue_size_multiplier: i64,
    /// Number of requests to prepare ahead of their time: no effect, Servemark's own bounds apply
    #[arg(long, value_name = "N", default_value = "2", value_parser = python::int)]
    pub(in crate::evalscope) in_flight_task_multiplier: i64,
    /// Number of processes that make prompts: no effect on the prompts; there is one here
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::evalscope) num_workers: Option<i64>,
    /// After how many requests the figures so far are logged: no effect, a progress bar always
    /// shows them
    #[arg(long, value_name = "N", default_value = "100", value_parser = python::int)]
    pub(in crate::evalscope) log_every_n_query: i64,
    /// Record every piece that was sent and received in benchmark.log
    #[arg(long)]
    pub(in crate::evalscope) debug: bool,
    /// Send the figures to a service; not built
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(["wandb", "swanlab",
          "clearml"]))]
    pub(in crate::evalscope) visualizer: Option<String>,
    /// The API key of Weights & Biases; not built
    #[arg(long, value_name = "KEY")]
    pub(in crate::evalscope) wandb_api_key: Option<String>,
    /// The API key of SwanLab; not built
    #[arg(long, value_name = "KEY")]
    pub(in crate::evalscope) swanlab_api_key: Option<String>,
    /// The URL of SwanLab; not built
    #[arg(long, value_name = "URL")]
    pub(in crate::evalscope) swanlab_host: Option<String>,
    /// The name of the results' folder, in place of the model's name
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) name: Option<String>,
    /// The model's name in the reports
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) alias: Option<String>,
    /// Keep the progress of the runs in progress.json
    #[arg(long)]
    pub(in crate::evalscope) enable_progress_tracker: bool,
}

flags! { ClientArgs {
    DB_COMMIT_INTERVAL = "--db-commit-interval" => [TUNES_EVALSCOPE];
    QUEUE_SIZE_MULTIPLIER = "--queue-size-multiplier" => [TUNES_EVALSCOPE];
    IN_FLIGHT_TASK_MULTIPLIER = "--in-flight-task-multiplier" => [TUNES_EVALSCOPE];
    NUM_WORKERS = "--num-workers" => [TUNES_EVALSCOPE];
    LOG_EVERY_N_QUERY = "--log-every-n-query" => [TUNES_EVALSCOPE];
    DEBUG = "--debug";
    VISUALIZER = "--visualizer";
    WANDB_API_KEY = "--wandb-api-key";
    SWANLAB_API_KEY = "--swanlab-api-key";
    SWANLAB_HOST = "--swanlab-host" => [Needs(Self::VISUALIZER)];
    NAME = "--name";
    ALIAS = "--alias";
    ENABLE_PROGRESS_TRACKER = "--enable-progress-tracker" => [Unless(SlaArgs::SLA_AUTO_TUNE)];
}}

const TUNES_EVALSCOPE: Limit = Never("here: it tunes evalscope's own client");
