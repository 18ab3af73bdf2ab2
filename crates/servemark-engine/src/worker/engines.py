"""The engines that Servemark's worker drives.

Each class is constructed from a load order. It describes the engine (`facts`), prepares a call for
requests and converts its outputs (`ready`, `answers`) or answers one request piece by piece
(`stream`), and ends the engine (`shut_down`).
"""

import asyncio
import functools
import json


class Answer:
    """An answer, or a piece of one. The last piece of an answer holds its finish reason."""

    def __init__(self, tokens, text, reason, prompt_tokens, completion_tokens, cached_tokens):
        self.tokens = tokens
        # A lone surrogate cannot be encoded as UTF-8.
        self.text = text.encode("utf-8", "replace").decode("utf-8")
        self.reason = reason or "unknown"
        self.usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
        if cached_tokens is not None:
            self.usage["cached_tokens"] = cached_tokens


def facts(name, version, weights, device, dtype, policy, context=None):
    return {
        "name": name,
        "version": str(version),
        "weights": "dummy" if str(weights) == "dummy" else "real",
        "device": str(device),
        "dtype": str(dtype).removeprefix("torch."),
        "batch_policy": ", ".join(f"{key} {value}" for key, value in policy.items()),
        "context_tokens": context,
        "load_ns": 0,
    }


def dig(thing, path, default=None):
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return default if thing is None else thing


class Sglang:
    def __init__(self, order):
        import sglang

        self.version = sglang.__version__
        self.streaming = order["streaming"]
        self.call = order["call"]
        arguments = dict(order["args"])
        if order["argv"]:
            arguments["server_args"] = self.server_args(order["argv"])
        self.engine = sglang.Engine(**arguments)
        self.loop = self.engine.loop
        self.settings = self.engine.get_server_info()
        self.incremental = bool(self.settings.get("incremental_streaming_output"))

    @staticmethod
    def server_args(argv):
        from sglang.srt.server_args import ServerArgs

        return ServerArgs.from_cli_args(Sglang.parsed(argv))

    @staticmethod
    def parsed(argv):
        import argparse

        from sglang.srt.server_args import ServerArgs

        parser = argparse.ArgumentParser(prog="sglang")
        ServerArgs.add_cli_args(parser)
        return parser.parse_args(argv)

    def facts(self):
        settings = self.settings
        names = ["schedule_policy", "max_running_requests", "chunked_prefill_size"]
        policy = {name: settings[name] for name in names if settings.get(name) is not None}
        return facts(
            "sglang",
            self.version,
            settings.get("load_format"),
            settings.get("device"),
            settings.get("dtype"),
            {"continuous batching": "on", **policy},
        )

    @staticmethod
    def sampling(request):
        sampling = request["sampling"]
        return {
            "temperature": sampling["temperature"],
            "max_new_tokens": request["output_tokens"],
            "ignore_eos": sampling["ignore_eos"],
            **sampling.get("extra", {}),
        }

    def ready(self, requests):
        prompts = [request["prompt"] for request in requests]
        if all("ids" in prompt for prompt in prompts):
            given = {"input_ids": [prompt["ids"] for prompt in prompts]}
        else:
            given = {"prompt": [prompt["text"] for prompt in prompts]}
        given["sampling_params"] = [self.sampling(request) for request in requests]
        return functools.partial(self.engine.generate, **given, **self.call)

    def answers(self, outputs):
        return [self.answer(output, 0, 0) for output in outputs]

    async def stream(self, request):
        prompt = request["prompt"]
        given = {"input_ids": prompt["ids"]} if "ids" in prompt else {"prompt": prompt["text"]}
        outputs = await self.engine.async_generate(
            **given, sampling_params=self.sampling(request), stream=True, **self.call
        )
        tokens = letters = 0
        async for output in outputs:
            yield self.answer(output, tokens, letters)
            tokens = output["meta_info"]["completion_tokens"]
            letters = 0 if self.incremental else len(output["text"])

    @staticmethod
    def answer(output, tokens, letters):
        meta = output["meta_info"]
        reason = meta.get("finish_reason") or {}
        return Answer(
            meta["completion_tokens"] - tokens,
            output.get("text", "")[letters:],
            reason.get("type"),
            meta["prompt_tokens"],
            meta["completion_tokens"],
            meta.get("cached_tokens"),
        )

    def info(self):
        return self.engine.get_server_info()

    def start_profile(self, **arguments):
        self.engine.start_profile(**arguments)

    def stop_profile(self):
        self.engine.stop_profile()

    @staticmethod
    def is_dead(error):
        """Always false: when one of its processes dies, SGLang kills this one as well."""
        return False

    def shut_down(self):
        self.engine.shutdown()


