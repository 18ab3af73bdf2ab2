"""Servemark measures LLM servers, and tells how accurate its numbers are.

- ``run`` and ``run_async`` run a plan in this process.
- ``read`` reads the log of a run: its requests, pieces of output and series of metrics as Arrow
  tables, and its scores by the definitions of several clients.
- ``compare`` tells what changed from one result to another.
- ``MockServer`` is a server whose answers and times are known, for tests.

``python -m servemark`` is the program ``servemark``.
"""

from ._dialect import Answer, Decoded, Dialect, EncodedRequest, Frame, Piece, Request
from ._log import RunLog, compare, read
from ._mock import MockServer
from ._run import Progress, RunResult, run, run_async
from ._servemark import RunError, Table, __version__

__all__ = [
    "Answer",
    "Decoded",
    "Dialect",
    "EncodedRequest",
    "Frame",
    "MockServer",
    "Piece",
    "Progress",
    "Request",
    "RunError",
    "RunLog",
    "RunResult",
    "Table",
    "__version__",
    "compare",
    "read",
    "run",
    "run_async",
]
