//! Flags whose value would change nothing.
//!
//! vLLM accepts flags of data sets and routes that are not in use, and so do we, with a warning. One
//! of our own flags without effect is a mistake and is refused.

mod extras;

use servemark_backends::VllmDialect;

use super::args::VllmArgs;
use super::files;
use super::load::is_self_timed;
use super::wire::dialect;
use crate::address::is_encrypted;
use crate::argparse::{Given, Owner, Scope, check_scopes};
use crate::error::CliError;
use crate::own;

/// Refuses our own flags without effect, and warns of the peer's.
pub(super) fn check(
    args: &VllmArgs,
    given: &Given,
    warnings: &mut Vec<String>,
) -> Result<(), CliError> {
    own::check(given)?;
    for scopes in [SCOPES, extras::SCOPES] {
        check_scopes(scopes, given, |in_use| in_use(args), warnings)?;
    }
    if args.target.skip_tokenizer_init && draws_from(args, &["custom"]) && generates(args) {
        warnings.push(ONE_TOKEN.to_owned());
    }
    Ok(())
}

const ONE_TOKEN: &str = "--skip-tokenizer-init: every request asks for one token of output, \
                         whatever is said of lengths, as vLLM's client has it";

fn draws_from(args: &VllmArgs, names: &[&str]) -> bool {
    names.contains(&args.dataset.dataset_name.as_str())
}

fn is_swept(args: &VllmArgs) -> bool {
    args.extras.sweep_max_concurrency.is_some() || args.extras.sweep_request_rate.is_some()
}

fn generates(args: &VllmArgs) -> bool {
    dialect(args).is_ok_and(VllmDialect::generates)
}

type InUse = fn(&VllmArgs) -> bool;

