//! Finds flags that have no effect on the command line.

use super::args::AisbenchArgs;
use crate::argparse::{Given, Owner, Scope, check_scopes};
use crate::error::CliError;
use crate::own;

/// Refuses modes other than the performance modes, and our own flags without effect. Warns about
/// the peer's flags without effect.
pub(super) fn check(
    args: &AisbenchArgs,
    given: &Given,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    if !["perf", "perf_viz"].contains(&args.mode.as_str()) {
        let why = format!("{} measures no performance; servemark has -m perf alone", args.mode);
        return Err(CliError::setting("--mode", why));
    }
    own::check(given)?;
    check_scopes(SCOPES, given, |in_use| in_use(args), warnings)
}

type InUse = fn(&AisbenchArgs) -> bool;

const SCOPES: &[Scope<InUse>] = &[
    Scope {
        flags: &["--host-ip", "--host-port", "--url"],
        in_use: |args| args.simulator.simulate.is_none(),
        when: "with --simulate, which starts a server of its own",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--debug"],
        in_use: |_| false,
        when: "here: a run is always one process, and says on the terminal what it does",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--max-num-workers"],
        in_use: |_| false,
        when: "here: tasks run one after the other, so that none disturbs another",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--max-workers-per-gpu"],
        in_use: |_| false,
        when: "on models of a service",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--dump-eval-details",
            "--dump-extract-rate",
            "--response-anomaly",
            "--no-response-anomaly",
            "--response-anomaly-payload-retention",
        ],
        in_use: |_| false,
        when: "in the performance mode",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--merge-ds"],
        in_use: |_| false,
        when: "in the performance mode, in which data sets of one class are one in any case",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--pressure-time"],
        in_use: |args| args.pressure,
        when: "without --pressure",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--custom-dataset-meta-path",
            "--custom-dataset-data-type",
            "--custom-dataset-infer-method",
        ],
        in_use: |args| args.custom_dataset_path.is_some(),
        when: "without --custom-dataset-path",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--custom-dataset-path"],
        in_use: |args| args.datasets.is_none(),
        when: "with --datasets",
        owner: Owner::Peer,
    },
];
