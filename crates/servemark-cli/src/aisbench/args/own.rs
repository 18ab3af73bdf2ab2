//! Our flags that change the settings of a config.

use clap::{ArgAction, Args};
use servemark_report::PrefillRow;

use crate::argparse::flags;
use crate::own::NOT_SIMULATED;
use crate::python;

fn parse_style(month: &str) -> Result<PrefillRow, String> {
    python::parse_known(month, &PrefillRow::RELEASES, PrefillRow::of_release)
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: what the config says")]
pub(in crate::aisbench) struct OwnArgs {
    /// Set a key of all models or of all data sets to a Python value, such as models.batch_size=64
    /// or datasets.config.RequestCount=500; a single word or path needs no quotes; may be given
    /// several times
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub(in crate::aisbench) set: Vec<String>,
    /// The server's host: models.host_ip
    #[arg(long, value_name = "HOST")]
    pub(in crate::aisbench) host_ip: Option<String>,
    /// The server's port: models.host_port
    #[arg(long, value_name = "PORT", value_parser = python::int)]
    pub(in crate::aisbench) host_port: Option<i64>,
    /// The server's URL, in place of host and port: models.url
    #[arg(long, value_name = "URL")]
    pub(in crate::aisbench) url: Option<String>,
    /// The model's name in requests: models.model
    #[arg(long, value_name = "NAME")]
    pub(in crate::aisbench) model_name: Option<String>,
    /// The path of the tokenizer: models.path
    #[arg(long, value_name = "PATH")]
    pub(in crate::aisbench) tokenizer_path: Option<String>,
    /// Maximum number of requests in flight: models.batch_size
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::aisbench) batch_size: Option<i64>,
    /// Requests per second; 0 sends as many as may be in flight: models.request_rate
    #[arg(long, value_name = "RATE", value_parser = python::float)]
    pub(in crate::aisbench) request_rate: Option<f64>,
    /// Maximum number of tokens of an answer: models.max_out_len
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    pub(in crate::aisbench) max_out_len: Option<i64>,
    /// The file of the data set: datasets.path
    #[arg(long, value_name = "PATH")]
    pub(in crate::aisbench) dataset_path: Option<String>,
    /// Number of synthetic prompts: datasets.config.RequestCount
    #[arg(long, value_name = "N", value_parser = python::int)]
    pub(in crate::aisbench) request_count: Option<i64>,
    /// The month of the AISBench release whose tables are printed. Before August 2026 the prefill
    /// throughput is one number of the run, and an answer that came whole has a first token
    #[arg(long, value_name = "MONTH", default_value = PrefillRow::RELEASES[0], value_parser = parse_style)]
    pub(in crate::aisbench) style: PrefillRow,
    /// The seed of all draws; AISBench has none
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = python::int)]
    pub(in crate::aisbench) seed: i64,
}

flags! { OwnArgs {
    SET = "--set";
    HOST_IP = "--host-ip" => [NOT_SIMULATED];
    HOST_PORT = "--host-port" => [NOT_SIMULATED];
    URL = "--url" => [NOT_SIMULATED];
    MODEL_NAME = "--model-name";
    TOKENIZER_PATH = "--tokenizer-path";
    BATCH_SIZE = "--batch-size";
    REQUEST_RATE = "--request-rate";
    MAX_OUT_LEN = "--max-out-len";
    DATASET_PATH = "--dataset-path";
    REQUEST_COUNT = "--request-count";
    STYLE = "--style";
    SEED = "--seed";
}}
