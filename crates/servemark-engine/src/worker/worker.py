"""Drives an offline engine for Servemark: JSON lines in, JSON lines out.

Run without arguments this is the supervisor, which knows no engine. It starts itself again as the
worker, adopts every process that the engine leaves behind, and kills all of them when the worker
has ended, when it is told to end, and when the other end of its standard input is gone. Its last
word says how the worker ended.

Every time is a reading of CLOCK_MONOTONIC in nanoseconds.
"""

import asyncio
import contextlib
import ctypes
import functools
import json
import multiprocessing.connection
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


# The supervisor.


def supervise():
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    bell, ringer = os.pipe()
    os.set_blocking(bell, False)
    os.set_blocking(ringer, False)
    signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)
    told_to_end = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
    worker = subprocess.Popen([sys.executable, os.path.abspath(__file__), "work"])
    status = watch(worker.pid, bell, told_to_end)
    status = kill_all(worker.pid, status)
    # The other end removes this folder too, if it is still there.
    shutil.rmtree(os.path.dirname(os.path.abspath(__file__)), ignore_errors=True)
    with contextlib.suppress(OSError):
        os.write(1, (json.dumps({"op": "ended", **how(status)}) + "\n").encode())


def watch(worker, bell, told_to_end):
    """Waits for the worker's end, and says how it was; None if something else came first."""
    poll = select.poll()
    # Without any event asked for, a pipe still tells that its other end is gone.
    poll.register(0, 0)
    poll.register(bell, select.POLLIN)
    while not told_to_end:
        rung = dict(poll.poll())
        if 0 in rung:
            return None
        with contextlib.suppress(BlockingIOError):
            os.read(bell, 4096)
        status = reap(worker)
        if status is not None:
            return status
    return None


def reap(worker):
    """Buries all children that have ended; says how the worker did, if it is one of them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                break
            if child == worker:
                found = status
    return found


def kill_all(worker, status):
    """Kills whatever is left. Whoever loses a parent becomes a child of this process."""
    began = time.monotonic()
    while time.monotonic() < began + 8:
        left = descendants(os.getpid())
        if not left:
            break
        is_early = time.monotonic() < began + 2
        for child in left:
            if is_early and is_cleaner(child):
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
        ended = reap(worker)
        # One that had to be killed did not end by itself.
        status = status if ended is None else status
    return status


def is_cleaner(process):
    """Whether it is Python's own, which removes the shared memory of those that cannot any more,
    and ends when it is the last."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return b"multiprocessing.resource_tracker" in file.read()
    return False


def descendants(root):
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rsplit(b")", 1)[1].split()[1])
    found, generation = [], {root}
    while generation:
        generation = {child for child, parent in parents.items() if parent in generation}
        found += generation
    return found


def how(status):
    if status is None:
        return {"code": None, "signal": None}
    code = os.waitstatus_to_exitcode(status)
    return {"code": None, "signal": -code} if code < 0 else {"code": code, "signal": None}


# The worker.


class Voice:
    """Says JSON lines on a pipe that nobody else in this process or its children has."""

    def __init__(self, file):
        self.file = file
        self.lock = threading.Lock()
        self.pieces = []

    def say(self, op, **what):
        line = json.dumps({"op": op, **what}).encode() + b"\n"
        with self.lock:
            self.file.write(line)
            self.file.flush()

    def piece(self, *piece):
        """Pieces that come together are said together, as soon as the loop has a moment."""
        if not self.pieces:
            asyncio.get_running_loop().call_soon(self.flush)
        self.pieces.append(piece)

    def flush(self):
        pieces, self.pieces = self.pieces, []
        if pieces:
            self.say("pieces", of=pieces)


class Inbox:
    """Orders as they come; a pipe that ends orders the shut-down."""

    def __init__(self, file):
        self.orders = queue.SimpleQueue()
        self.bell = lambda: None
        threading.Thread(target=self.read, args=(file,), daemon=True).start()

    def read(self, file):
        for line in file:
            self.put(json.loads(line))
        self.put({"op": "shut_down"})

    def put(self, order):
        self.orders.put(order)
        with contextlib.suppress(RuntimeError):
            self.bell()


