"""The simulator."""

from __future__ import annotations

from typing import Any, Sequence

from . import _servemark


class MockServer:
    """A server whose answers and times are known, on threads of its own.

    It starts with the object. As the context of a ``with`` statement it gives its URL, and stops at
    the end of the block::

        with servemark.MockServer(ttft=50, itl=10) as url:
            ...

    The settings are those of ``server.simulated`` in a plan. A duration is a number of milliseconds
    or a text such as ``"1.5s"``. A setting that is left out has the value in brackets.

    - ``listen``: address and port; port 0 is a free one (``127.0.0.1:0``)
    - ``ttft`` (50 ms), ``itl`` (10 ms): to the first piece of output, and between two pieces
    - ``prefill_per_token`` (0): further time to the first piece for each token of the prompt
    - ``network``, ``frontend``, ``kv_transfer``, ``jitter`` (0): further parts of the times
    - ``tokens_per_chunk``, ``pieces_per_write`` (1): sizes of pieces and of writes
    - ``places``, ``kv_blocks`` (no limit): requests, or blocks of memory, that are served at once
    - ``cache_blocks`` (no cache), ``cache_block_tokens`` (16), ``hides_cached`` (no): prefix cache
    - ``model`` (``mock``), ``strict_model`` (no): name of the model, and whether others are refused
    - ``engine``: the engine that the server describes itself as, such as ``vllm`` or ``sglang``
    - ``output_tokens``: tokens of every answer, whatever the request asks for
    - ``accept_length``: mean length of speculative decoding that the server reports, in tokens
    - ``server_times`` (``usual``), ``clock_skew_ms`` (0): times of its own that the server reports
    - ``faults``: such as ``["status:503/10"]``, every tenth request
    - ``seed`` (0) of the jitter
    - ``keep_requests``: number of latest requests that ``requests`` returns
    - ``threads`` (1), ``spin`` (no): threads, and whether they poll without sleeping

    Raises ``ValueError`` for a wrong setting and ``OSError`` if the address cannot be used.
    """

    def __init__(
        self,
        *,
        listen: str | None = None,
        ttft: float | str | None = None,
        itl: float | str | None = None,
        prefill_per_token: float | str | None = None,
        network: float | str | None = None,
        frontend: float | str | None = None,
        kv_transfer: float | str | None = None,
        jitter: float | str | None = None,
        tokens_per_chunk: int | None = None,
        pieces_per_write: int | None = None,
        places: int | None = None,
        kv_blocks: int | None = None,
        cache_blocks: int | None = None,
        cache_block_tokens: int | None = None,
        hides_cached: bool | None = None,
        model: str | None = None,
        strict_model: bool | None = None,
        engine: str | None = None,
        output_tokens: int | None = None,
        accept_length: float | None = None,
        server_times: str | None = None,
        clock_skew_ms: float | None = None,
        faults: Sequence[str] | None = None,
        seed: int | None = None,
        keep_requests: int | None = None,
        threads: int | None = None,
        spin: bool | None = None,
    ) -> None:
        settings = {name: value for name, value in locals().items() if name != "self"}
        given = {name: value for name, value in settings.items() if value is not None}
        self._native = _servemark.MockServer(given)

    @property
    def url(self) -> str:
        """URL of the server, without a trailing slash."""
        return self._native.url

    def truth(self) -> list[dict[str, Any]]:
        """What was sent for each finished answer, and when: the rows of
        ``servemark mock-server --truth``."""
        return self._native.truth()

    def requests(self) -> list[dict[str, Any]]:
        """The latest requests, as ``servemark mock-server --requests`` writes them."""
        return self._native.requests()

    def stop(self) -> None:
        """Stops the server and closes its connections."""
        self._native.stop()

    def __enter__(self) -> str:
        return self.url

    def __exit__(self, *exception: object) -> None:
        self.stop()
