"""Serving: the local model behind the OpenAI embeddings protocol, on this machine only by default.

POST /v1/embeddings, GET /v1/models and GET /health; errors have the shape of OpenAI's. So the
database and any OpenAI client ask a laptop's model and a cloud's in one way.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import logging
import signal
import socket
import socketserver
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from .errors import UserError
from .local_model import LocalModel, TextTooLong

log = logging.getLogger(__name__)

#: Limits of one request, as OpenAI's.
MAX_INPUTS = 2048
MAX_BODY = 32 * 1024 * 1024

#: Seconds that a stopping server waits for the requests in hand.
GRACE = 10.0


class Model(Protocol):
    """What is served: see LocalModel."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: list[str], /) -> npt.NDArray[np.float32]: ...

    def count_tokens(self, text: str, /) -> int: ...


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code


def serve(
    host: str = "127.0.0.1",
    port: int = 8089,
    model: Model | None = None,
    allow_remote: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT; requests in hand are answered first. Blocks.

    Raises UserError where the model cannot be loaded, the port is taken, or `host` can be
    reached from other machines and `allow_remote` is not set: nothing asks for a key here.
    """
    if not is_loopback(host):
        if not allow_remote:
            raise UserError(
                f"{host} can be reached from other machines",
                "The server asks for no key: whoever reaches it may use it.",
                f"pg-grain serve --host {host} --allow-remote",
            )
        print(f"warning: whoever reaches {host}:{port} may use the model", file=sys.stderr)
    served = model or LocalModel()
    served.count_tokens("load now, so that what is missing is said at the start")
    try:
        server = EmbeddingsServer(host, port, served)
    except OSError as error:
        raise UserError(
            f"cannot listen on {host}:{port}",
            str(error.strerror or error),
            f"pg-grain serve --port {port + 1}",
        ) from error

    def leave(number: int, frame: FrameType | None) -> None:
        # shutdown() waits for the loop that this very thread runs.
        threading.Thread(target=server.shutdown, daemon=True).start()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
    print(
        f"{served.name}, {served.dimensions} dimensions: {server.url}", file=sys.stderr, flush=True
    )
    with server:
        server.serve_forever(poll_interval=0.1)
        server.finish(GRACE)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class EmbeddingsServer(ThreadingHTTPServer):
    """One model, one thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, model: Model) -> None:
        self.model = model
        self.created = int(time.time())
        self._busy = 0
        self._idle = threading.Condition()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), Handler)

    @property
    def url(self) -> str:
        """The base URL for a client, with the port that was given or found."""
        host, port = self.server_address[:2]
        name = host.decode() if isinstance(host, bytes | bytearray) else str(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/v1"

    def server_bind(self) -> None:
        # HTTPServer's own asks the name service who it is, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        if isinstance(sys.exception(), ConnectionError | TimeoutError):
            log.debug("a client left before its answer")
        else:
            log.exception("a request failed")

    def begin(self) -> None:
        """A request is in hand."""
        with self._idle:
            self._busy += 1

    def end(self) -> None:
        """A request was answered."""
        with self._idle:
            self._busy -= 1
            self._idle.notify_all()

    def finish(self, seconds: float) -> bool:
        """Wait until no request is in hand; false if that took longer."""
        with self._idle:
            return self._idle.wait_for(lambda: self._busy == 0, seconds)


class Handler(BaseHTTPRequestHandler):
    """Reads one connection's requests."""

    server: EmbeddingsServer
    protocol_version = "HTTP/1.1"
    server_version = "pg-grain"
    sys_version = ""
    timeout = 60  # seconds of silence after which a connection is closed
    wbufsize = -1  # head and body leave together
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, handle: Any) -> None:
        self.server.begin()
        try:
            try:
                status, content = HTTPStatus.OK, handle()
            except Refusal as refusal:
                status, content = refusal.status, _error(refusal)
            except (ConnectionError, TimeoutError):
                raise
            except Exception:
                log.exception("the model failed")
                failure = Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the model failed")
                status, content = failure.status, _error(failure)
            self._send(status, content)
            self.wfile.flush()
        finally:
            self.server.end()

    def _get(self) -> dict[str, Any]:
        path = self._path()
        model = self.server.model
        if path == "/health":
            return {"status": "ok", "model": model.name}
        if path == "/v1/models":
            described = {
                "id": model.name,
                "object": "model",
                "created": self.server.created,
                "owned_by": "pg-grain",
            }
            return {"object": "list", "data": [described]}
        raise Refusal(HTTPStatus.NOT_FOUND, f"there is no GET {path}")

    def _post(self) -> dict[str, Any]:
        body = self._body()
        path = self._path()
        if path != "/v1/embeddings":
            raise Refusal(HTTPStatus.NOT_FOUND, f"there is no POST {path}")
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            raise Refusal(HTTPStatus.BAD_REQUEST, "the body is not JSON") from None
        if not isinstance(request, dict):
            raise Refusal(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
        return embeddings(self.server.model, request)

    def _path(self) -> str:
        return urlsplit(self.path).path.rstrip("/")[:200]

    def _body(self) -> bytes:
        """The request's body, read whole, so that the next request starts where it should."""
        announced = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not announced.isdecimal():
            self.close_connection = True
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "the request needs a Content-Length")
        length = int(announced)
        if length > MAX_BODY:
            self.close_connection = True
            # A client reads the answer only when it has sent all; beyond reason it is cut off.
            left = length if length <= 8 * MAX_BODY else 0
            while left and (part := self.rfile.read(min(left, 1 << 16))):
                left -= len(part)
            raise Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body has {length} bytes, {MAX_BODY} are read at the most",
            )
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionResetError("the client left in the middle of its request")
        return body

    def _send(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        body = json.dumps(content, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class refuses (a bad request, an unknown method), in OpenAI's shape."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._send(status, _error(Refusal(status, message or status.phrase)))

    def log_message(self, format: str, *arguments: Any) -> None:
        log.debug(format, *arguments)


def embeddings(model: Model, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to the body of a POST to /v1/embeddings. Raises Refusal."""
    name = request.get("model")
    if not isinstance(name, str) or not name:
        raise _bad("model", "the request names no model")
    if name != model.name:
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            f"the model '{name[:100]}' is not served here, '{model.name}' is",
            "model",
            "model_not_found",
        )
    dimensions = request.get("dimensions")
    if dimensions is not None and (isinstance(dimensions, bool) or dimensions != model.dimensions):
        raise _bad(
            "dimensions",
            f"{str(dimensions)[:20]} dimensions were asked for, the model has {model.dimensions}",
        )
    coding = request.get("encoding_format") or "float"
    if coding not in ("float", "base64"):
        raise _bad("encoding_format", "encoding_format is 'float' or 'base64'")
    texts = _texts(request.get("input"))
    try:
        vectors = model.embed(texts)
    except TextTooLong as error:
        raise _bad(
            "input", f"input {error.index}: {error}", code="context_length_exceeded"
        ) from None
    tokens = sum(map(model.count_tokens, texts))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _coded(vector, coding)}
            for index, vector in enumerate(vectors)
        ],
        "model": model.name,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _texts(given: Any) -> list[str]:
    """The texts of a request's input: one, or a list."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise _bad("input", "input is a text or a list of texts")
    if len(texts) > MAX_INPUTS:
        raise _bad("input", f"{len(texts)} inputs were sent, {MAX_INPUTS} are read at the most")
    for index, text in enumerate(texts):
        if isinstance(text, int | list):
            raise _bad("input", "arrays of tokens are not read here: send text")
        if not isinstance(text, str):
            raise _bad("input", f"input {index} is no text")
        if not text.strip():
            raise _bad("input", f"input {index} is blank")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _bad("input", f"input {index} holds half of a surrogate pair") from None
    return texts


def _coded(vector: npt.NDArray[np.float32], coding: str) -> str | list[float]:
    if coding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    numbers: list[float] = vector.tolist()
    return numbers


def _bad(param: str, message: str, code: str | None = None) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, message, param, code)


def _error(refusal: Refusal) -> dict[str, Any]:
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    return {
        "error": {
            "message": str(refusal),
            "type": kind,
            "param": refusal.param,
            "code": refusal.code,
        }
    }
