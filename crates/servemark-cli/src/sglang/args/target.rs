//! Flags about the server and the model.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::choice::BACKEND;
use crate::argparse::Limit::Unless;
use crate::argparse::{LIST, flags};
use crate::own::NOT_SIMULATED;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server and model")]
pub(in crate::sglang) struct TargetArgs {
    /// The kind of server and the route of its requests; besides those of SGLang: sglang-rerank,
    /// vllm-rerank, ollama, ollama-chat, anthropic
    #[arg(long, value_name = "NAME", default_value = "sglang", value_parser = backends())]
    pub(in crate::sglang) backend: String,
    /// Address of the server, such as http://gateway:8080/prefix; --host and --port then do not count
    #[arg(long, value_name = "URL")]
    pub(in crate::sglang) base_url: Option<String>,
    /// The server's host
    #[arg(long, value_name = "HOST", default_value = "0.0.0.0")]
    pub(in crate::sglang) host: String,
    /// The server's port; by default the backend's: 8000 for vllm and trt, 8080 for truss,
    /// 23333 for lmdeploy, 11434 for ollama, else 30000
    #[arg(long, value_name = "PORT", value_parser = python::int)]
    pub(in crate::sglang) port: Option<i64>,
    /// Seconds to wait until the server is ready; 0 does not check
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = python::int)]
    pub(in crate::sglang) ready_check_timeout_sec: i64,
    /// The model; by default the first that the server lists
    #[arg(long, value_name = "NAME")]
    pub(in crate::sglang) model: Option<String>,
    /// The name that requests carry; by default the model's
    #[arg(long, value_name = "NAME")]
    pub(in crate::sglang) served_model_name: Option<String>,
    /// The folder of the tokenizer; by default what the server says, else the model's name
    #[arg(long, value_name = "PATH")]
    pub(in crate::sglang) tokenizer: Option<String>,
    /// Headers for every request; they override the header of the API key
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., action = clap::ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::sglang) header: Option<Vec<String>>,
}

flags! { TargetArgs {
    BACKEND = BACKEND.name();
    BASE_URL = "--base-url" => [NOT_SIMULATED];
    HOST = "--host" => [NOT_SIMULATED, Unless(Self::BASE_URL)];
    PORT = "--port" => [NOT_SIMULATED, Unless(Self::BASE_URL)];
    READY_CHECK_TIMEOUT_SEC = "--ready-check-timeout-sec";
    MODEL = "--model";
    SERVED_MODEL_NAME = "--served-model-name";
    TOKENIZER = "--tokenizer";
    HEADER = "--header";
}}

/// Returns the parser of SGLang's backends, which the help lists, and of Servemark's own, which it
/// hides.
fn backends() -> PossibleValuesParser {
    let own = ["sglang-rerank", "vllm-rerank", "ollama", "ollama-chat", "anthropic"];
    let own = own.map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(BACKENDS.map(PossibleValue::new).into_iter().chain(own))
}

const BACKENDS: [&str; 13] = [
    "sglang",
    "sglang-native",
    "sglang-oai",
    "sglang-oai-chat",
    "sglang-embedding",
    "vllm",
    "vllm-chat",
    "vllm-embedding",
    "lmdeploy",
    "lmdeploy-chat",
    "trt",
    "gserver",
    "truss",
];
