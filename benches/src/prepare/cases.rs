//! Cases of the preparation study.

use super::Inputs;

/// A data set to prepare.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name in the table.
    pub name: &'static str,
    /// Command line for both clients. None of its values contains a space.
    pub argv: fn(&Inputs) -> anyhow::Result<String>,
}

/// All cases, in the order of the table.
pub const CASES: &[Case] = &[
    Case {
        name: "1,000,000 random-ids prompts of 16 tokens, as text",
        argv: |inputs| Ok(random_ids(inputs)),
    },
    Case {
        name: "1,000,000 random-ids prompts of 16 tokens, as ids",
        argv: |inputs| Ok(random_ids(inputs) + " --tokenize-prompt"),
    },
    Case {
        name: "10,000 prompts of a ShareGPT file of 500 MB",
        argv: |inputs| {
            let path = inputs.sharegpt(500_000_000)?;
            let prompts = inputs.scaled(10_000);
            Ok(format!("{QWEN} --dataset-path {} --num-prompts {prompts}", path.display()))
        },
    },
    Case {
        name: "20,000 rows of a Mooncake trace, 12,000 tokens each",
        argv: |inputs| {
            let rows = inputs.scaled(20_000);
            let path = inputs.mooncake(rows)?;
            // SGLang's client makes these prompts while it sends them; with a slowdown of zero it
            // never waits.
            let trace = "--dataset-name mooncake --mooncake-slowdown-factor 0 --dataset-path";
            Ok(format!("{QWEN} {trace} {} --num-prompts {rows}", path.display()))
        },
    },
    Case {
        name: "1,024 shared-prefix prompts of 64 groups",
        argv: |inputs| {
            let prompts = inputs.scaled(16);
            let gsp = "--dataset-name generated-shared-prefix --gsp-prompts-per-group";
            Ok(format!("{QWEN} {gsp} {prompts}"))
        },
    },
    Case {
        name: "2,000 requests with a picture of 512x512",
        argv: |inputs| pictures(inputs, 2_000, "--image-resolution 512x512"),
    },
    Case {
        name: "10,000 requests with three pictures of 1080p",
        argv: |inputs| pictures(inputs, 10_000, "--image-count 3"),
    },
];

fn pictures(inputs: &Inputs, prompts: usize, how: &str) -> anyhow::Result<String> {
    let (model, prompts) = (inputs.vision_model()?, inputs.scaled(prompts));
    let lengths = "--random-input-len 128 --random-output-len 16";
    let image = format!("--dataset-name image --num-prompts {prompts} {how} {lengths}");
    Ok(format!("--backend sglang-oai-chat --tokenizer {} {image}", model.display()))
}

fn random_ids(inputs: &Inputs) -> String {
    let lengths = "--random-input-len 16 --random-output-len 16 --random-range-ratio 1.0";
    let prompts = inputs.scaled(1_000_000);
    format!("{QWEN} --dataset-name random-ids --num-prompts {prompts} {lengths}")
}

const QWEN: &str =
    concat!("--tokenizer ", env!("CARGO_MANIFEST_DIR"), "/../fixtures/tokenizers/qwen2.5");
