"""Runs of plans."""

from __future__ import annotations

import itertools
import os
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, NamedTuple, Union

from . import _servemark
from ._dialect import Dialect, native
from ._log import RunLog, read

_Plan = Union[dict[str, Any], str, "os.PathLike[str]"]
_Dataset = Union[Iterable[Any], Callable[[int], Iterable[Any]]]


class Progress(NamedTuple):
    """State of a run, which is passed to ``progress`` about ten times a second."""

    activity: str
    """``preparing``, ``drawing`` (the load), ``measuring`` or ``reporting``."""
    finished: int
    """Number of finished requests of the measurement."""
    failed: int
    """Number of failed requests among the finished ones."""
    in_flight: int
    """Number of requests that were sent and are not finished."""
    requests: int | None
    """Number of requests that the measurement sends; ``None`` before it begins."""
    messages: list[str]
    """Messages about events since the last call."""


@dataclass(frozen=True)
class RunResult:
    """Results of a run, which are also in its folder."""

    summary: dict[str, Any]
    """The document that ``servemark run --json`` prints."""
    run_log: Path | None
    """Path of the run log; ``None`` if there is none."""
    folder: Path
    """Folder with ``report.html``, ``summary.json`` and usually ``run.runlog.jsonl``."""
    exit_code: int
    """Exit code of ``servemark run``: 0, or why the run or an objective of it failed."""

    def log(self) -> RunLog:
        """Reads the run log."""
        if self.run_log is None:
            raise ValueError("the run has no log")
        return read(self.run_log)


def run(
    plan: _Plan,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    dataset: _Dataset | None = None,
    dialect: Dialect | None = None,
) -> RunResult:
    """Runs a plan in this process and returns its results.

    ``plan`` is a dictionary with the keys of a plan's file, or the path of such a file in TOML, YAML
    or JSON. ``out`` is the folder of the results, which must be empty; by default a new one below
    ``servemark-results``.

    ``dataset`` takes the place of the plan's data set: an iterable of requests, or a function that
    returns one, given the number of requests. It is used once, before anything is measured. A request
    is a dictionary:

    - ``prompt``: a text, a list of token ids or a list of chat messages; for embeddings a list of texts;
      for reranking a dictionary with ``query`` and ``documents``
    - ``output_tokens``: the number of tokens to ask for
    - ``input_tokens``: the length of the prompt; counted with the plan's tokenizer if absent
    - ``extra_body``: keys of the body of this request alone, which take the place of the plan's
    - ``headers``: headers of this request alone

    A list of requests is a conversation, in which each turn follows the answer to the one before.

    ``dialect`` takes the place of the plan's ``backend`` and ``wire``: an object that writes the bodies
    of requests and reads answers (see ``Dialect``). All bodies are written before the first request is
    sent and stay in memory until the run ends. Each answer is decoded after it has ended, on the thread
    that writes the run log, which takes CPU time beside the run: some 6 us for each event of a stream.
    The frames of at most 128 MiB of answers wait for that in memory before requests that are due wait,
    too. The server is not waited for unless the plan has ``control.ready_timeout``.

    The requests are sent by threads that never take Python's lock. ``progress`` is called on the
    calling thread. Ctrl-C sends nothing more and waits for the requests in flight, a second one
    abandons them; then ``KeyboardInterrupt`` is raised. An exception of ``progress`` ends the run in
    the same way. The log and the other results are in the folder then, too.

    Raises ``ValueError`` with all faults of a plan, ``OSError`` for files, and ``RunError`` if the run
    cannot be made, such as for a server that is not ready. Exceptions of ``dataset`` and of
    ``Dialect.body`` are raised as they are. The first exception of ``Dialect.decode`` is a
    ``RuntimeWarning``.
    """
    waiting = _Waiting(plan, out, progress, dataset, dialect)
    while not waiting.handle.has_ended:
        try:
            waiting.handle.wait(_INTERVAL_S)
            waiting.report()
        except BaseException as error:
            waiting.stop(error)
    return waiting.result()


