//! The arguments as SGLang's client prints them, twice, before it does anything else.

use clap::ArgMatches;

use super::names::PEER;
use crate::argparse::{Given, Namespace};
use crate::parsed::PeerArguments;
use crate::python;

/// The arguments as they are given, and as SGLang's client changes them. Values of headers are left
/// out: each may be a secret.
pub(super) fn arguments(given: &Given, matches: &ArgMatches) -> PeerArguments {
    let mut arguments = Namespace::of(given, matches, &PEER);
    if given.is("--header") {
        let items = given.values("--header").iter().map(|item| hidden(item)).collect::<Vec<_>>();
        arguments.set("header", format!("[{}]", items.join(", ")));
    }
    let mut settled = arguments.clone();
    if !given.is("--port") {
        let backend = matches.get_one::<String>("backend").map_or("", String::as_str);
        settled.set("port", port(backend).to_string());
    }
    let dataset = matches.get_one::<String>("dataset_name").map_or("", String::as_str);
    if ["image", "mmmu"].contains(&dataset) {
        settled.set("apply_chat_template", "True");
    }
    PeerArguments::Sglang { given: arguments, settled }
}

fn hidden(item: &str) -> String {
    let name = item.split_once('=').map(|(name, _)| format!("{name}=***"));
    python::repr(&name.unwrap_or_else(|| "***".to_owned()))
}

/// The port that SGLang's client puts in where none is given.
fn port(backend: &str) -> u16 {
    backend.parse().map_or(30000, servemark_backends::BackendName::default_port)
}
