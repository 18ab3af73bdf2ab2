//! Flags of the server and the model.

use clap::{ArgAction, Args};

use super::choice::API;
use crate::argparse::Limit::{Never, Where};
use crate::argparse::{LIST, flags};
use crate::own::SimulatorArgs;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server and model")]
pub(in crate::evalscope) struct TargetArgs {
    /// The model by the name that requests carry; its last part names the folder of the results
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) model: Option<String>,
    /// The attention implementation of a model in this process; no effect on a server
    #[arg(long, value_name = "NAME")]
    pub(in crate::evalscope) attn_implementation: Option<String>,
    /// The API of the server: openai, openai_responses, openai_embedding, openai_rerank, dashscope,
    /// custom, systemone or autotrust
    #[arg(long, value_name = "NAME", default_value = "openai")]
    pub(in crate::evalscope) api: String,
    /// The folder or the name of the tokenizer; without one prompts are measured in characters
    #[arg(long, value_name = "PATH")]
    pub(in crate::evalscope) tokenizer_path: Option<String>,
    /// Address that requests go to; the end of the path that --api needs is appended if it is missing
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8877/v1/chat/completions")]
    pub(in crate::evalscope) url: String,
    /// The port of a model in this process; not built
    #[arg(long, value_name = "PORT", default_value = "8877", value_parser = python::int)]
    pub(in crate::evalscope) port: i64,
    /// Headers for every request
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., action = ArgAction::Set,
          value_delimiter = LIST)]
    pub(in crate::evalscope) headers: Option<Vec<String>>,
    /// The key that goes into the header Authorization
    #[arg(long, value_name = "KEY")]
    pub(in crate::evalscope) api_key: Option<String>,
    /// Time-out of look-up, TCP and TLS in seconds; by default 30
    #[arg(long, value_name = "SECONDS", value_parser = python::int)]
    pub(in crate::evalscope) connect_timeout: Option<i64>,
    /// Time-out without anything to read in seconds; by default that of --total-timeout
    #[arg(long, value_name = "SECONDS", value_parser = python::int)]
    pub(in crate::evalscope) read_timeout: Option<i64>,
    /// Time-out of a request in seconds
    #[arg(long, value_name = "SECONDS", default_value = "21600", value_parser = python::int)]
    pub(in crate::evalscope) total_timeout: i64,
    /// Do not try the server with a greeting before each run
    #[arg(long)]
    pub(in crate::evalscope) no_test_connection: bool,
}

flags! { TargetArgs {
    MODEL = "--model";
    ATTN_IMPLEMENTATION = "--attn-implementation" => [Never("beyond --api local")];
    API = API.name();
    TOKENIZER_PATH = "--tokenizer-path";
    URL = "--url" => [Where(
        |effects| !effects.is(SimulatorArgs::SIMULATE),
        "with --simulate, which starts a server of its own, but for its path",
    )];
    PORT = "--port" => [Never("beyond --api local; the port is part of --url")];
    HEADERS = "--headers";
    API_KEY = "--api-key";
    CONNECT_TIMEOUT = "--connect-timeout";
    READ_TIMEOUT = "--read-timeout";
    TOTAL_TIMEOUT = "--total-timeout";
    NO_TEST_CONNECTION = "--no-test-connection";
}}
