"""Runs an engine's own benchmark without a server: `offline_peer.py vllm|sglang FILE TOKENS FLAG...`.

Every answer is TOKENS long. FILE is what it came to: how many requests and tokens and in how many
seconds by the benchmark's own result, and of every answer how many tokens its prompt and it had, and
its text. Tokens are the likeliest ones, as vLLM's benchmark has no flag for it.
"""

import json
import pathlib
import sys


def vllm(result, tokens, flags):
    from vllm import LLM
    from vllm.benchmarks.throughput import add_cli_args, main
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    answers, generate = [], LLM.generate

    def greedy(self, prompts, parameters, **more):
        for one in parameters:
            one.temperature = 0.0
        outputs = generate(self, prompts, parameters, **more)
        for output in outputs:
            one = output.outputs[0]
            answers.append((len(output.prompt_token_ids), len(one.token_ids), one.text))
        return outputs

    LLM.generate = greedy
    parser = FlexibleArgumentParser()
    add_cli_args(parser)
    main(parser.parse_args([*flags, "--output-len", tokens, "--output-json", str(result)]))
    told = json.loads(result.read_text())
    return told["num_requests"], told["total_num_tokens"], told["elapsed_time"], answers


def sglang(result, tokens, flags):
    from sglang.benchmark.offline_throughput import cli_main
    from sglang.srt.entrypoints.engine import Engine

    answers, generate = [], Engine.generate

    def kept(self, **asked):
        outputs = generate(self, **asked)
        for output in outputs:
            meta = output["meta_info"]
            answers.append((meta["prompt_tokens"], meta["completion_tokens"], output["text"]))
        return outputs

    Engine.generate = kept
    own = ["--sharegpt-output-len", tokens, "--result-filename", str(result), "--skip-warmup"]
    sys.argv[1:] = [*flags, *own]
    cli_main()
    told = json.loads(result.read_text())
    total = told["total_input_tokens"] + told["total_output_tokens"]
    return told["successful_requests"], total, told["total_latency"], answers


def main(engine, file, tokens, *flags):
    file = pathlib.Path(file)
    own = file.with_suffix(".own.json")
    own.unlink(missing_ok=True)
    run = {"vllm": vllm, "sglang": sglang}[engine]
    requests, total, seconds, answers = run(own, tokens, flags)
    told = {"requests": requests, "tokens": total, "seconds": seconds, "answers": answers}
    file.write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
