"""Logs of runs, and comparisons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterable, Union

from . import _servemark

_Result = Union[str, "os.PathLike[str]"]
_Results = Union[_Result, Iterable[_Result]]


class RunLog:
    """The log of a run, without the text of the answers.

    The columns of the tables, with their units, are those of ``servemark export --parquet``. The
    name of a column ends in its unit: ``_ns``, ``_us`` or ``_ms``. A time in ``_ns`` counts from the
    start of the run's clock. A value that a row does not have is null.
    """

    def __init__(self, path: str | os.PathLike[str], *, skip_damaged: bool = False) -> None:
        self._native = _servemark.read(path, skip_damaged)
        self._path = Path(path)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._path

    def __fspath__(self) -> str:
        return str(self._path)

    def __repr__(self) -> str:
        return f"<servemark.RunLog {self._path}>"

    @property
    def header(self) -> dict[str, Any]:
        """What was planned, by which program, on which machine: the first line of the log."""
        return self._native.header

    @property
    def is_complete(self) -> bool:
        """Whether the run ended without being stopped or killed."""
        return self._native.is_complete

    @property
    def requests(self) -> _servemark.Table:
        """A row for each request of every phase, in the order of the plan.

        Columns: ``index``, ``turn``, ``phase`` (``measure`` for the measurement), ``request_id``,
        ``success``, ``status``, ``error_kind``, ``error``, ``finish_reason``; tokens as planned and
        as counted by the server; ``scheduled_ns``, ``sent_ns``, ``first_output_ns``, ``ended_ns``;
        ``ttft_ms`` and ``e2e_ms``, in milliseconds from the sending of the request.
        """
        return self._native.requests

    @property
    def tokens(self) -> _servemark.Table:
        """A row for each piece of output, which may have several tokens.

        Columns: ``request`` (number of the row in ``requests``, from 0), ``piece`` (from 0),
        ``at_ns`` (arrival), ``tokens`` (null if the server does not count them), ``bytes`` of the
        text, ``read_lag_us`` (microseconds from the arrival in the kernel to the read).
        """
        return self._native.tokens

    @property
    def series(self) -> _servemark.Table:
        """A row for each reading of a metric of the server or its machine during the run.

        Columns: ``source``, ``series`` (its number), ``name``, ``kind`` (``gauge``, ``counter`` or
        ``histogram``), ``unit``, ``labels`` (a JSON object), ``at_ns``; ``value`` of a gauge or a
        counter; ``count`` and ``sum`` of all values of a histogram so far. A source leaves out what
        has not changed since its last reading.
        """
        return self._native.series

    def score(self, as_: str = "native") -> dict[str, Any]:
        """Scores the run.

        ``native`` is the document that ``servemark score --json`` prints: every figure with its
        confidence interval, and the verdicts. ``vllm``, ``sglang`` and ``offline`` are the results
        that the clients of vLLM and SGLang write. A release may follow: ``vllm-0.11.0``.

        Raises ``ValueError`` for a name that has no such document.
        """
        return self._native.score(as_)

    def table(self, as_: str = "native") -> str:
        """Returns the table that ``servemark score --layout`` prints.

        ``as_`` is one of ``native``, ``sglang``, ``vllm``, ``aisbench``, ``evalscope``, ``embedding``
        and ``offline``. A release may follow: ``evalscope-1.7``.
        """
        return self._native.table(as_)


def read(path: str | os.PathLike[str], *, skip_damaged: bool = False) -> RunLog:
    """Reads the log of a run.

    With ``skip_damaged``, damaged lines are left out; otherwise they are errors. Raises ``OSError``
    if the file cannot be read and ``ValueError`` if it is no run log.
    """
    return RunLog(path, skip_damaged=skip_damaged)


def compare(
    before: _Results, after: _Results, *, as_: str = "native", skip_damaged: bool = False
) -> dict[str, Any]:
    """Compares results before and after a change.

    A side is one result or several: a run log, its path, a folder of run logs, or the path of a
    result file of vLLM or SGLang. ``as_`` names the definitions for run logs: ``native``, ``sglang``
    or ``vllm``. Returns the document that ``servemark compare --json`` prints: each change with its
    99 % confidence interval.

    Raises ``OSError`` if a file cannot be read and ``ValueError`` if the results cannot be compared.
    """
    return _servemark.compare(_paths(before), _paths(after), as_, skip_damaged)


def _paths(results: _Results) -> list[str]:
    if isinstance(results, (str, os.PathLike)):
        return [os.fspath(results)]
    return [os.fspath(result) for result in results]