class SglangRuntime(Sglang):
    """SGLang's server, started and called through SGLang's own class `Runtime`."""

    def __init__(self, order):
        import sglang

        self.version = sglang.__version__
        self.streaming = False
        self.call = order["call"]
        arguments = {**self.settings_of(order["argv"]), **order["args"]}
        self.engine = sglang.Runtime(**arguments)
        self.settings = self.info()

    @staticmethod
    def settings_of(argv):
        """Converts a command line to arguments of the server's constructor."""
        if not argv:
            return {}
        known = Sglang.server_args(argv)
        parsed = vars(Sglang.parsed(argv))
        return {name: value for name, value in parsed.items() if hasattr(known, name)}

    def ready(self, requests):
        if any("ids" in request["prompt"] for request in requests):
            raise ValueError("sglang.Runtime takes texts, and no token ids")
        return super().ready(requests)

    def answers(self, outputs):
        outputs = json.loads(outputs)
        if isinstance(outputs, dict):
            raise RuntimeError(json.dumps(outputs))
        return super().answers(outputs)

    def info(self):
        return self.engine.endpoint.get_server_info()


class Beams:
    """The result of a beam search in the form of other outputs, without the prompt in each beam."""

    def __init__(self, prompt, output):
        self.prompt_token_ids = prompt["prompt_token_ids"]
        self.outputs = [Beam(beam, len(self.prompt_token_ids)) for beam in output.sequences]


class Beam:
    def __init__(self, beam, prompt_tokens):
        self.token_ids = beam.tokens[prompt_tokens:]
        self.text = beam.text or ""
        self.finish_reason = beam.finish_reason or "length"


