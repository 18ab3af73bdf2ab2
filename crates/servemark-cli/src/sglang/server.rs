//! Turns the flags into the server, the credentials and the names of the model.

use servemark_backends::{BackendName, Route};
use servemark_client::{BaseUrl, Credentials};
use servemark_plan::{ModelSpec, ServerSpec};

use super::args::{OwnArgs, SglangArgs, TargetArgs};
use crate::address::at_host;
use crate::credentials::keyed;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, refused};
use crate::own::ModelNames;

/// Returns the server to measure: the one at the given address, or the simulator.
pub(super) fn server(args: &SglangArgs, backend: BackendName) -> Result<ServerSpec, CliError> {
    if let Some(simulator) = args.simulator.spec(args.target.model.as_deref()) {
        args.trust.refuse()?;
        return Ok(ServerSpec::Simulated(simulator));
    }
    let base_url = base_url(&args.target, backend)?;
    Ok(ServerSpec::At(args.trust.applied_to(args.connection.target(base_url)?)?))
}

/// Returns the names of the model and its tokenizer.
pub(super) fn model(args: &SglangArgs) -> ModelSpec {
    let TargetArgs { model, served_model_name, tokenizer, .. } = &args.target;
    // SGLang takes an empty name as absent.
    let served = &served_model_name.clone().filter(|name| !name.is_empty());
    args.simulator.model(&ModelNames { model, served, tokenizer })
}

/// Returns the API key of the environment and the headers of the command line, which override the
/// key. As SGLang's client does, both are left out on the route of Triton, unless `--trt-headers`
/// asks for them; the flag is refused if there is nothing to send. On Anthropic's route,
/// `ANTHROPIC_API_KEY` is sent in Anthropic's header instead.
pub(super) fn credentials(
    args: &SglangArgs,
    backend: BackendName,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Credentials, CliError> {
    let mut credentials = keyed(environment)?;
    let anthropic = environment.variable("ANTHROPIC_API_KEY");
    if let Some(key) = anthropic.filter(|_| backend.route() == Route::ANTHROPIC) {
        credentials =
            Credentials::new().header("x-api-key", key).map_err(refused("the API key"))?;
    }
    for (name, value) in headers(&args.target, warnings) {
        credentials = credentials.header(name, value).map_err(refused(TargetArgs::HEADER))?;
    }
    match (backend.route() == Route::TRT, args.own.trt_headers, credentials.is_empty()) {
        (true, true, true) => Err(CliError::no_effect(OwnArgs::TRT_HEADERS, NOTHING_TO_SEND)),
        (true, false, false) => {
            warnings.push(NO_HEADERS.to_owned());
            Ok(Credentials::new())
        }
        _ => Ok(credentials),
    }
}

const NOTHING_TO_SEND: &str = "without --header, OPENAI_API_KEY or API_KEY";

const NO_HEADERS: &str = "neither --header nor OPENAI_API_KEY and API_KEY are sent with --backend trt, as by \
                          SGLang's client; --trt-headers sends them";

/// Returns the headers of the command line. Items that are not `KEY=VALUE` are left out with a
/// warning; SGLang's client leaves them out without one.
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
        return BaseUrl::with_slash(url).map_err(refused(TargetArgs::BASE_URL));
    }
    let port: u16 = match args.port {
        Some(port) => at_least(TargetArgs::PORT, 1, port)?,
        None => backend.default_port(),
    };
    at_host(TargetArgs::HOST, &args.host, port)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn some_routes_have_another_key_or_none() {
        let environment = Environment::default()
            .with_variable("OPENAI_API_KEY", "sk")
            .with_variable("ANTHROPIC_API_KEY", "ant");
        let names = |backend| {
            let (args, mut warnings) = (SglangArgs::parse_from(["x"]), Vec::new());
            let credentials = credentials(&args, backend, &environment, &mut warnings).unwrap();
            (credentials.names().join(" "), warnings.len())
        };
        assert_eq!(names(BackendName::Vllm), ("authorization".to_owned(), 0));
        assert_eq!(names(BackendName::Anthropic), ("x-api-key".to_owned(), 0));
        assert_eq!(names(BackendName::Trt), (String::new(), 1));
    }

    #[test]
    fn triton_gets_headers_where_that_is_asked_for() {
        let environment = Environment::default().with_variable("OPENAI_API_KEY", "sk");
        let names = |words: &[&str]| {
            let words = ["x", "--header", "A=b"].iter().chain(words);
            let (args, mut warnings) = (SglangArgs::parse_from(words), Vec::new());
            let credentials = credentials(&args, BackendName::Trt, &environment, &mut warnings);
            (credentials.unwrap().names().join(" "), warnings.len())
        };
        assert_eq!(names(&[]), (String::new(), 1));
        assert_eq!(names(&["--trt-headers"]), ("a authorization".to_owned(), 0));
    }

    #[test]
    fn a_flag_that_sends_headers_is_refused_if_there_are_none() {
        let refused = |words: &[&str], environment: &Environment| {
            let words = ["x", "--trt-headers"].iter().chain(words);
            let (args, mut warnings) = (SglangArgs::parse_from(words), Vec::new());
            let credentials = credentials(&args, BackendName::Trt, environment, &mut warnings);
            credentials.err().map(|error| error.to_string())
        };
        let (none, keyed) =
            (Environment::default(), Environment::default().with_variable("API_KEY", "sk"));
        let message = "--trt-headers has no effect without --header, OPENAI_API_KEY or API_KEY";
        assert_eq!(refused(&[], &none).as_deref(), Some(message));
        assert_eq!(refused(&["--header", "A=b"], &none), None);
        assert_eq!(refused(&[], &keyed), None);
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
