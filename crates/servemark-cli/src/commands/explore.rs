//! `servemark [URL]` and `servemark demo`: explores a server of which only the address is known.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use servemark_client::{BaseUrl, Credentials, TargetSpec};
use servemark_metrics::Objective;

use crate::commands::rerun::credentials;
use crate::commands::score::{Objectives, objectives};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::gates::GateArgs;
use crate::number::refused;
use crate::own::{
    ConnectionArgs, DisplayArgs, OWN_TOLERANCE, TrustArgs, notes, online_notes, parse_command,
};
use crate::python;
use crate::results_folder::ResultsFolder;

/// Measure a server of which only the address is known, in about a minute
///
/// Asks the server for its engine, model and route, then measures it with 1, 2, 4, … streams until
/// more streams yield no more tokens, and at last for longer with the best number. Prompts are
/// passages of a bundled text; nothing is downloaded. The API key is read from OPENAI_API_KEY or
/// API_KEY.
#[derive(Clone, Debug, Parser)]
#[command(name = "servemark", max_term_width = 100, after_help = online_notes(&EXAMPLES, EXIT_CODES))]
pub(crate) struct UrlArgs {
    /// Address of the server: HOST:PORT or a URL; without one, the ports of this machine that
    /// engines use by default are tried: 8000, 30000, 11434, 8080, 23333
    #[arg(value_name = "URL", value_parser = parse_url)]
    url: Option<BaseUrl>,
    #[command(flatten)]
    load: LoadArgs,
    /// Name of the model; by default the first that the server lists
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Header of every request, KEY=VALUE; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    header: Vec<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    trust: TrustArgs,
}

/// Explore the bundled simulator, as an example of what `servemark URL` does
#[derive(Clone, Debug, Parser)]
#[command(name = "demo", max_term_width = 100, after_help = notes(&DEMO_EXAMPLES, EXIT_CODES))]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    load: LoadArgs,
    /// Number of requests that the simulator serves at once
    #[arg(long, value_name = "N", default_value = "24")]
    places: NonZeroUsize,
}

const EXAMPLES: [&str; 3] = [
    "servemark                       the first server found on this machine",
    "servemark gpu-box:8000          a server by its address",
    "servemark http://gpu-box:8000 --slo 'ttft:p90<500ms,tpot:p90<50ms'",
];

const DEMO_EXAMPLES: [&str; 2] = ["servemark demo", "servemark demo --duration 10 --json"];

const EXIT_CODES: &str = "0 measured, 1 internal error, 2 usage, 3 no number of streams meets the objectives of --slo, 4 \
     no server answers, 5 more than 1 % of the requests of the best load failed, 6 undecided, 130 \
     stopped.";

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Load and results")]
struct LoadArgs {
    /// Approximate duration of all loads together in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_duration)]
    duration: Duration,
    /// Objectives that define the capacity, such as 'ttft:p90<500ms,tpot:p90<50ms'
    #[arg(long, value_name = "OBJECTIVES", value_parser = objectives)]
    slo: Option<Objectives>,
    /// Approximate number of words of each prompt
    #[arg(long, value_name = "N", default_value = "150",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    prompt_words: u32,
    /// Maximum number of output tokens of each request
    #[arg(long, value_name = "N", default_value = "128",
          value_parser = clap::value_parser!(u32).range(2..))]
    output_len: u32,
    /// Largest number of streams
    #[arg(long, value_name = "N", default_value = "4096")]
    max_streams: NonZeroUsize,
    /// Seed of the prompts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// Folder of the results; by default servemark-results/DATE_TIME
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document and no table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    display: DisplayArgs,
    #[command(flatten)]
    gates: GateArgs,
}

/// An exploration as its command line describes it.
#[derive(Clone, Debug)]
pub struct ExploreArgs {
    /// The server to explore.
    pub server: ExploreTarget,
    /// Name of the model; if absent, the first one that the server lists.
    pub model: Option<String>,
    /// Credentials for the server.
    pub credentials: Credentials,
    /// Time for all loads together.
    pub duration: Duration,
    /// Objectives that define the capacity; empty if none is asked for.
    pub objectives: Vec<Objective>,
    /// Approximate number of words of each prompt.
    pub prompt_words: usize,
    /// Maximum number of output tokens of each request.
    pub output_tokens: u32,
    /// Largest number of streams.
    pub most_streams: NonZeroUsize,
    /// Seed of the prompts.
    pub seed: u32,
    /// Largest share of failed requests of the best load, from 0 to 1, with which the exit code is
    /// not 5.
    pub tolerated_failures: f64,
    /// Folder of the results.
    pub folder: ResultsFolder,
    /// Whether one JSON document is printed instead of the table.
    pub json: bool,
    /// Whether the whole table of the best load is printed after the summary.
    pub full: bool,
    /// Whether no progress is displayed.
    pub quiet: bool,
    /// Port at which the page is served while the loads are measured; `None` if it is not served.
    pub live: Option<u16>,
    /// Where the verdicts on the capacity and on failed requests are written.
    pub gates: GateArgs,
}

/// The server that is explored.
#[derive(Clone, Debug)]
pub enum ExploreTarget {
    /// A server at an address.
    At(TargetSpec),
    /// The first server found on this machine; all settings but the address are those given.
    Found(TargetSpec),
    /// The bundled simulator, which serves this number of requests at once.
    Simulated(NonZeroUsize),
}

