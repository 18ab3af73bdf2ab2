//! Servemark's own flags that only this dialect has. They cannot be abbreviated.

use clap::Args;
use servemark_backends::Route;
use servemark_datasets::BadLine;
use servemark_report::SglangStyle;

use super::choice::{DATASET_NAME, datasets, route};
use super::request::RequestArgs;
use crate::argparse::Limit::{OnlyWhere, Redundant, Where};
use crate::argparse::flags;
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: requests")]
pub(in crate::sglang) struct OwnArgs {
    /// Ask OpenAI's routes for the token counts at the end of the stream
    #[arg(long)]
    pub(in crate::sglang) include_usage: bool,
    /// Also send the API key and the headers of --header with --backend trt, where SGLang sends
    /// neither; refused if there is nothing to send
    #[arg(long)]
    pub(in crate::sglang) trt_headers: bool,
    /// Handling of a line of a data file that is not JSON: fail, or skip it and warn; by default
    /// skip for custom and openai, as SGLang does, and fail for the others
    #[arg(long, value_name = "WHAT", value_parser = parse_bad_line)]
    pub(in crate::sglang) bad_lines: Option<BadLine>,
}

flags! { OwnArgs {
    INCLUDE_USAGE = "--include-usage" => [
        Where(
            |effects| route(effects) != Route::GENERATE,
            "on /generate, which always counts tokens",
        ),
        OnlyWhere(
            |effects| matches!(route(effects), Route::CHAT | Route::COMPLETIONS),
            "/v1/completions and /v1/chat/completions",
        ),
        Redundant(RequestArgs::DISABLE_STREAM, "whose answers always count tokens"),
    ];
    TRT_HEADERS = "--trt-headers" => [
        OnlyWhere(|effects| route(effects) == Route::TRT, "--backend trt"),
    ];
    BAD_LINES = "--bad-lines" => [datasets(&["custom", "openai", "longbench_v2", "speed-bench"])];
}}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: run and results")]
pub(in crate::sglang) struct StyleArgs {
    /// The release of SGLang whose table and result line are written: 0.5.23, 0.5.9, 0.5.6 or 0.5.1
    #[arg(long, value_name = "VERSION", value_parser = parse_style)]
    pub(in crate::sglang) style: Option<SglangStyle>,
}

flags! { StyleArgs {
    STYLE = "--style";
}}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: sessions")]
pub(in crate::sglang) struct SessionArgs {
    /// Send the reasoning of an answer again in the history of later turns
    #[arg(long)]
    pub(in crate::sglang) echo_reasoning: bool,
    /// Send this header with every request: its value is the same for all turns of a session, and
    /// no other session has it
    #[arg(long, value_name = "NAME")]
    pub(in crate::sglang) session_header: Option<String>,
}

flags! { SessionArgs {
    ECHO_REASONING = "--echo-reasoning" => [Where(
        |effects| effects.is_one_of(DATASET_NAME, &["agentic-trace", "generated-shared-prefix"]),
        "where no session has several turns",
    )];
    SESSION_HEADER = "--session-header";
}}

fn parse_style(name: &str) -> Result<SglangStyle, String> {
    python::parse_known(name, &SglangStyle::NAMES, SglangStyle::from_name)
}

pub(in crate::sglang) fn parse_bad_line(what: &str) -> Result<BadLine, String> {
    match what {
        "fail" => Ok(BadLine::Fail),
        "skip" => Ok(BadLine::Skip),
        _ => Err(python::expected(&["fail", "skip"], what)),
    }
}