def work():
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Engines and their children print to standard output; the pipes are out of their reach.
    inbox = Inbox(os.fdopen(os.dup(0), "rb"))
    voice = Voice(os.fdopen(os.dup(1), "wb"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    voice.say("hello", at=time.monotonic_ns())
    order = inbox.orders.get()
    try:
        engine = ENGINES[order["engine"]](order)
        voice.say("loaded", facts=engine.facts())
    except Exception as error:
        traceback.print_exc()
        voice.say("refused", why=why(error))
        sys.exit(1)
    vigil = Vigil()
    try:
        serve(engine, inbox, voice)
    finally:
        vigil.end()
        engine.shut_down()


class Vigil:
    """Ends the worker when a process of its engine ends: of that not every engine tells those who
    wait for its answers."""

    def __init__(self):
        self.is_over = False
        children = {child.sentinel: child for child in multiprocessing.active_children()}
        threading.Thread(target=self.keep, args=(children,), daemon=True).start()

    def keep(self, children):
        while children:
            for sentinel in multiprocessing.connection.wait(children):
                child = children.pop(sentinel)
                # Its pipe is closed a moment before it has ended.
                child.join(1)
                if child.exitcode != 0 and not self.is_over:
                    end = f"ended with {child.exitcode}"
                    print(f"the engine's process {child.name} {end}", file=sys.stderr, flush=True)
                    os._exit(1)

    def end(self):
        self.is_over = True


def serve(engine, inbox, voice):
    order = inbox.orders.get()
    while order["op"] != "shut_down":
        following = None
        if order["op"] == "generate":
            if engine.streaming:
                following = engine.loop.run_until_complete(stream(engine, inbox, voice, order))
            else:
                generate(engine, voice, order["requests"])
        elif order["op"] in ("info", "start_profile", "stop_profile"):
            control(engine, voice, order)
        order = following or inbox.orders.get()


def control(engine, voice, order):
    try:
        value = getattr(engine, order["op"])(**order.get("args", {}))
        # What an engine says of itself may hold anything.
        voice.say("told", value=json.loads(json.dumps(value, default=str)))
    except Exception as error:
        lament(engine, error)
        voice.say("refused", why=why(error))


def lament(engine, error):
    """Prints what went wrong. If that was the engine's end it is the worker's, too: all that was
    asked of it is lost, and the supervisor tells how."""
    traceback.print_exc()
    if engine.is_dead(error):
        os._exit(1)


def generate(engine, voice, requests):
    """All requests in one call. What is made ready for it and read of it is no part of its time."""
    ids = [request["id"] for request in requests]
    began = time.monotonic_ns()
    try:
        call = engine.ready(requests)
        began = time.monotonic_ns()
        outputs = call()
        ended = time.monotonic_ns()
        answers = engine.answers(outputs)
    except Exception as error:
        voice.say("taken", at=began, ids=ids)
        lament(engine, error)
        voice.say("failed", ids=ids, why=why(error))
        return
    voice.say("taken", at=began, ids=ids)
    for start in range(0, len(ids), 256):
        block = list(zip(ids, answers))[start : start + 256]
        texts = [(name, ended, answer.tokens, answer.text) for name, answer in block]
        voice.say("pieces", of=texts)
        ends = [(name, ended, answer.reason, answer.usage) for name, answer in block]
        voice.say("finished", of=ends)


async def stream(engine, inbox, voice, order):
    """Requests as they come, until nothing is left to be answered. Gives the order that is about
    something else, if one came."""
    loop, rung, tasks = asyncio.get_running_loop(), asyncio.Event(), {}
    inbox.bell = lambda: loop.call_soon_threadsafe(rung.set)

    def begin(request):
        task = tasks[request["id"]] = loop.create_task(answer(engine, voice, request))
        task.add_done_callback(lambda _: (tasks.pop(request["id"]), rung.set()))

    def obey(order):
        """Whether the order is about requests."""
        if order["op"] == "generate":
            for request in order["requests"]:
                begin(request)
        elif order["op"] == "cancel":
            if order["id"] in tasks:
                tasks[order["id"]].cancel()
        return order["op"] in ("generate", "cancel")

    following = None if obey(order) else order
    while True:
        rung.clear()
        with contextlib.suppress(queue.Empty):
            while following is None:
                order = inbox.orders.get_nowait()
                following = None if obey(order) else order
        if following and following["op"] == "shut_down":
            for task in tasks.values():
                task.cancel()
        if not tasks:
            return following
        await rung.wait()


async def answer(engine, voice, request):
    name = request["id"]
    voice.say("taken", at=time.monotonic_ns(), ids=[name])
    last = None
    try:
        async for last in engine.stream(request):
            at = time.monotonic_ns()
            if last.tokens or last.text:
                voice.piece(name, at, last.tokens, last.text)
        at = time.monotonic_ns()
        voice.flush()
        voice.say("finished", of=[(name, at, last.reason, last.usage)])
    except Exception as error:
        voice.flush()
        lament(engine, error)
        voice.say("failed", ids=[name], why=why(error))


def why(error):
    return f"{type(error).__name__}: {error}"


# The engines.


class Answer:
    """An answer, or the latest piece of one; of it the last also knows the end."""

    def __init__(self, tokens, text, reason, prompt_tokens, completion_tokens, cached_tokens):
        self.tokens = tokens
        # What is no text by itself, a half of a pair, has no place in JSON.
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
        """Never seen: SGLang kills its own process, and this is it, when one of its others dies."""
        return False

    def shut_down(self):
        self.engine.shutdown()


class SglangRuntime(Sglang):
    """SGLang's server, started and asked by its own class for that."""

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
        """What a command line says, as the server's constructor takes it."""
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
    """What a search found for a prompt, told as other outputs are. Each beam begins with it."""

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
    def engine_args(of, order):
        if not order["argv"]:
            return of(**order["args"])
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        # vLLM's benchmarks take these flags, whichever engine they start.
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
        return {"prompt": prompt["text"]}

    def ready(self, requests):
        prompts = [self.prompt(request) for request in requests]
        if self.beams:
            return functools.partial(self.search, prompts, requests[0])
        parameters = [self.sampling(request) for request in requests]
        if self.prequeue:
            self.engine.sleep(level=0, mode="abort")
            return functools.partial(self.queue, prompts, parameters)
        return functools.partial(
            self.engine.generate, prompts, parameters, use_tqdm=False, **self.call
        )

    def queue(self, prompts, parameters):
        """Lets the engine begin when it has all of them."""
        try:
            self.engine.enqueue(prompts, parameters, use_tqdm=False, **self.call)
        finally:
            self.engine.wake_up(tags=["scheduling"])
        return self.engine.wait_for_completion(use_tqdm=False)

    def search(self, prompts, request):
        """Searches with beams, which are as long for all of them."""
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
        name = f"servemark-{request['id']}"
        before = 0
        async for output in self.engine.generate(
            self.prompt(request), parameters, request_id=name, **self.call
        ):
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


ENGINES = {"sglang": Sglang, "sglang_runtime": SglangRuntime, "vllm": Vllm}


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        supervise()
