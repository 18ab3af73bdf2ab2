"""Dialects in Python: how requests are written, and how answers are read."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Mapping, NamedTuple, Protocol, Sequence, Union


@dataclass(frozen=True)
class Request:
    """A request whose body a dialect writes."""

    model: str
    """Name of the model in requests, from the plan or from the server."""
    prompt: Any
    """A text, a list of token ids or a list of chat messages, as the data set has it."""
    input_tokens: int
    """Length of the prompt in tokens."""
    output_tokens: int
    """Number of tokens to ask for. For the warm-up it is at most the plan's
    ``load.warmup.most_output_tokens``."""
    adapter: str | None
    """Name of the adapter that is to answer; ``None`` for the base model."""
    extra_body: dict[str, Any]
    """Keys that the data set adds to this request alone."""
    headers: dict[str, str]
    """Headers that the data set and the plan add to this request; they are sent in any case."""


@dataclass(frozen=True)
class EncodedRequest:
    """A body with a path or headers of its own."""

    body: bytes | str | dict[str, Any]
    """The body; a dictionary is sent as JSON."""
    path: str | None = None
    """Path below the base URL of the server; ``None`` for that of the dialect."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of this request; ``content-type`` is ``application/json`` unless it is among them."""


class Frame(NamedTuple):
    """A part of an answer: an event, a line, or a whole document."""

    data: str
    """Data of the event, the line without its end, or the document."""
    at_ns: int
    """When it was complete, in nanoseconds since the request was sent. Frames that one read of the
    socket completed have the same time."""
    event: str
    """Name of the event; empty for an event without a name, a line or a document."""


class Answer(NamedTuple):
    """An answer with status 200 as it arrived."""

    frames: list[Frame]
    """The frames in order of arrival, at least one."""
    error: str | None
    """Why the request failed, such as a time-out, so that the frames are only a beginning; ``None`` if
    the answer was read to its end."""


class Piece(NamedTuple):
    """A piece of output that a frame carries."""

    frame: int
    """Position of the frame in ``Answer.frames``, which gives the piece its time. Pieces are in the
    order of their frames, of which one may carry several and another none."""
    text: str
    """The text, which may be empty where the server counts a token but holds back its text."""
    tokens: int | None = None
    """Number of tokens of the piece, if the server gives it."""
    kind: Literal["content", "reasoning", "tool_call"] = "content"
    """What the piece is a part of."""


@dataclass(frozen=True)
class Decoded:
    """What an answer says."""

    pieces: Sequence[Piece] = ()
    """The pieces of output."""
    prompt_tokens: int | None = None
    """The server's count of the tokens of the prompt."""
    completion_tokens: int | None = None
    """The server's count of the tokens of the output."""
    cached_tokens: int | None = None
    """The server's count of the tokens of the prompt that it took from a cache."""
    finish_reason: str | None = None
    """Why the output ended, such as ``stop`` or ``length``."""
    error: str | None = None
    """The server's message if the answer says that the request failed; it is a failed one then."""


class Dialect(Protocol):
    """How the requests of a server are written, and how its answers are read.

    Any object with these members is one. It may also have ``name``, which reports show in place of the
    name of its class, and ``framing``: ``"events"`` for server-sent events, ``"lines"``, or
    ``"document"`` for an answer in one piece. ``framing`` applies where the content type of an answer
    names none of these; without it an answer that does not begin like a JSON document is read as
    events.
    """

    @property
    def path(self) -> str:
        """Path of requests below the base URL of the server, such as ``/generate``."""

    def body(self, request: Request) -> bytes | str | dict[str, Any] | EncodedRequest:
        """Returns the body of a request.

        It is called for all requests, those of the warm-up included, before the first one is sent. An
        exception ends the run before it starts and is raised by ``run``.
        """

    def decode(self, answer: Answer) -> Decoded:
        """Returns what an answer says.

        It is called after the answer has ended, on the thread that writes the run log. An exception
        makes the request a failed one with its message; the first one is also a ``RuntimeWarning`` at
        the end of the run.
        """


class NativeDialect(NamedTuple):
    """A dialect as the native half of the package takes it."""

    name: str
    framing: str
    encode: Callable[[str], tuple[str, list[tuple[str, str]], bytes]]
    decode: Callable[[list[tuple[str, int, str]], Union[str, None]], Decoded]


def native(dialect: Dialect) -> NativeDialect:
    """Returns a dialect in the form of the native half."""
    missing = [name for name in ("path", "body", "decode") if not hasattr(dialect, name)]
    if missing or isinstance(dialect, type):
        what = f"which {dialect!r} lacks: {', '.join(missing)}" if missing else "not a class"
        raise TypeError(f"a dialect is an object with path, body and decode, {what}")
    name = getattr(dialect, "name", type(dialect).__name__)
    framing = getattr(dialect, "framing", "events")
    encode = functools.partial(_encode, dialect)
    return NativeDialect(name, framing, encode, functools.partial(_decode, dialect))


def _encode(dialect: Dialect, request: str) -> tuple[str, list[tuple[str, str]], bytes]:
    """Returns the path, the headers and the body of a request that is given as JSON."""
    encoded = dialect.body(Request(**json.loads(request)))
    if not isinstance(encoded, EncodedRequest):
        encoded = EncodedRequest(encoded)
    path = dialect.path if encoded.path is None else encoded.path
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f"the path of a request begins with /, unlike {path!r}")
    headers = {name.lower(): value for name, value in encoded.headers.items()}
    headers.setdefault("content-type", "application/json")
    return path, list(headers.items()), _bytes(encoded.body)


def _bytes(body: bytes | str | dict[str, Any]) -> bytes:
    if isinstance(body, dict):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, bytes):
        raise TypeError(f"a body is bytes, a text or a dict, not {type(body).__name__}")
    return body


def _decode(dialect: Dialect, frames: list[tuple[str, int, str]], error: str | None) -> Decoded:
    """Decodes an answer that is given as plain values."""
    decoded = dialect.decode(Answer(list(map(Frame._make, frames)), error))
    if not isinstance(decoded, Decoded):
        raise TypeError(f"decode returned {type(decoded).__name__} in place of Decoded")
    return decoded
