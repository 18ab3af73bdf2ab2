"""Runs vLLM's serving client in Python from an unpacked wheel.

usage: python vllm.py WHEEL FLAG...
WHEEL is the folder into which the wheel vllm 0.33.0 was unpacked; fixtures/SOURCES.md says which
packages its client needs. The flags are those of `vllm bench serve`.
"""

import asyncio
import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # This file has the package's name, and must not be found in its place.
    sys.path.pop(0)
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "record" / "vllm"))
    vllm_client = importlib.import_module("vllm_client")
    serve = vllm_client.load(sys.argv[1])
    parser = vllm_client.parser("vllm.benchmarks.serve", "vllm bench serve")
    asyncio.run(serve.main_async(parser.parse_args(sys.argv[2:])))
