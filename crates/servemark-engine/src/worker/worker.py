"""Drives an offline engine for Servemark: JSON lines in, JSON lines out.

Without arguments this program is the supervisor, which imports no engine. It starts itself again
as the worker, adopts every process that the engine leaves behind, and kills all of them when the
worker has ended, on SIGTERM, and when the other end of its standard input is closed. Its last line
says how the worker ended.

All times are readings of CLOCK_MONOTONIC in nanoseconds.
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
    # The parent removes this folder as well, unless it was killed.
    shutil.rmtree(os.path.dirname(os.path.abspath(__file__)), ignore_errors=True)
    with contextlib.suppress(OSError):
        os.write(1, (json.dumps({"op": "ended", **how(status)}) + "\n").encode())


def watch(worker, bell, told_to_end):
    """Returns the worker's exit status when it ends, or None if the supervisor must end first."""
    poll = select.poll()
    # Even without requested events, poll reports that the other end of a pipe is closed.
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
    """Reaps all children that have ended. Returns the worker's status if it is one of them."""
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
    """Kills all descendants. Processes whose parent has died become children of this process."""
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
        # A worker that is killed here did not end by itself, so its status is not reported.
        status = status if ended is None else status
    return status


def is_cleaner(process):
    """Whether this is Python's resource tracker, which removes the shared memory of processes that
    were killed and ends when they are gone."""
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


class MessageWriter:
    """Writes JSON lines to a pipe that neither the engine nor its children can write to."""

    def __init__(self, file):
        self.file = file
        self.lock = threading.Lock()
        self.pieces = []

    def send(self, op, **what):
        line = json.dumps({"op": op, **what}).encode() + b"\n"
        with self.lock:
            self.file.write(line)
            self.file.flush()

    def piece(self, *piece):
        """Adds a piece of output. Pieces of one iteration of the event loop share a line."""
        if not self.pieces:
            asyncio.get_running_loop().call_soon(self.flush)
        self.pieces.append(piece)

    def flush(self):
        pieces, self.pieces = self.pieces, []
        if pieces:
            self.send("pieces", of=pieces)


class Inbox:
    """Reads orders on a thread of its own. The end of the pipe is an order to shut down."""

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
    # Engines and their children print to standard output, so the protocol's pipes move elsewhere.
    inbox = Inbox(os.fdopen(os.dup(0), "rb"))
    writer = MessageWriter(os.fdopen(os.dup(1), "wb"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    writer.send("hello", at=time.monotonic_ns())
    # Imported here because the supervisor does not need it.
    from servemark_engines import ENGINES

    order = inbox.orders.get()
    try:
        engine = ENGINES[order["engine"]](order)
        writer.send("loaded", facts=engine.facts())
    except Exception as error:
        traceback.print_exc()
        writer.send("refused", why=why(error))
        sys.exit(1)
    monitor = ChildMonitor()
    try:
        serve(engine, inbox, writer)
    finally:
        monitor.end()
        engine.shut_down()


class ChildMonitor:
    """Ends the worker when a process of its engine fails, because not every engine then reports an
    error to its callers."""

    def __init__(self):
        self.is_over = False
        children = {child.sentinel: child for child in multiprocessing.active_children()}
        threading.Thread(target=self.keep, args=(children,), daemon=True).start()

    def keep(self, children):
        while children:
            for sentinel in multiprocessing.connection.wait(children):
                child = children.pop(sentinel)
                # The sentinel becomes ready shortly before the process has ended.
                child.join(1)
                if child.exitcode != 0 and not self.is_over:
                    end = f"ended with {child.exitcode}"
                    print(f"the engine's process {child.name} {end}", file=sys.stderr, flush=True)
                    os._exit(1)

    def end(self):
        self.is_over = True


def serve(engine, inbox, writer):
    order = inbox.orders.get()
    while order["op"] != "shut_down":
        following = None
        if order["op"] == "generate":
            if engine.streaming:
                following = engine.loop.run_until_complete(stream(engine, inbox, writer, order))
            else:
                generate(engine, writer, order["requests"])
        elif order["op"] in ("info", "start_profile", "stop_profile"):
            control(engine, writer, order)
        order = following or inbox.orders.get()


def control(engine, writer, order):
    try:
        value = getattr(engine, order["op"])(**order.get("args", {}))
        # An engine's description of itself may contain objects of any type.
        writer.send("told", value=json.loads(json.dumps(value, default=str)))
    except Exception as error:
        report_error(engine, error)
        writer.send("refused", why=why(error))


def report_error(engine, error):
    """Prints the error. If the engine is dead, ends the worker: all its requests are lost, and the
    supervisor reports how it ended."""
    traceback.print_exc()
    if engine.is_dead(error):
        os._exit(1)


def generate(engine, writer, requests):
    """Answers all requests in one call. The measured time excludes preparation and conversion."""
    ids = [request["id"] for request in requests]
    began = time.monotonic_ns()
    try:
        call = engine.ready(requests)
        began = time.monotonic_ns()
        outputs = call()
        ended = time.monotonic_ns()
        answers = engine.answers(outputs)
    except Exception as error:
        writer.send("taken", at=began, ids=ids)
        report_error(engine, error)
        writer.send("failed", ids=ids, why=why(error))
        return
    writer.send("taken", at=began, ids=ids)
    for start in range(0, len(ids), 256):
        block = list(zip(ids, answers))[start : start + 256]
        texts = [(name, ended, answer.tokens, answer.text) for name, answer in block]
        writer.send("pieces", of=texts)
        ends = [(name, ended, answer.reason, answer.usage) for name, answer in block]
        writer.send("finished", of=ends)


async def stream(engine, inbox, writer, order):
    """Answers requests as they arrive, until none are left. Returns an order of another kind, if
    one arrived; from then on no more orders are taken."""
    loop, rung, tasks = asyncio.get_running_loop(), asyncio.Event(), {}
    inbox.bell = lambda: loop.call_soon_threadsafe(rung.set)

    def begin(request):
        task = tasks[request["id"]] = loop.create_task(answer(engine, writer, request))
        task.add_done_callback(lambda _: (tasks.pop(request["id"]), rung.set()))

    def obey(order):
        """Carries out an order about requests. Returns whether it was one."""
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


async def answer(engine, writer, request):
    name = request["id"]
    writer.send("taken", at=time.monotonic_ns(), ids=[name])
    last = None
    try:
        async for last in engine.stream(request):
            at = time.monotonic_ns()
            if last.tokens or last.text:
                writer.piece(name, at, last.tokens, last.text)
        at = time.monotonic_ns()
        writer.flush()
        writer.send("finished", of=[(name, at, last.reason, last.usage)])
    except Exception as error:
        writer.flush()
        report_error(engine, error)
        writer.send("failed", ids=[name], why=why(error))


def why(error):
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        supervise()
