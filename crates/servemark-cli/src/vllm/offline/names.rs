//! The flags of both commands, by whose they are.

/// The flags of vLLM 0.33.0's `bench throughput` in their order, without the engine's.
pub(super) const THROUGHPUT: [&str; 41] = [
    "--help",
    "--backend",
    "--dataset-name",
    "--dataset-path",
    "--no-oversample",
    "--enable-multimodal-chat",
    "--custom-output-len",
    "--input-len",
    "--output-len",
    "--n",
    "--num-prompts",
    "--num-warmups",
    "--hf-max-batch-size",
    "--hf-enable-torch-compile",
    "--output-json",
    "--async-engine",
    "--prequeue-requests",
    "--disable-detokenize",
    "--lora-path",
    "--lora-assignment",
    "--prefix-len",
    "--hf-subset",
    "--hf-split",
    "--hf-name",
    "--profile",
    "--prefix-repetition-prefix-len",
    "--prefix-repetition-suffix-len",
    "--prefix-repetition-num-prefixes",
    "--prefix-repetition-output-len",
    "--random-input-len",
    "--random-output-len",
    "--random-range-ratio",
    "--random-prefix-len",
    "--random-batch-size",
    "--no-reranker",
    "--random-mm-base-items-per-request",
    "--random-mm-num-mm-items-range-ratio",
    "--random-mm-limit-mm-per-prompt",
    "--random-mm-bucket-config",
    "--asr-min-audio-len-sec",
    "--asr-max-audio-len-sec",
];

/// Those that `bench serve` has under the same name with the same meaning, and the engine's
/// arguments that say who is asked and with which tokenizer prompts are made.
pub(super) const THROUGHPUT_SHARED: [&str; 31] = [
    "--asr-max-audio-len-sec",
    "--asr-min-audio-len-sec",
    "--custom-output-len",
    "--dataset-path",
    "--enable-multimodal-chat",
    "--hf-name",
    "--hf-split",
    "--hf-subset",
    "--model",
    "--no-oversample",
    "--no-reranker",
    "--num-prompts",
    "--prefix-repetition-num-prefixes",
    "--prefix-repetition-output-len",
    "--prefix-repetition-prefix-len",
    "--prefix-repetition-suffix-len",
    "--profile",
    "--random-batch-size",
    "--random-input-len",
    "--random-mm-base-items-per-request",
    "--random-mm-bucket-config",
    "--random-mm-limit-mm-per-prompt",
    "--random-mm-num-mm-items-range-ratio",
    "--random-output-len",
    "--random-prefix-len",
    "--random-range-ratio",
    "--seed",
    "--served-model-name",
    "--tokenizer",
    "--tokenizer-mode",
    "--trust-remote-code",
];

/// Flags that have a default in `bench serve` and none here.
pub(super) const THROUGHPUT_UNSET: [&str; 5] = [
    "custom-output-len",
    "prefix-repetition-num-prefixes",
    "prefix-repetition-output-len",
    "prefix-repetition-prefix-len",
    "prefix-repetition-suffix-len",
];

/// The flags of vLLM 0.33.0's `bench latency` in their order, without the engine's.
pub(super) const LATENCY: [&str; 11] = [
    "--help",
    "--input-len",
    "--output-len",
    "--batch-size",
    "--n",
    "--use-beam-search",
    "--num-iters-warmup",
    "--num-iters",
    "--profile",
    "--output-json",
    "--disable-detokenize",
];

/// The engine's arguments that say which model is asked.
pub(super) const LATENCY_SHARED: [&str; 2] = ["--model", "--served-model-name"];
