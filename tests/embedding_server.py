"""An embeddings endpoint on this machine that misbehaves on demand.

It speaks OpenAI's protocol over real HTTP. A text's vector follows from the text alone, so that a
test knows which answer is right. What goes wrong is told beforehand:

    with EmbeddingServer(dimensions=8) as server:
        server.script = [refuse(429, retry_after="2"), SHUFFLED]  # one entry for each request
        server.poison = {"a text that is refused"}
        ...                                                       # base URL: server.url
        assert server.asked["a text"] == 1
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Behaviour:
    """How one request is answered: with an error status, or with a fault in a good answer."""

    fault: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    message: str = "refused on demand"
    code: str | None = None
    param: str | None = None
    seconds: float = 0.0
    width: int = 0


GOOD = Behaviour()
SHUFFLED = Behaviour("shuffled")  # items in another order, their index right
MISSING = Behaviour("missing")  # the last item is left out
REPEATED = Behaviour("repeated")  # two items carry the same index
NOT_A_NUMBER = Behaviour("nan")  # one number of the last vector
ZERO = Behaviour("zero")  # the last vector
FLOATS = Behaviour("floats")  # numbers, whatever was asked for
BASE64 = Behaviour("base64")  # base64, whatever was asked for
CUT_BASE64 = Behaviour("cut base64")  # the last embedding misses its last two characters
RESET = Behaviour("reset")  # the connection breaks in the middle of the body
NOT_JSON = Behaviour("not json")  # a page in HTML with status 200
QUOTE = Behaviour("quote", status=400)  # an error that repeats the first text and the key


def refuse(
    status: int,
    message: str = "refused on demand",
    retry_after: str | None = None,
    code: str | None = None,
    param: str | None = None,
) -> Behaviour:
    """An error status. `retry_after` is sent as it is: seconds or an HTTP date."""
    headers = (("Retry-After", retry_after),) if retry_after is not None else ()
    return Behaviour(status=status, message=message, headers=headers, code=code, param=param)


def wide(width: int) -> Behaviour:
    """Vectors of another width."""
    return Behaviour("wide", width=width)


def hang(seconds: float = 60.0) -> Behaviour:
    """A good answer that comes late; closing the server ends the wait."""
    return Behaviour("hang", seconds=seconds)


def drip(seconds: float = 60.0) -> Behaviour:
    """A good answer, byte by byte, over that many seconds."""
    return Behaviour("drip", seconds=seconds)


def vectors_for(texts: Sequence[str], dimensions: int) -> Vectors:
    """The vectors of the texts: float32, shape (texts, dimensions), length 1.

    Each number is a 32-bit word of the text's SHA-256, put through a permutation of the 32-bit
    words that belongs to its place.
    """
    digests = b"".join(
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts
    )
    words = np.frombuffer(digests, dtype="<u4").reshape(len(texts), 8)
    factors, shifts = _permutations(dimensions)
    mixed = words[:, np.arange(dimensions) % 8] * factors + shifts
    raw = mixed.astype(np.uint32).view(np.int32).astype(np.float64)
    vectors: Vectors = (raw / np.sqrt((raw * raw).sum(axis=1, keepdims=True))).astype(np.float32)
    return vectors


def vector_for(text: str, dimensions: int) -> Vectors:
    """The vector of one text, shape (dimensions,)."""
    vector: Vectors = vectors_for([text], dimensions)[0]
    return vector


@lru_cache
def _permutations(dimensions: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """For each place an odd factor and a shift, modulo 2**32."""
    random = np.random.default_rng(dimensions)
    factors = random.integers(0, 2**31, dimensions, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, random.integers(0, 2**32, dimensions, dtype=np.uint32)


@dataclass(frozen=True)
class Request:
    """What one request asked for."""

    texts: tuple[str, ...]
    model: str
    dimensions: int | None
    encoding_format: str | None
    authorization: str
    status: int


@dataclass
class EmbeddingServer:
    """Listens on a free port of 127.0.0.1 between enter and exit."""

    dimensions: int = 8
    #: Behaviours of the next requests, first one first; then every request is served by `always`.
    script: list[Behaviour] = field(default_factory=list)
    always: Behaviour = GOOD
    #: Texts that make a request be refused with 400.
    poison: set[str] = field(default_factory=set)
    #: Seconds before each answer.
    latency: float = 0.0
    #: If set, the key without which a request is refused with 401.
    key: str | None = None
    requests: list[Request] = field(default_factory=list)
    #: How often each text was asked for, in requests that were answered well or not.
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.closing = threading.Event()
        self.changed = threading.Condition()

    def __enter__(self) -> EmbeddingServer:
        self._http = _Server(self)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def count(self) -> int:
        """Requests so far."""
        return len(self.requests)

    def wait_for(self, count: int, timeout: float = 30.0) -> bool:
        """Wait until that many requests have come; false if they did not come in time."""
        with self.changed:
            return self.changed.wait_for(lambda: self.count >= count, timeout)

    def forget(self) -> None:
        """Begin to count anew."""
        with self.changed:
            self.requests.clear()
            self.asked.clear()

    def choose(self, texts: Sequence[str], authorization: str) -> Behaviour:
        """The behaviour for the next request."""
        with self.changed:
            chosen = self.script.pop(0) if self.script else self.always
        if chosen.status != 200:
            return chosen
        if self.key is not None and authorization != f"Bearer {self.key}":
            message = f"Incorrect API key provided: {authorization[7:]}"
            return refuse(401, message, code="invalid_api_key")
        if len(texts) > 2048:
            return refuse(400, "too many inputs", param="input")
        if any(not text or text in self.poison for text in texts):
            return refuse(400, "'$.input' is invalid", param="input")
        return chosen

    def note(self, request: Request) -> None:
        """Count a request."""
        with self.changed:
            self.requests.append(request)
            self.asked.update(request.texts)
            self.changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: EmbeddingServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        owner = self.server.owner
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        authorization = self.headers.get("Authorization", "")
        behaviour = owner.choose(texts, authorization)
        owner.note(
            Request(
                tuple(texts),
                asked["model"],
                asked.get("dimensions"),
                asked.get("encoding_format"),
                authorization,
                behaviour.status,
            )
        )
        owner.closing.wait(owner.latency + (behaviour.seconds if behaviour.fault == "hang" else 0))
        if behaviour.status != 200:
            self._send(behaviour, self._refusal(behaviour, texts, authorization))
        else:
            self._send(behaviour, self._embeddings(behaviour, texts, asked))

    def _refusal(self, behaviour: Behaviour, texts: Sequence[str], authorization: str) -> bytes:
        message = behaviour.message
        if behaviour.fault == "quote":
            message = f"cannot embed {texts[0]!r} for {authorization}"
        error = {
            "message": message,
            "type": "invalid_request_error",
            "param": behaviour.param,
            "code": behaviour.code,
        }
        return json.dumps({"error": error}).encode()

    def _embeddings(
        self, behaviour: Behaviour, texts: Sequence[str], asked: dict[str, Any]
    ) -> bytes:
        fault = behaviour.fault
        if fault == "not json":
            return b"<html>Welcome to this network</html>"
        width = behaviour.width or asked.get("dimensions") or self.server.owner.dimensions
        vectors = vectors_for(texts, width)
        if fault == "nan":
            vectors[-1, 0] = np.nan
        if fault == "zero":
            vectors[-1] = 0.0
        as_base64 = fault != "floats" and (
            asked.get("encoding_format") == "base64" or fault == "base64"
        )
        if as_base64:
            packed = (row.tobytes() for row in vectors.astype("<f4"))
            coded = [f'"{base64.b64encode(one).decode()}"' for one in packed]
        else:
            coded = [json.dumps(row) for row in vectors.tolist()]
        if fault == "cut base64":
            coded[-1] = coded[-1][:-3] + '"'
        indexes = list(range(len(coded)))
        if fault == "repeated":
            indexes[-1] = 0
        items = [
            f'{{"object":"embedding","index":{index},"embedding":{one}}}'
            for index, one in zip(indexes, coded, strict=True)
        ]
        if fault == "shuffled":
            items = items[1:][::-1] + items[:1]
        if fault == "missing":
            items.pop()
        return (
            f'{{"object":"list","data":[{",".join(items)}],"model":{json.dumps(asked["model"])},'
            f'"usage":{{"prompt_tokens":{len(texts)},"total_tokens":{len(texts)}}}}}'
        ).encode()

    def _send(self, behaviour: Behaviour, body: bytes) -> None:
        self.send_response(behaviour.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, content in behaviour.headers:
            self.send_header(name, content)
        self.end_headers()
        if behaviour.fault == "reset":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            # With no time to linger the close is a reset, not an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif behaviour.fault == "drip":
            with contextlib.suppress(ConnectionError):
                for place in range(len(body)):
                    self.wfile.write(body[place : place + 1])
                    self.wfile.flush()
                    if self.server.owner.closing.wait(behaviour.seconds / len(body)):
                        break
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass
