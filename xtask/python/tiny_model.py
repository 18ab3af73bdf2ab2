"""Writes a tiny Llama with random weights: `tiny_model.py FOLDER TOKENIZER_FOLDER`.

Any engine that loads Hugging Face folders serves it on a CPU. It says nothing of sense, which is
no matter: the checks count tokens and read clocks. Nothing is downloaded, and the seed is fixed,
so every machine writes the same model. Needs numpy and safetensors.
"""

import json
import pathlib
import shutil
import sys

import numpy as np
from safetensors.numpy import save_file

HIDDEN, LAYERS, HEADS, KV_HEADS, INNER, VOCAB = 256, 4, 4, 2, 688, 50257
HEAD = HIDDEN // HEADS  # 64: vLLM's attention on a CPU takes only some sizes
END_OF_TEXT = 50256

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "vocab_size": VOCAB,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "bos_token_id": END_OF_TEXT,
    "eos_token_id": END_OF_TEXT,
    "torch_dtype": "float32",
}

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def weights():
    """Every tensor by its name: matrices are normal with a small deviation, norms are one."""
    draw = np.random.default_rng(0)

    def matrix(rows, columns):
        return (0.02 * draw.standard_normal((rows, columns))).astype(np.float32)

    norm = np.ones(HIDDEN, np.float32)
    tensors = {"model.embed_tokens.weight": matrix(VOCAB, HIDDEN), "model.norm.weight": norm}
    for layer in range(LAYERS):
        block = f"model.layers.{layer}."
        tensors |= {
            block + "input_layernorm.weight": norm.copy(),
            block + "post_attention_layernorm.weight": norm.copy(),
            block + "self_attn.q_proj.weight": matrix(HEADS * HEAD, HIDDEN),
            block + "self_attn.k_proj.weight": matrix(KV_HEADS * HEAD, HIDDEN),
            block + "self_attn.v_proj.weight": matrix(KV_HEADS * HEAD, HIDDEN),
            block + "self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD),
            block + "mlp.gate_proj.weight": matrix(INNER, HIDDEN),
            block + "mlp.up_proj.weight": matrix(INNER, HIDDEN),
            block + "mlp.down_proj.weight": matrix(HIDDEN, INNER),
        }
    return tensors


def main(folder, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(tokenizer / "tokenizer.json", folder)
    settings = json.loads((tokenizer / "tokenizer_config.json").read_text())
    settings["chat_template"] = CHAT_TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2))
    save_file(weights(), folder / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:3]))
