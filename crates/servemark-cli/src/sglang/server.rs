//! Who is asked, with which credentials and under which model's name.

use servemark_backends::BackendName;
use servemark_client::{BaseUrl, Credentials};
use servemark_plan::{ModelSpec, ServerSpec};

use super::args::{SglangArgs, TargetArgs};
use crate::address::at_host;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::own::ModelNames;

/// The server, or the simulator.
pub(super) fn server(args: &SglangArgs, backend: BackendName) -> Result<ServerSpec, CliError> {
    if let Some(simulator) = args.simulator.spec(args.target.model.as_deref()) {
        args.trust.refuse()?;
        return Ok(ServerSpec::Simulated(simulator));
    }
    let base_url = base_url(&args.target, backend)?;
    Ok(ServerSpec::At(args.trust.applied_to(args.connection.target(base_url)?)?))
}

/// The model's names and its tokenizer.
pub(super) fn model(args: &SglangArgs) -> ModelSpec {
    let TargetArgs { model, served_model_name: served, tokenizer, .. } = &args.target;
    args.simulator.model(&ModelNames { model, served, tokenizer })
}

/// The API key of the environment, then the headers of the command line, which win.
pub(super) fn credentials(
    args: &TargetArgs,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Credentials, CliError> {
    let mut credentials = keyed(environment)?;
    for (name, value) in headers(args, warnings) {
        credentials = credentials.header(name, value).map_err(refused("--header"))?;
    }
    Ok(credentials)
}

/// The API key of the environment, if it has one.
pub(crate) fn keyed(environment: &Environment) -> Result<Credentials, CliError> {
    match authorization(environment) {
        Some(key) => Credentials::new().authorization(&key).map_err(refused("the API key")),
        None => Ok(Credentials::new()),
    }
}

/// The `Authorization` header that the environment asks for.
fn authorization(environment: &Environment) -> Option<String> {
    let bearer = environment.variable("OPENAI_API_KEY").map(|key| format!("Bearer {key}"));
    bearer.or_else(|| environment.variable("API_KEY").map(str::to_owned))
}

/// The headers of the command line. SGLang leaves a bad item out and says nothing.
fn headers<'a>(args: &'a TargetArgs, warnings: &mut Vec<String>) -> Vec<(&'a str, &'a str)> {
    let mut headers = Vec::new();
    for (place, item) in (1..).zip(args.header.iter().flatten()) {
        match item.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                headers.push((key, value));
            }
            // The item may be a secret that lost its name, so it is not repeated.
            _ => warnings.push(format!(
                "--header: item {place} is left out, it is not KEY=VALUE with both sides given"
            )),
        }
    }
    headers
}

fn base_url(args: &TargetArgs, backend: BackendName) -> Result<BaseUrl, CliError> {
    if let Some(url) = args.base_url.as_deref().filter(|url| !url.is_empty()) {
        return url.parse().map_err(refused("--base-url"));
    }
    let port: u16 = match args.port {
        Some(port) => at_least("--port", 1, port)?,
        None => backend.default_port(),
    };
    at_host(&args.host, port)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[track_caller]
    fn check_authorization(variables: &[(&str, &str)], expected: Option<&str>) {
        let environment = variables
            .iter()
            .fold(Environment::default(), |all, (name, value)| all.with_variable(name, value));
        assert_eq!(authorization(&environment).as_deref(), expected);
    }

    #[test]
    fn the_first_key_that_is_not_empty_counts() {
        check_authorization(&[], None);
        check_authorization(&[("OPENAI_API_KEY", "sk")], Some("Bearer sk"));
        check_authorization(&[("API_KEY", "Token k")], Some("Token k"));
        check_authorization(&[("API_KEY", "k"), ("OPENAI_API_KEY", "sk")], Some("Bearer sk"));
        check_authorization(&[("API_KEY", "k"), ("OPENAI_API_KEY", "")], Some("k"));
    }

    #[test]
    fn headers_are_parted_at_the_first_equals_sign() {
        let items = ["X-Trace=abc=1", "Empty=", "=novalue", "noequals", "Two=2"];
        let mut args = SglangArgs::parse_from(["x"]).target;
        args.header = Some(items.map(str::to_owned).to_vec());
        let mut warnings = Vec::new();
        assert_eq!(headers(&args, &mut warnings), [("X-Trace", "abc=1"), ("Two", "2")]);
        assert_eq!(warnings.len(), 3);
        assert!(warnings[2].contains("item 4") && !warnings[2].contains("noequals"));
    }
}
