"""One request to an embeddings endpoint on a socket that never blocks, as a generator of waits.

The protocol is OpenAI's: POST {base}/embeddings. Inside the database a blocking read cannot be
interrupted; here the caller gets the control back at least every WAIT seconds.
"""

from __future__ import annotations

import array
import base64
import errno
import json
import math
import os
import select
import socket
import ssl
import sys
import time
from collections.abc import Generator
from functools import partial
from typing import Callable, TypeVar
from urllib.parse import urlsplit

WAIT = 0.05
ANSWER_LIMIT = 16 * 1024 * 1024

T = TypeVar("T")


class EndpointError(Exception):
    """The endpoint cannot be reached, or its answer is no embedding. The message fits one line."""


def embed(
    text: str,
    base_url: str,
    model: str,
    dimensions: int,
    send_dimensions: bool,
    api_key: str | None,
    timeout: float,
) -> Generator[None, None, tuple[str | None, str | None]]:
    """Ask for the vector of one text.

    Yields None at each wait; returns (vector as a pgvector literal, None) or (None, error).
    `timeout` is in seconds and covers the whole exchange.
    """
    request: dict[str, object] = {"model": model, "input": text, "encoding_format": "base64"}
    if send_dimensions:
        request["dimensions"] = dimensions
    try:
        body = json.dumps(request).encode("utf-8")
        answer = yield from _post(base_url.rstrip("/") + "/embeddings", body, api_key, timeout)
        vector = _vector(answer)
        if len(vector) != dimensions:
            raise EndpointError(
                f"the model answers {len(vector)} dimensions, {dimensions} are declared"
            )
        if not all(map(math.isfinite, vector)) or not any(vector):
            raise EndpointError(
                "the answer is no direction: a number in it is not finite, or all are zero"
            )
        return "[" + ",".join(map(repr, vector)) + "]", None
    except EndpointError as error:
        return None, str(error)
    except (OSError, ValueError) as error:
        return None, f"{urlsplit(base_url).netloc}: {error}"


def _vector(answer: bytes) -> list[float]:
    """The one embedding of an answer, whether it came as numbers or as base64 of 32-bit floats."""
    try:
        coded: str | list[float] = json.loads(answer)["data"][0]["embedding"]
        if isinstance(coded, str):
            floats = array.array("f", base64.b64decode(coded, validate=True))
            if sys.byteorder == "big":
                floats.byteswap()
            return floats.tolist()
        return [float(number) for number in coded]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise EndpointError("the answer holds no embedding") from error


def _post(
    url: str, body: bytes, api_key: str | None, timeout: float
) -> Generator[None, None, bytes]:
    """The body of a 200 answer to a POST of JSON; other answers raise EndpointError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointError("the endpoint is no http or https address")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    deadline = time.monotonic() + timeout
    path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        "Accept: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    if api_key:
        head.append(f"Authorization: Bearer {api_key}")
    request = "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body

    connection = yield from _connect(parts.hostname, port, deadline)
    try:
        if parts.scheme == "https":
            wrapped = ssl.create_default_context().wrap_socket(
                connection, server_hostname=parts.hostname, do_handshake_on_connect=False
            )
            connection = wrapped
            yield from _patiently(wrapped.do_handshake, connection, deadline, writing=True)
        view = memoryview(request)
        while view:
            sent = yield from _patiently(
                partial(connection.send, view), connection, deadline, writing=True
            )
            view = view[sent:]
        answer = yield from _receive(connection, deadline)
    finally:
        connection.close()
    return _body(answer, parts.netloc)


def _connect(host: str, port: int, deadline: float) -> Generator[None, None, socket.socket]:
    """A connected socket that does not block, to the first address that answers."""
    reason = "it has no address"
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        code = connection.connect_ex(address)
        if code == errno.EINPROGRESS:
            yield from _until_ready(connection, deadline, writing=True)
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code == 0:
            return connection
        connection.close()
        reason = os.strerror(code).lower()
    raise EndpointError(f"{host}:{port} cannot be reached: {reason}")


def _receive(connection: socket.socket, deadline: float) -> Generator[None, None, bytes]:
    """All that the server sends until it closes, or until the announced length is there."""
    answer = bytearray()
    length: int | None = None
    while length is None or len(answer) < length:
        part = yield from _patiently(
            partial(connection.recv, 65536), connection, deadline, writing=False
        )
        if not part:
            break
        answer += part
        if len(answer) > ANSWER_LIMIT:
            raise EndpointError("the answer is too large")
        if length is None and b"\r\n\r\n" in answer:
            head, _, _ = bytes(answer).partition(b"\r\n\r\n")
            announced = _headers(head).get("content-length", "")
            length = len(head) + 4 + int(announced) if announced.isdigit() else ANSWER_LIMIT
    return bytes(answer)


def _headers(head: bytes) -> dict[str, str]:
    """The header fields of an answer, by their names in lower case."""
    fields = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in fields}


def _body(answer: bytes, host: str) -> bytes:
    """The body of a whole answer whose status is 200; other answers raise the server's message."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    fields = _headers(head)
    if fields.get("transfer-encoding", "").lower() == "chunked":
        body = _unchunked(body)
    elif len(body) < int(fields.get("content-length", "0")):
        raise EndpointError(f"{host} broke off its answer")
    if status != [b"200"]:
        code = status[0].decode("latin-1") if status else "nothing"
        raise EndpointError(f"{host} answers {code}{_message(body)}")
    return body


def _unchunked(body: bytes) -> bytes:
    """The body of an answer in chunked transfer coding (RFC 9112, section 7.1)."""
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if length == 0:
            break
        parts.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(parts)


def _message(body: bytes) -> str:
    """What an error answer says, on one line."""
    try:
        said = json.loads(body)["error"]["message"]
    except (KeyError, TypeError, ValueError):
        return ""
    return ": " + " ".join(str(said).split())[:300]


def _until_ready(
    connection: socket.socket, deadline: float, writing: bool
) -> Generator[None, None, None]:
    """Yield until the socket is ready to be read or written."""
    waiting = [connection]
    while not any(select.select([] if writing else waiting, waiting if writing else [], [], WAIT)):
        if time.monotonic() > deadline:
            raise EndpointError("no answer in time")
        yield


def _patiently(
    call: Callable[[], T], connection: socket.socket, deadline: float, writing: bool
) -> Generator[None, None, T]:
    """The result of a call on a socket that does not block, tried again whenever it is ready."""
    while True:
        if time.monotonic() > deadline:
            raise EndpointError("no answer in time")
        try:
            return call()
        except ssl.SSLWantReadError:
            yield from _until_ready(connection, deadline, writing=False)
        except (BlockingIOError, ssl.SSLWantWriteError) as busy:
            waits_to_write = writing or isinstance(busy, ssl.SSLWantWriteError)
            yield from _until_ready(connection, deadline, writing=waits_to_write)
