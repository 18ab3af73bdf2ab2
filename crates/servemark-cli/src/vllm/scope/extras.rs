//! When flags of vLLM's Rust client, and flags beside them, have an effect.

use servemark_plan::Layout;

use super::{InUse, draws_from, files, is_swept};
use crate::argparse::{Owner, Scope};
use crate::vllm::token_ids;

pub(super) const SCOPES: &[Scope<InUse>] = &[
    Scope {
        flags: &[
            "--random-prefix-len",
            "--random-range-ratio",
            "--random-batch-size",
            "--disable-shuffle",
            "--no-oversample",
        ],
        in_use: |args| !args.extras.multi_turn,
        when: "with --multi-turn",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--style"],
        in_use: |args| {
            let layouts = &args.run.judging.layout;
            let is_shown = layouts.is_empty() || layouts.contains(&Layout::Vllm);
            is_shown || files::are_wanted(&args.output)
        },
        when: "where neither vLLM's table is printed nor its result is kept",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--max-model-len"],
        in_use: |args| !args.extras.multi_turn,
        when: "with --multi-turn, whose prompts grow with their answers",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--prompt-token-ids", "--random-cache-hit-fraction", "--random-cache-ratio"],
        in_use: |args| draws_from(args, &["random"]) && !args.extras.multi_turn,
        when: "beyond --dataset-name random, and with --multi-turn",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--random-batch-size"],
        in_use: |args| !args.extras.prompt_token_ids,
        when: "with --prompt-token-ids",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--random-prefix-len"],
        in_use: |args| !token_ids::is_warm(args),
        when: "with --random-cache-hit-fraction, which says itself how far prompts are alike",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--random-cache-ratio"],
        in_use: token_ids::is_warm,
        when: "without --random-cache-hit-fraction",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--speed-bench-max-input-len"],
        in_use: |args| draws_from(args, &["speed_bench"]),
        when: "beyond --dataset-name speed_bench",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--align-sample"],
        in_use: |args| draws_from(args, &["random", "prefix_repetition"]),
        when: "beyond --dataset-name random and prefix_repetition",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--align-sample"],
        in_use: |args| !args.extras.prompt_token_ids && !args.extras.multi_turn,
        when: "with --prompt-token-ids and with --multi-turn",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--sweep-num-prompts-factor"],
        in_use: |args| args.extras.sweep_max_concurrency.is_some(),
        when: "without --sweep-max-concurrency",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--sweep-summary-percentiles"],
        in_use: |args| is_swept(args),
        when: "without --sweep-max-concurrency or --sweep-request-rate",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--summary-file"],
        in_use: |args| is_swept(args) || args.extras.num_runs > 1,
        when: "for one run",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--steady-state-threshold", "--steady-state-min-window"],
        in_use: |args| !args.extras.no_steady_state,
        when: "with --no-steady-state",
        owner: Owner::Ours,
    },
    Scope {
        flags: &[
            "--multi-turn-num-turns",
            "--multi-turn-min-turns",
            "--multi-turn-max-turns",
            "--multi-turn-concurrency",
            "--multi-turn-delay-ms",
            "--multi-turn-prefix-global-ratio",
            "--multi-turn-prefix-conversation-ratio",
            "--per-turn-input-len",
        ],
        in_use: |args| args.extras.multi_turn,
        when: "without --multi-turn",
        owner: Owner::Ours,
    },
    Scope {
        flags: &[
            "--multi-turn-num-turns",
            "--multi-turn-min-turns",
            "--multi-turn-prefix-global-ratio",
            "--multi-turn-prefix-conversation-ratio",
            "--per-turn-input-len",
        ],
        in_use: |args| draws_from(args, &["random"]),
        when: "beyond --dataset-name random",
        owner: Owner::Ours,
    },
];