const SCOPES: &[Scope<InUse>] = &[
    Scope {
        flags: &["--server-times"],
        in_use: generates,
        when: "on routes that generate nothing",
        owner: Owner::Ours,
    },
    Scope {
        flags: &["--input-len"],
        in_use: |args| draws_from(args, &["random", "random-mm", "random-rerank"]),
        when: "beyond --dataset-name random, random-mm and random-rerank",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--output-len"],
        in_use: |args| {
            !draws_from(args, &["burstgpt", "random-rerank", "speed_bench", "timed_trace"])
        },
        when: "with this data set, which says itself how long outputs are",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--random-input-len", "--random-range-ratio"],
        in_use: |args| draws_from(args, &["random", "random-mm", "random-rerank"]),
        when: "beyond --dataset-name random, random-mm and random-rerank",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--random-input-len"],
        in_use: |args| args.dataset.input_len.is_none(),
        when: "with --input-len",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--random-output-len", "--random-prefix-len"],
        in_use: |args| draws_from(args, &["random", "random-mm"]),
        when: "beyond --dataset-name random and random-mm",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--random-output-len",
            "--sharegpt-output-len",
            "--custom-output-len",
            "--spec-bench-output-len",
            "--prefix-repetition-output-len",
        ],
        in_use: |args| args.dataset.output_len.is_none(),
        when: "with --output-len",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--random-batch-size"],
        in_use: |args| draws_from(args, &["random", "random-rerank"]),
        when: "beyond --dataset-name random and random-rerank",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--no-reranker"],
        in_use: |args| draws_from(args, &["random-rerank"]),
        when: "beyond --dataset-name random-rerank",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--prefix-repetition-prefix-len",
            "--prefix-repetition-suffix-len",
            "--prefix-repetition-num-prefixes",
            "--prefix-repetition-output-len",
        ],
        in_use: |args| draws_from(args, &["prefix_repetition"]),
        when: "beyond --dataset-name prefix_repetition",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--custom-output-len"],
        in_use: |args| draws_from(args, &["custom", "custom_image", "custom_audio"]),
        when: "beyond --dataset-name custom, custom_image and custom_audio",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--sharegpt-output-len"],
        in_use: |args| draws_from(args, &["sharegpt"]),
        when: "beyond --dataset-name sharegpt",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--spec-bench-output-len", "--spec-bench-category"],
        in_use: |args| draws_from(args, &["spec_bench"]),
        when: "beyond --dataset-name spec_bench",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--speed-bench-dataset-subset",
            "--speed-bench-output-len",
            "--speed-bench-category",
        ],
        in_use: |args| draws_from(args, &["speed_bench"]),
        when: "beyond --dataset-name speed_bench",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--timed-trace-chunk-hash-size",
            "--timed-trace-sec-multiplier",
            "--timed-trace-label-timestamp",
            "--timed-trace-label-input-length",
            "--timed-trace-label-output-length",
            "--timed-trace-label-hash-ids",
        ],
        in_use: |args| draws_from(args, &["timed_trace"]),
        when: "beyond --dataset-name timed_trace",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--random-mm-base-items-per-request",
            "--random-mm-bucket-config",
            "--random-mm-limit-mm-per-prompt",
            "--random-mm-num-mm-items-range-ratio",
        ],
        in_use: |args| draws_from(args, &["random-mm"]),
        when: "beyond --dataset-name random-mm",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--custom-ensure-client-side-data"],
        in_use: |args| draws_from(args, &["custom_image"]),
        when: "beyond --dataset-name custom_image",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--asr-max-audio-len-sec",
            "--asr-min-audio-len-sec",
            "--bfcl-categories",
            "--blazedit-max-distance",
            "--blazedit-min-distance",
            "--hf-name",
            "--hf-output-len",
            "--hf-split",
            "--hf-subset",
            "--no-stream",
        ],
        in_use: |args| draws_from(args, &["hf"]),
        when: "beyond --dataset-name hf",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--enable-multimodal-chat"],
        in_use: |args| draws_from(args, &SHOWING),
        when: "with this data set, which shows nothing",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--chat-template-kwargs", "--tokenizer", "--tokenizer-mode"],
        in_use: |args| !args.target.skip_tokenizer_init,
        when: "with --skip-tokenizer-init",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--chat-template-kwargs"],
        in_use: |args| draws_from(args, &["custom", "speed_bench"]),
        when: "beyond --dataset-name custom and speed_bench",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--skip-chat-template"],
        in_use: |args| draws_from(args, &["custom", "speed_bench", "hf"]),
        when: "beyond --dataset-name custom, speed_bench and hf",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--request-rate", "--burstiness", "--ramp-up-strategy"],
        in_use: |args| !is_self_timed(args),
        when: "where the trace says when its requests are sent; see --no-self-timed",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--ramp-up-start-rps", "--ramp-up-end-rps"],
        in_use: |args| args.load.ramp_up_strategy.is_some(),
        when: "without --ramp-up-strategy",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--burstiness"],
        in_use: |args| args.load.request_rate.is_finite() || args.load.ramp_up_strategy.is_some(),
        when: "without a --request-rate: everything is sent at once",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--lora-assignment"],
        in_use: |args| args.load.lora_modules.is_some(),
        when: "without --lora-modules",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--use-beam-search"],
        in_use: |_| false,
        when: "here as with vLLM, whose client never reads it",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--logprobs"],
        in_use: |args| ["vllm", "openai"].contains(&args.target.backend.as_str()),
        when: "beyond --backend vllm and openai",
        owner: Owner::Peer,
    },
    Scope {
        flags: &[
            "--top-p",
            "--top-k",
            "--min-p",
            "--temperature",
            "--frequency-penalty",
            "--presence-penalty",
            "--repetition-penalty",
            "--goodput",
        ],
        in_use: generates,
        when: "on routes that generate nothing",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--ignore-eos", "--extra-body"],
        in_use: |args| args.target.backend != "vllm-rerank",
        when: "with --backend vllm-rerank",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--insecure"],
        in_use: |args| args.target.base_url.as_deref().is_some_and(is_encrypted),
        when: "without an https:// --base-url",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--served-model-name"],
        in_use: |args| args.target.model.is_some() || args.simulator.simulate.is_some(),
        when: "without --model: the first that the server lists is asked for",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--host", "--port"],
        in_use: |args| args.target.base_url.is_none(),
        when: "with --base-url",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--save-detailed"],
        in_use: |args| args.output.save_result || args.output.append_result,
        when: "without --save-result or --append-result",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--result-dir", "--result-filename"],
        in_use: |args| files::are_wanted(&args.output),
        when: "without --save-result, --append-result or --plot-timeline",
        owner: Owner::Peer,
    },
    Scope {
        flags: &["--timeline-itl-thresholds"],
        in_use: |args| args.output.plot_timeline,
        when: "without --plot-timeline",
        owner: Owner::Peer,
    },
];

/// Data sets whose prompts may be messages.
const SHOWING: [&str; 5] = ["custom_audio", "custom_image", "hf", "random-mm", "sharegpt"];
