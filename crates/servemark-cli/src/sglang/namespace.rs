//! The arguments in the form in which SGLang's client prints them, twice, before it does anything
//! else.

use clap::ArgMatches;

use super::args::SglangArgs;
use super::names::PEER;
use crate::argparse::{Given, Namespace};
use crate::parsed::PeerArguments;
use crate::python;

/// Returns the arguments as they were given, and as SGLang's client changes them before their use.
/// Values of headers are replaced by `***`, because each may be a secret.
pub(super) fn arguments(args: &SglangArgs, given: &Given, matches: &ArgMatches) -> PeerArguments {
    let mut arguments = Namespace::of(given, matches, &PEER);
    put_chosen(&mut arguments, args);
    if given.is("--header") {
        let items = given.values("--header").iter().map(|item| hidden(item)).collect::<Vec<_>>();
        arguments.set("header", format!("[{}]", items.join(", ")));
    }
    let mut settled = arguments.clone();
    if !given.is("--port") {
        settled.set("port", port(&args.target.backend).to_string());
    }
    if ["image", "mmmu"].contains(&args.dataset.dataset_name.as_str()) {
        settled.set("apply_chat_template", "True");
    }
    PeerArguments::Sglang { given: arguments, settled }
}

/// Sets the values that Servemark chose for flags that were not given.
fn put_chosen(arguments: &mut Namespace, args: &SglangArgs) {
    let dataset = &args.dataset;
    arguments.set("backend", python::repr(&args.target.backend));
    arguments.set("dataset_name", python::repr(&dataset.dataset_name));
    arguments.set("num_prompts", dataset.num_prompts.to_string());
    arguments.set("random_input_len", dataset.random_input_len.to_string());
    arguments.set("random_output_len", dataset.random_output_len.to_string());
    arguments.set("random_range_ratio", servemark_pyjson::repr(dataset.random_range_ratio));
    arguments.set("request_rate", servemark_pyjson::repr(args.load.request_rate));
}

fn hidden(item: &str) -> String {
    let name = item.split_once('=').map(|(name, _)| format!("{name}=***"));
    python::repr(&name.unwrap_or_else(|| "***".to_owned()))
}

/// Returns the port that SGLang's client uses if none is given.
fn port(backend: &str) -> u16 {
    backend.parse().map_or(30000, servemark_backends::BackendName::default_port)
}
