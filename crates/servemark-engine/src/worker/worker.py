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
    # The supervisor has no use for it.
    from servemark_engines import ENGINES

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


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        supervise()