class Vllm:
    def __init__(self, order):
        import vllm

        self.version = vllm.__version__
        self.streaming = order["streaming"]
        self.call = order["call"]
        self.detokenize = self.call.pop("detokenize", True)
        self.prequeue = self.call.pop("prequeue", False)
        self.beams = self.call.pop("beam_width", None)
        self.adapter_path = self.resolved(self.call.pop("lora_path", None))
        if self.streaming:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM

            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            self.engine = AsyncLLM.from_engine_args(self.engine_args(AsyncEngineArgs, order))
            self.config = self.engine.vllm_config
        else:
            from vllm import LLM
            from vllm.engine.arg_utils import EngineArgs

            self.engine = LLM.from_engine_args(self.engine_args(EngineArgs, order))
            self.config = self.engine.llm_engine.vllm_config

    @staticmethod
    def resolved(adapter):
        """Returns the path of an adapter's files. This may ask a hub, so it is done only once."""
        if adapter is None:
            return None
        from vllm.lora.utils import get_adapter_absolute_path

        return get_adapter_absolute_path(adapter)

    @staticmethod
    def engine_args(of, order):
        if not order["argv"]:
            return of(**order["args"])
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        # vLLM's benchmarks accept the flags of its asynchronous engine for either engine.
        parser = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser(prog="vllm"))
        given = of.from_cli_args(parser.parse_args(order["argv"]))
        for name, value in order["args"].items():
            setattr(given, name, value)
        return given

    def facts(self):
        config = self.config
        names = ["max_num_seqs", "max_num_batched_tokens"]
        policy = {name: dig(config, f"scheduler_config.{name}", "?") for name in names}
        return facts(
            "vllm",
            self.version,
            dig(config, "load_config.load_format"),
            dig(config, "device_config.device_type", "unknown"),
            dig(config, "model_config.dtype", "unknown"),
            {"continuous batching": "on", **policy},
            dig(config, "model_config.max_model_len"),
        )

    def sampling(self, request, **more):
        from vllm import SamplingParams

        sampling = request["sampling"]
        parameters = {
            "temperature": sampling["temperature"],
            "max_tokens": request["output_tokens"],
            "ignore_eos": sampling["ignore_eos"],
            "detokenize": self.detokenize,
            **sampling.get("extra", {}),
        }
        return SamplingParams(**parameters, **more)

    @staticmethod
    def prompt(request):
        prompt = request["prompt"]
        if "ids" in prompt:
            return {"prompt_token_ids": prompt["ids"]}
        return prompt["chat"] if "chat" in prompt else {"prompt": prompt["text"]}

    def adapter(self, request):
        """Returns the requested adapter. Its name is a number; all are loaded from one path."""
        name = request.get("adapter")
        if name is None:
            return None
        from vllm.lora.request import LoRARequest

        return LoRARequest(lora_name=name, lora_int_id=int(name), lora_path=self.adapter_path)

    def ready(self, requests):
        prompts = [self.prompt(request) for request in requests]
        if self.beams:
            return functools.partial(self.search, prompts, requests[0])
        parameters = [self.sampling(request) for request in requests]
        given = {"use_tqdm": False, **self.call}
        adapters = [self.adapter(request) for request in requests]
        if any(adapters):
            given["lora_request"] = adapters
        call = functools.partial(self.way_in(requests[0]), prompts, parameters, **given)
        if not self.prequeue:
            return call
        self.engine.sleep(level=0, mode="abort")
        return functools.partial(self.queue, call)

    def way_in(self, request):
        """Returns the engine's method for prompts of this kind."""
        is_chat = "chat" in request["prompt"]
        if self.prequeue:
            return self.engine.enqueue_chat if is_chat else self.engine.enqueue
        return self.engine.chat if is_chat else self.engine.generate

    def queue(self, enqueue):
        """Enqueues all requests and only then lets the engine schedule them."""
        try:
            enqueue()
        finally:
            self.engine.wake_up(tags=["scheduling"])
        return self.engine.wait_for_completion(use_tqdm=False)

    def search(self, prompts, request):
        """Runs a beam search. The beams have the same length for all prompts."""
        from vllm.sampling_params import BeamSearchParams

        parameters = BeamSearchParams(
            beam_width=self.beams,
            max_tokens=request["output_tokens"],
            ignore_eos=request["sampling"]["ignore_eos"],
        )
        found = self.engine.beam_search(prompts, parameters)
        return [Beams(prompt, output) for prompt, output in zip(prompts, found)]

    def answers(self, outputs):
        return [self.answer(output, 0) for output in outputs]

    async def stream(self, request):
        from vllm.sampling_params import RequestOutputKind

        parameters = self.sampling(request, output_kind=RequestOutputKind.DELTA)
        given = {"request_id": f"servemark-{request['id']}", **self.call}
        if adapter := self.adapter(request):
            given["lora_request"] = adapter
        before = 0
        async for output in self.engine.generate(self.prompt(request), parameters, **given):
            answer = self.answer(output, before)
            before = answer.usage["completion_tokens"]
            yield answer

    @staticmethod
    def answer(output, before):
        tokens = sum(len(one.token_ids) for one in output.outputs)
        return Answer(
            tokens,
            "".join(one.text for one in output.outputs),
            output.outputs[0].finish_reason,
            len(output.prompt_token_ids or []),
            before + tokens,
            getattr(output, "num_cached_tokens", None),
        )

    def info(self):
        return {"version": self.version, "config": str(self.config)}

    def start_profile(self, **arguments):
        self.turn(self.engine.start_profile(**arguments))

    def stop_profile(self):
        self.turn(self.engine.stop_profile())

    def turn(self, done):
        if self.streaming:
            self.loop.run_until_complete(done)

    @staticmethod
    def is_dead(error):
        return type(error).__name__ == "EngineDeadError"

    def shut_down(self):
        core = dig(self.engine, "llm_engine.engine_core")
        (self.engine if self.streaming else core).shutdown()


