//! Who is asked, with which credentials and under which model's name.

use servemark_backends::BackendName;
use servemark_client::{BaseUrl, Credentials, HttpVersion, TargetSpec, Timeouts};
use servemark_plan::{ModelSpec, ServerSpec};
use servemark_tokenizer::TokenizerSpec;

use super::args::{ConnectionArgs, SglangArgs, TargetArgs};
use super::number::{at_least, refused, seconds};
use super::simulate::simulator;
use crate::environment::Environment;
use crate::error::CliError;

/// The server, or the simulator.
pub(super) fn server(args: &SglangArgs, backend: BackendName) -> Result<ServerSpec, CliError> {
    if let Some(simulator) = simulator(args) {
        return Ok(ServerSpec::Simulated(simulator));
    }
    let mut target = TargetSpec::new(base_url(&args.target, backend)?);
    let ConnectionArgs { http2, ca_file, .. } = &args.connection;
    target.http_version = if *http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
    target.ca_file = ca_file.as_ref().map(Into::into);
    target.timeouts = timeouts(&args.connection)?;
    Ok(ServerSpec::At(target))
}

/// The model's names and its tokenizer; a simulator's own model is known without asking it.
pub(super) fn model(args: &SglangArgs) -> ModelSpec {
    let TargetArgs { model, served_model_name, tokenizer, .. } = &args.target;
    let mut spec = ModelSpec::default();
    spec.name = simulator(args).map(|simulator| simulator.model).or_else(|| model.clone());
    spec.served_name.clone_from(served_model_name);
    spec.tokenizer = tokenizer.as_ref().map(TokenizerSpec::new);
    spec
}

/// The API key of the environment, then the headers of the command line, which win.
pub(super) fn credentials(
    args: &TargetArgs,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Credentials, CliError> {
    let mut credentials = api_key(environment)?;
    for (place, item) in (1..).zip(args.header.iter().flatten()) {
        match item.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                credentials = credentials.header(key, value).map_err(refused("--header"))?;
            }
            // The item may be a secret that lost its name, so it is not repeated.
            _ => warnings.push(format!(
                "--header: item {place} is left out, it is not KEY=VALUE with both sides given"
            )),
        }
    }
    Ok(credentials)
}

fn api_key(environment: &Environment) -> Result<Credentials, CliError> {
    let credentials = Credentials::new();
    if let Some(key) = environment.variable("OPENAI_API_KEY") {
        return credentials.bearer(key).map_err(refused("OPENAI_API_KEY"));
    }
    match environment.variable("API_KEY") {
        Some(key) => credentials.authorization(key).map_err(refused("API_KEY")),
        None => Ok(credentials),
    }
}

fn base_url(args: &TargetArgs, backend: BackendName) -> Result<BaseUrl, CliError> {
    if let Some(url) = args.base_url.as_deref().filter(|url| !url.is_empty()) {
        return url.parse().map_err(refused("--base-url"));
    }
    let port: u16 = match args.port {
        Some(port) => at_least("--port", 1, port)?,
        None => backend.default_port(),
    };
    format!("http://{}:{port}", bracketed(&args.host)).parse().map_err(refused("--host"))
}

/// A host as it stands in a URL.
fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

fn timeouts(args: &ConnectionArgs) -> Result<Timeouts, CliError> {
    let mut timeouts = Timeouts::default();
    for (flag, given, stage) in [
        ("--connect-timeout", args.connect_timeout, &mut timeouts.connect),
        ("--first-byte-timeout", args.first_byte_timeout, &mut timeouts.first_byte),
        ("--idle-timeout", args.idle_timeout, &mut timeouts.idle),
        ("--total-timeout", args.total_timeout, &mut timeouts.total),
    ] {
        if let Some(given) = given {
            *stage = seconds(flag, given)?;
        }
    }
    Ok(timeouts)
}
