//! Finds flags that have no effect on the command line.
//!
//! evalscope accepts flags of data sets and modes that are not in use. They are accepted here too,
//! with a warning. One of our own flags without effect is a mistake and is refused.

use super::args::EvalscopeArgs;
use crate::address::is_encrypted;
use crate::argparse::{Given, Owner, Scope, check_scopes};
use crate::error::CliError;
use crate::own;

/// Refuses our own flags without effect, and warns about the peer's.
pub(super) fn check(
    args: &EvalscopeArgs,
    given: &Given,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    own::check(given)?;
    check_scopes(SCOPES, given, |in_use| in_use(args), warnings)
}

fn draws_from(args: &EvalscopeArgs, names: &[&str]) -> bool {
    args.prompt.prompt.is_none() && names.contains(&args.dataset.dataset.as_str())
}

fn is_local(args: &EvalscopeArgs) -> bool {
    args.dataset.data_source.as_deref() == Some("local")
}

type InUse = fn(&EvalscopeArgs) -> bool;

const SCOPES: &[Scope<InUse>] = &[
    Scope {
        flags: &["--url"],
        in_use: |args| args.simulator.simulate.is_none(),
        when: "with --simulate, which starts a server of its own, but for its path",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--port"],
        in_use: |_| false,
        when: "beyond --api local; the port is part of --url",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--attn-implementation"],
        in_use: |_| false,
        when: "beyond --api local",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--swanlab-host"],
        in_use: |_| false,
        when: "without --visualizer",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--send-stamps", "--precise-send"],
        in_use: |args| !is_encrypted(&args.target.url),
        when: "over TLS",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--dataset", "--dataset-path", "--dataset-args", "--dataset-offset"],
        in_use: |args| args.prompt.prompt.is_none(),
        when: "with --prompt",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--data-source"],
        in_use: |args| args.dataset.dataset_path.is_none() || is_local(args),
        when: "with --dataset-path",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--prefix-length"],
        in_use: |args| draws_from(args, &RANDOM) || draws_from(args, &TRIE),
        when: "beyond random, random_vl, random_multi_turn and trie data sets",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--image-width", "--image-height", "--image-format", "--image-num"],
        in_use: |args| draws_from(args, &["random_vl"]),
        when: "beyond --dataset random_vl",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--image-patch-size"],
        in_use: |_| false,
        when: "here: the tokens of pictures are counted by the server",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--min-turns", "--max-turns", "--multi-turn-args"],
        in_use: |args| args.turns.multi_turn,
        when: "without --multi-turn",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--parallel"],
        in_use: |args| !args.load.open_loop,
        when: "with --open-loop",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--sla-variable",
            "--sla-params",
            "--sla-num-runs",
            "--sla-upper-bound",
            "--sla-lower-bound",
            "--sla-fixed-parallel",
            "--sla-number-multiplier",
        ],
        in_use: |args| args.sla.sla_auto_tune,
        when: "without --sla-auto-tune",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--until"],
        in_use: |args| !args.sla.sla_auto_tune,
        when: "with --sla-auto-tune, whose runs have a set number of requests",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--enable-progress-tracker"],
        in_use: |args| !args.sla.sla_auto_tune,
        when: "with --sla-auto-tune",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--sla-fixed-parallel"],
        in_use: |args| args.sla.sla_variable == "rate",
        when: "beyond --sla-variable rate",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--db-commit-interval",
            "--in-flight-task-multiplier",
            "--log-every-n-query",
            "--num-workers",
            "--queue-size-multiplier",
        ],
        in_use: |_| false,
        when: "here: it tunes evalscope's own client",
        owner: Owner::Peer,
    },
];

/// Random data sets whose prompts may have a common prefix.
const RANDOM: [&str; 3] = ["random", "random_multi_turn", "random_vl"];
const TRIE: [&str; 3] = ["trie_agentic_coding", "trie_code_qa", "trie_office_work"];
