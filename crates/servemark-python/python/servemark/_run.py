"""Runs of plans."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, NamedTuple, Union

from . import _servemark
from ._log import RunLog, read

_Plan = Union[dict[str, Any], str, "os.PathLike[str]"]


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
) -> RunResult:
    """Runs a plan in this process and returns its results.

    ``plan`` is a dictionary with the keys of a plan's file, or the path of such a file in TOML, YAML
    or JSON. ``out`` is the folder of the results, which must be empty; by default a new one below
    ``servemark-results``.

    The requests are sent by threads that never take Python's lock. ``progress`` is called on the
    calling thread. Ctrl-C sends nothing more and waits for the requests in flight, a second one
    abandons them; then ``KeyboardInterrupt`` is raised. An exception of ``progress`` ends the run in
    the same way. The log and the other results are in the folder then, too.

    Raises ``ValueError`` with all faults of a plan, ``OSError`` for files, and ``RunError`` if the run
    cannot be made, such as for a server that is not ready.
    """
    waiting = _Waiting(plan, out, progress)
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
) -> RunResult:
    """Runs a plan as ``run`` does, without blocking the event loop.

    ``progress`` is called on the thread of the loop. If the task is cancelled, the run sends nothing
    more and the task ends when the requests in flight have; a second cancellation abandons them.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    waiting = _Waiting(plan, out, progress)
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
    ) -> None:
        self.handle = _servemark.RunHandle(plan, out)
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
        return RunResult(*self.handle.result())


_INTERVAL_S = 0.1
