//! Converts the flags of the server, its credentials and the model.

use servemark_client::{BaseUrl, Credentials};
use servemark_plan::{ModelSpec, ServerSpec};

use super::args::{TargetArgs, VllmArgs};
use super::tokenizer_mode;
use crate::address::at_host;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::own::ModelNames;

/// Returns the server to measure, or the simulator.
pub(super) fn server(args: &VllmArgs) -> Result<ServerSpec, CliError> {
    if let Some(simulator) = args.simulator.spec(args.target.model.as_deref()) {
        return Ok(ServerSpec::Simulated(simulator));
    }
    let base_url = base_url(&args.target)?;
    let mut target = args.connection.target(base_url)?;
    target.accepts_any_certificate = args.target.insecure;
    Ok(ServerSpec::At(target))
}

fn base_url(args: &TargetArgs) -> Result<BaseUrl, CliError> {
    match &args.base_url {
        Some(url) => BaseUrl::with_slash(url).map_err(refused(TargetArgs::BASE_URL)),
        None => at_host(TargetArgs::HOST, &args.host, at_least(TargetArgs::PORT, 1, args.port)?),
    }
}

/// Returns the names of the model and its tokenizer.
pub(super) fn model(args: &VllmArgs) -> ModelSpec {
    let TargetArgs { model, tokenizer, .. } = &args.target;
    // Without a model's name, requests have the name that the server lists, so the served name is
    // left out.
    let is_known = model.is_some() || args.simulator.simulate.is_some();
    let served = args.target.served_model_name.clone();
    let served = &served.filter(|name| is_known && !name.is_empty());
    let mut spec = args.simulator.model(&ModelNames { model, served, tokenizer });
    spec.mistral_tokenizer = tokenizer_mode::is_mistrals(args);
    spec.untokenized = args.target.skip_tokenizer_init;
    spec
}

/// Returns the credentials: the API key of the environment and the headers of the command line,
/// which replace headers of the same name.
pub(super) fn credentials(
    args: &TargetArgs,
    environment: &Environment,
) -> Result<Credentials, CliError> {
    let mut credentials = Credentials::new();
    if let Some(key) = environment.variable("OPENAI_API_KEY") {
        credentials = credentials.bearer(key).map_err(refused("the API key"))?;
    }
    for item in args.header.iter().flatten() {
        let malformed = "Invalid header format. Please use KEY=VALUE format.";
        let (name, value) = item.split_once('=').ok_or(CliError::Together(malformed))?;
        credentials =
            credentials.header(name.trim(), value.trim()).map_err(refused(TargetArgs::HEADER))?;
    }
    Ok(credentials)
}