class Transformers:
    """A model of Transformers that generates in batches, as in vLLM's benchmark."""

    def __init__(self, order):
        import torch
        import transformers

        self.version = transformers.__version__
        self.streaming = False
        self.call, given = order["call"], order["args"]
        more = {"trust_remote_code": given["trust_remote_code"]}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(given["tokenizer"], **more)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            given["model"], dtype=given["dtype"], **more
        )
        if model.config.model_type == "llama":
            # Llama's tokenizer has no padding token.
            self.tokenizer.pad_token = self.tokenizer.eos_token
        # A PyTorch built for an accelerator names it even on a machine that has none.
        has_accelerator = torch.accelerator.is_available()
        self.device = torch.accelerator.current_accelerator() if has_accelerator else "cpu"
        self.model = model.to(self.device)
        if given["torch_compile"]:
            self.model = torch.compile(self.model)
        ends = dig(self.model, "generation_config.eos_token_id", [])
        self.ends = frozenset(ends if isinstance(ends, list) else [ends])

    def facts(self):
        return facts(
            "transformers",
            self.version,
            "auto",
            self.device,
            dig(self.model, "dtype", "unknown"),
            {"batches of at most": self.call["max_batch_size"]},
        )

    def ready(self, requests):
        groups = list(batches(requests, self.call["max_batch_size"]))
        return lambda: [self.generate(group) for group in groups]

    def generate(self, requests):
        """Returns the padded tokens of the prompts, and the same rows followed by the outputs."""
        texts = [request["prompt"]["text"] for request in requests]
        asked = self.tokenizer(texts, return_tensors="pt", padding=True)
        sampling = requests[0]["sampling"]
        made = self.model.generate(
            input_ids=asked.input_ids.to(self.device),
            do_sample=True,
            num_return_sequences=sampling["extra"]["n"],
            temperature=sampling["temperature"],
            top_p=sampling["extra"]["top_p"],
            use_cache=True,
            max_new_tokens=max(request["output_tokens"] for request in requests),
        )
        if self.call["detokenize"]:
            self.texts(made)
        return asked, made

    def texts(self, tokens):
        return self.tokenizer.batch_decode(tokens, skip_special_tokens=True)

    def answers(self, outputs):
        return [answer for asked, made in outputs for answer in self.told(asked, made)]

    def told(self, asked, made):
        """Yields an answer for each prompt of a batch; its `n` outputs are consecutive rows."""
        width = len(asked.input_ids[0])
        rows = [self.until_end(row[width:]) for row in made.tolist()]
        n = len(rows) // len(asked.input_ids)
        for place, mask in enumerate(asked.attention_mask.tolist()):
            outputs = rows[place * n : (place + 1) * n]
            tokens = sum(map(len, outputs))
            text = "".join(self.texts(outputs)) if self.call["detokenize"] else ""
            reason = "stop" if outputs[0][-1] in self.ends else "length"
            yield Answer(tokens, text, reason, sum(mask), tokens, None)

    def until_end(self, tokens):
        """Returns the tokens up to and including the first end token; padding may follow it."""
        ends = (place for place, token in enumerate(tokens) if token in self.ends)
        return tokens[: next(ends, len(tokens)) + 1]

    def info(self):
        return {"version": self.version, "config": str(self.model.config)}

    @staticmethod
    def is_dead(error):
        """Always false: the model runs in this process."""
        return False

    def shut_down(self):
        pass


def batches(requests, most):
    """Yields consecutive requests in batches like those of vLLM's benchmark: at most `most`
    requests, and at most 2048 tokens in the longest prompt and the longest output together."""
    batch, prompt, output = [], 0, 0
    for request in requests:
        longest = max(prompt, request["prompt_tokens"]), max(output, request["output_tokens"])
        if batch and (len(batch) >= most or sum(longest) > 2048):
            yield batch
            batch, longest = [], (request["prompt_tokens"], request["output_tokens"])
        batch.append(request)
        prompt, output = longest
    yield batch


ENGINES = {
    "sglang": Sglang,
    "sglang_runtime": SglangRuntime,
    "transformers": Transformers,
    "vllm": Vllm,
}
