"""Writes an adapter of random weights for the tiny Llama: `tiny_adapter.py FOLDER TOKENIZER_FOLDER`.

The tokenizer is the model's own. Needs numpy and safetensors.
"""

import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file
from tiny_model import HEAD, HEADS, HIDDEN, KV_HEADS, LAYERS

RANK = 8
# What it changes, and how many values that makes of a token's.
TARGETS = {"q_proj": HEADS * HEAD, "v_proj": KV_HEADS * HEAD}

CONFIG = {
    "peft_type": "LORA",
    "task_type": "CAUSAL_LM",
    "base_model_name_or_path": "model",
    "r": RANK,
    "lora_alpha": 2 * RANK,
    "lora_dropout": 0.0,
    "bias": "none",
    "target_modules": list(TARGETS),
}


def weights():
    draw = np.random.default_rng(1)

    def matrix(rows, columns):
        return (0.02 * draw.standard_normal((rows, columns))).astype(np.float32)

    tensors = {}
    for layer in range(LAYERS):
        for target, width in TARGETS.items():
            block = f"base_model.model.model.layers.{layer}.self_attn.{target}."
            tensors[block + "lora_A.weight"] = matrix(RANK, HIDDEN)
            tensors[block + "lora_B.weight"] = matrix(width, RANK)
    return tensors


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG, indent=2))
    save_file(weights(), folder / "adapter_model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