/// Returns the clap command `servemark demo`, for completions.
pub(crate) fn demo_command() -> clap::Command {
    <DemoArgs as clap::CommandFactory>::command()
}

/// Returns the clap command `servemark [URL]`, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <UrlArgs as clap::CommandFactory>::command()
}

/// Parses the arguments of `servemark [URL]`.
pub(crate) fn parse(
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<ExploreArgs, UsageError> {
    let args: UrlArgs = parse_command(PROGRAM, args)?;
    let explored = || {
        let credentials = credentials(&args.header, environment)?;
        let target = |url| args.trust.applied_to(args.connection.target(url)?);
        let server = if let Some(url) = &args.url {
            ExploreTarget::At(target(url.clone())?)
        } else {
            let any = BaseUrl::at_host("127.0.0.1", 80).map_err(refused("the address"))?;
            ExploreTarget::Found(target(any)?)
        };
        Ok(ExploreArgs {
            model: args.model.clone(),
            credentials,
            ..args.load.explored(server, environment)
        })
    };
    explored().map_err(|error: CliError| UsageError::refused(PROGRAM, error))
}

/// Parses the arguments of `servemark demo`.
pub(crate) fn parse_demo(
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<ExploreArgs, UsageError> {
    let args: DemoArgs = parse_command("servemark demo", args)?;
    Ok(args.load.explored(ExploreTarget::Simulated(args.places), environment))
}

/// Returns whether the first word of a command line is the address of a server.
pub(crate) fn is_address(word: &OsStr) -> bool {
    let Some(word) = word.to_str() else { return false };
    let has_scheme = word.starts_with("http://") || word.starts_with("https://");
    let host = word.split_once('/').map_or(word, |(host, _)| host);
    let ends_with_port = host
        .rsplit_once(':')
        .is_some_and(|(name, port)| !name.is_empty() && port.parse::<u16>().is_ok());
    has_scheme || ends_with_port || host == "localhost" || host.parse::<IpAddr>().is_ok()
}

impl LoadArgs {
    fn explored(&self, server: ExploreTarget, environment: &Environment) -> ExploreArgs {
        ExploreArgs {
            server,
            model: None,
            credentials: Credentials::new(),
            duration: self.duration,
            objectives: self.slo.clone().map(|Objectives(list)| list).unwrap_or_default(),
            prompt_words: self.prompt_words as usize,
            output_tokens: self.output_len,
            most_streams: self.max_streams,
            seed: self.seed,
            tolerated_failures: OWN_TOLERANCE,
            folder: ResultsFolder::named_or_usual(self.out.clone(), environment),
            json: self.json,
            full: self.display.full,
            quiet: self.display.quiet,
            live: self.display.live,
            gates: self.gates.clone().in_environment(environment),
        }
    }
}

/// Parses an address; `http://` is assumed if it has no scheme. The end `/v1`, which addresses for
/// OpenAI's clients have, is removed, because each route begins with it here.
fn parse_url(text: &str) -> Result<BaseUrl, String> {
    let text = text.trim_end_matches('/');
    let ends = ["/v1", "/v1/models", "/v1/chat/completions", "/v1/completions"];
    let text = ends.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    url.parse().map_err(|error: servemark_client::BaseUrlError| error.to_string())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = python::finite_positive_float(text)?;
    let lies_within = (1.0..=86_400.0).contains(&seconds);
    lies_within
        .then(|| Duration::from_secs_f64(seconds))
        .ok_or_else(|| format!("expected 1 to 86400 seconds, got {text}"))
}

const PROGRAM: &str = "servemark";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn parse_args(args: &[&str]) -> Result<ExploreArgs, UsageError> {
        parse(args.iter().map(OsString::from), &Environment::default())
    }

    #[test]
    fn an_address_needs_no_scheme() {
        let ExploreTarget::At(target) = parse_args(&["gpu-box:8000"]).unwrap().server else {
            panic!()
        };
        assert_eq!(target.base_url.to_string(), "http://gpu-box:8000");
        let ExploreTarget::At(target) = parse_args(&["https://api.example/x"]).unwrap().server
        else {
            panic!()
        };
        assert_eq!(target.base_url.to_string(), "https://api.example/x");
    }

    #[test]
    fn an_address_may_end_as_openais_clients_have_it() {
        for end in ["", "/", "/v1", "/v1/", "/v1/models", "/v1/chat/completions"] {
            let address = format!("h:8000/api{end}");
            let ExploreTarget::At(target) = parse_args(&[&address]).unwrap().server else {
                panic!()
            };
            assert_eq!(target.base_url.to_string(), "http://h:8000/api", "{end}");
        }
    }

    #[test]
    fn addresses_are_told_from_commands() {
        for address in ["http://a", "https://a/b", "a:80", "localhost", "127.0.0.1", "::1", "a:8/v"]
        {
            assert!(is_address(OsStr::new(address)), "{address}");
        }
        for command in ["vllm", "python3", "a.py", "./bench.sh", "C:\\python.exe", "comapre", ":80"]
        {
            assert!(!is_address(OsStr::new(command)), "{command}");
        }
    }

    #[test]
    fn a_wrong_value_names_its_flag() {
        for (args, flag) in [
            (&["--duration", "0"][..], "--duration"),
            (&["--slo", "ttfb:p90<1s"], "--slo"),
            (&["--header", "x"], "--header"),
            (&["a:80", "--insecure"], "--insecure"),
            (&["--max-streams", "0"], "--max-streams"),
        ] {
            let error = parse_args(args).unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
        }
    }
}
