//! The arguments in the form in which SGLang's client prints them, twice, before it does anything
//! else.

use clap::ArgMatches;

use super::args::{DatasetArgs, LoadArgs, PEER, SglangArgs, TargetArgs};
use crate::argparse::{Namespace, ParsedCommandLine};
use crate::parsed::PeerArguments;
use crate::python;

/// Returns the arguments as they were given, and as SGLang's client changes them before their use.
/// Values of headers are replaced by `***`, because each may be a secret.
pub(super) fn arguments(
    args: &SglangArgs,
    given: &ParsedCommandLine,
    matches: &ArgMatches,
) -> PeerArguments {
    let mut arguments = Namespace::of(given, matches, &PEER.names());
    put_chosen(&mut arguments, args);
    if given.is(TargetArgs::HEADER) {
        let items =
            given.values(TargetArgs::HEADER).iter().map(|item| hidden(item)).collect::<Vec<_>>();
        arguments.set(TargetArgs::HEADER, format!("[{}]", items.join(", ")));
    }
    let mut resolved = arguments.clone();
    if !given.is(TargetArgs::PORT) {
        resolved.set(TargetArgs::PORT, port(&args.target.backend).to_string());
    }
    if ["image", "mmmu"].contains(&args.dataset.dataset_name.as_str()) {
        resolved.set(DatasetArgs::APPLY_CHAT_TEMPLATE, "True");
    }
    PeerArguments::Sglang { given: arguments, settled: resolved }
}

/// Sets the values that Servemark chose for flags that were not given.
fn put_chosen(arguments: &mut Namespace, args: &SglangArgs) {
    let dataset = &args.dataset;
    arguments.set(TargetArgs::BACKEND, python::repr(&args.target.backend));
    arguments.set(DatasetArgs::DATASET_NAME, python::repr(&dataset.dataset_name));
    arguments.set(DatasetArgs::NUM_PROMPTS, dataset.num_prompts.to_string());
    arguments.set(DatasetArgs::RANDOM_INPUT_LEN, dataset.random_input_len.to_string());
    arguments.set(DatasetArgs::RANDOM_OUTPUT_LEN, dataset.random_output_len.to_string());
    arguments
        .set(DatasetArgs::RANDOM_RANGE_RATIO, servemark_pyjson::repr(dataset.random_range_ratio));
    arguments.set(LoadArgs::REQUEST_RATE, servemark_pyjson::repr(args.load.request_rate));
}

fn hidden(item: &str) -> String {
    let name = item.split_once('=').map(|(name, _)| format!("{name}=***"));
    python::repr(&name.unwrap_or_else(|| "***".to_owned()))
}

/// Returns the port that SGLang's client uses if none is given.
fn port(backend: &str) -> u16 {
    backend.parse().map_or(30000, servemark_backends::BackendName::default_port)
}
