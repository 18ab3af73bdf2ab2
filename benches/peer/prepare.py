"""Prepares a data set with SGLang's own client, and prints what that cost.

usage: python prepare.py WHEEL FLAG...
WHEEL is the folder into which the wheel sglang 0.5.23 was unpacked; fixtures/SOURCES.md says which
packages it needs. The last line printed is JSON: requests, draw_s, bodies_s, peak_mib.
"""

import asyncio
import json
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
sys.path.insert(0, str(FIXTURES / "record"))

import client
import images


async def mooncake_requests(rows, tokenizer, args):
    """Returns the requests of a trace, which the client makes while it sends them."""
    from sglang.benchmark.datasets.mooncake import get_mooncake_request_over_time

    slowdown, rounds = args.mooncake_slowdown_factor, args.mooncake_num_rounds
    requests = get_mooncake_request_over_time(rows, tokenizer, slowdown, rounds)
    return [request async for request in requests]


def main():
    with tempfile.TemporaryDirectory() as home:
        # Nothing may come from a cache of an earlier run.
        os.environ["HOME"] = home
        serving = client.load(sys.argv[1])
        import numpy

        args = client.parse(serving, sys.argv[2:])
        serving.set_global_args(args)
        random.seed(args.seed)
        numpy.random.seed(args.seed)
        if args.dataset_name == "image":
            # transformers' processor, without the deep-learning framework that it else insists on.
            processor = images.processor_at("qwen2-vl", FIXTURES)
            sys.modules["sglang.benchmark.datasets.image"].get_processor = lambda _: processor
        tokenizer = serving.get_tokenizer(args.tokenizer)
        begun = time.perf_counter()
        rows = serving.get_dataset(args, tokenizer, args.model)
        if args.dataset_name == "mooncake":
            rows = asyncio.run(mooncake_requests(rows, tokenizer, args))
        draw_s = time.perf_counter() - begun
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print()
    print(
        json.dumps(
            {"requests": len(rows), "draw_s": draw_s, "bodies_s": None, "peak_mib": peak_mib}
        )
    )


main()