async def run_async(
    plan: _Plan,
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    dataset: _Dataset | None = None,
    dialect: Dialect | None = None,
) -> RunResult:
    """Runs a plan as ``run`` does, without blocking the event loop.

    ``dataset`` and ``dialect`` are used on threads of their own. ``progress`` is called on the thread
    of the loop. If the task is cancelled, the run sends nothing more and the task ends when the
    requests in flight have; a second cancellation abandons them.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    waiting = _Waiting(plan, out, progress, dataset, dialect)
    while not waiting.handle.has_ended:
        try:
            waited = loop.run_in_executor(None, waiting.handle.wait, _INTERVAL_S)
            await asyncio.shield(waited)
            waiting.report()
        except BaseException as error:
            waiting.stop(error)
    return waiting.result()


class _Waiting:
    """A run that is waited for, and the exception that ends it early."""

    def __init__(
        self,
        plan: _Plan,
        out: str | os.PathLike[str] | None,
        progress: Callable[[Progress], object] | None,
        dataset: _Dataset | None,
        dialect: Dialect | None,
    ) -> None:
        named = None
        if dataset is not None:
            named = _named(dataset)
            plan = _with_dataset(plan, named[0])
        parts = None
        if dialect is not None:
            parts = native(dialect)
            plan = _with_dialect(plan, parts.name)
        self.handle = _servemark.RunHandle(plan, out, named, parts)
        self._progress = progress
        self._cause: BaseException | None = None

    def report(self) -> None:
        if self._progress and self._cause is None:
            self._progress(Progress(*self.handle.progress()))

    def stop(self, cause: BaseException) -> None:
        self._cause = self._cause or cause
        self.handle.stop()

    def result(self) -> RunResult:
        if self._cause is not None:
            raise self._cause
        result = RunResult(*self.handle.result())
        undecoded = self.handle.undecoded()
        if undecoded is not None:
            warnings.warn(_undecoded(undecoded), RuntimeWarning, stacklevel=3)
        return result


def _named(dataset: _Dataset) -> tuple[str, Callable[[int], Iterable[Any]]]:
    """Returns the name of a data set, and the function that draws from it."""
    name = getattr(dataset, "__name__", "python")
    if callable(dataset):
        return name, dataset
    if not isinstance(dataset, Iterable):
        raise TypeError("a data set is an iterable of requests, or a function that returns one")
    requests = iter(dataset)
    return name, lambda count: itertools.islice(requests, count)


def _with_dataset(plan: _Plan, name: str) -> dict[str, Any]:
    """Returns a plan whose data set is the one that the program supplies under this name."""
    if not isinstance(plan, dict):
        raise TypeError("a plan to which a data set is given is a dict")
    workload = plan.get("workload", {})
    if "dataset" in workload:
        raise ValueError("the plan has a data set of its own: leave workload.dataset out")
    return {**plan, "workload": {**workload, "dataset": {"dataset": "provided", "name": name}}}


def _with_dialect(plan: _Plan, name: str) -> dict[str, Any]:
    """Returns a plan whose dialect is the one that the program supplies under this name."""
    if not isinstance(plan, dict):
        raise TypeError("a plan to which a dialect is given is a dict")
    taken = [key for key in ("backend", "wire") if key in plan]
    if taken:
        raise ValueError(f"the plan has a dialect of its own: leave {' and '.join(taken)} out")
    return {
        **plan,
        # Whatever the server is, it is asked nothing that the plan does not say.
        "backend": "vllm-chat",
        "wire": {"route": "provided", "name": name, "generates": True, "deferred": True},
        "control": {"kind": "other", "ready_timeout": 0, **plan.get("control", {})},
    }


def _undecoded(exception: BaseException) -> str:
    """Returns the text of a warning about an answer that could not be decoded."""
    lines = traceback.format_exception(type(exception), exception, exception.__traceback__)
    return "decode failed, and the request with it; the first exception was\n" + "".join(lines)


_INTERVAL_S = 0.1
