//! Flags of the server, the model and the tokenizer.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args};

use super::choice::BACKEND;
use crate::argparse::Limit::{Never, Unless, Where};
use crate::argparse::{Effects, LIST, flags};
use crate::own::{NOT_SIMULATED, SimulatorArgs};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server and model")]
pub(in crate::vllm) struct TargetArgs {
    /// Wire dialect of the server; vllm is another name of openai
    #[arg(long, value_name = "NAME", default_value = "openai",
          value_parser = PossibleValuesParser::new(BACKENDS))]
    pub(in crate::vllm) backend: String,
    /// Base URL of the server, such as http://gateway:8080/prefix, instead of --host and --port
    #[arg(long, value_name = "URL")]
    pub(in crate::vllm) base_url: Option<String>,
    /// The server's host
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(in crate::vllm) host: String,
    /// The server's port
    #[arg(long, value_name = "PORT", default_value = "8000", value_parser = python::int)]
    pub(in crate::vllm) port: i64,
    /// Path after the base URL; by default the usual one of --backend
    #[arg(long, value_name = "PATH", default_value = "/v1/completions")]
    pub(in crate::vllm) endpoint: String,
    /// Headers of every request; they replace the header of the API key
    #[arg(long, value_name = "KEY=VALUE", num_args = 0.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::vllm) header: Option<Vec<String>>,
    /// Do not check the server's certificate
    #[arg(long)]
    pub(in crate::vllm) insecure: bool,
    /// Seconds in which the first request is repeated until it succeeds; 0 skips this check
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = python::int)]
    pub(in crate::vllm) ready_check_timeout_sec: i64,
    /// The model; by default the first that the server lists
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) model: Option<String>,
    /// Name of the model in requests; by default --model
    #[arg(long, value_name = "NAME")]
    pub(in crate::vllm) served_model_name: Option<String>,
    /// Folder or name of the tokenizer; by default the model's
    #[arg(long, value_name = "PATH")]
    pub(in crate::vllm) tokenizer: Option<String>,
    /// Files of which the tokenizer is built: mistral uses tekken.json, auto and hf use the files
    /// of transformers
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub(in crate::vllm) tokenizer_mode: String,
    /// Allow code that comes with a model or a data set: no effect, none is ever run here
    #[arg(long)]
    pub(in crate::vllm) trust_remote_code: bool,
    /// Use no tokenizer: for custom and custom_image, whose rows are sent unchanged
    #[arg(long)]
    pub(in crate::vllm) skip_tokenizer_init: bool,
}

flags! { TargetArgs {
    BACKEND = BACKEND.name();
    BASE_URL = "--base-url" => [NOT_SIMULATED];
    HOST = "--host" => [NOT_SIMULATED, Unless(Self::BASE_URL)];
    PORT = "--port" => [NOT_SIMULATED, Unless(Self::BASE_URL)];
    ENDPOINT = "--endpoint";
    HEADER = "--header";
    INSECURE = "--insecure"
        => [Where(is_encrypted, "without an https:// --base-url")];
    READY_CHECK_TIMEOUT_SEC = "--ready-check-timeout-sec";
    MODEL = "--model";
    SERVED_MODEL_NAME = "--served-model-name" => [Where(
        |effects| effects.is(Self::MODEL) || effects.is(SimulatorArgs::SIMULATE),
        "without --model: the first that the server lists is asked for",
    )];
    TOKENIZER = "--tokenizer" => [Unless(Self::SKIP_TOKENIZER_INIT)];
    TOKENIZER_MODE = "--tokenizer-mode" => [Unless(Self::SKIP_TOKENIZER_INIT)];
    TRUST_REMOTE_CODE = "--trust-remote-code"
        => [Never("here: no code that comes with a model or a data set is run")];
    SKIP_TOKENIZER_INIT = "--skip-tokenizer-init";
}}

fn is_encrypted(effects: &Effects<'_>) -> bool {
    effects.is_encrypted()
}

const BACKENDS: [&str; 13] = [
    "vllm",
    "openai",
    "openai-chat",
    "openai-responses",
    "openai-audio",
    "openai-embeddings",
    "openai-embeddings-chat",
    "openai-embeddings-clip",
    "openai-embeddings-vlm2vec",
    "infinity-embeddings",
    "infinity-embeddings-clip",
    "vllm-pooling",
    "vllm-rerank",
];
