"""Serving: the local model under the OpenAI protocol, through real clients and bare sockets."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import openai
import pytest

from pg_grain.errors import UserError
from pg_grain.local_model import DIMENSIONS, NAME, LocalModel
from pg_grain.providers import LocalProvider, OpenAIProvider, ProviderError
from pg_grain.serve import MAX_BODY, EmbeddingsServer, is_loopback, serve

TEXTS = [
    "the boiler stands in the cellar",
    "def f():\n\treturn 1\n",
    "straße \U0001f9d1\u200d\U0001f680",
]


@contextmanager
def running(host: str = "127.0.0.1") -> Iterator[EmbeddingsServer]:
    with EmbeddingsServer(host, 0, LocalModel()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingsServer]:
    with running() as one:
        yield one


@pytest.fixture(scope="module")
def client(server: EmbeddingsServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)


@pytest.fixture
def connection(server: EmbeddingsServer) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)) as one:
        yield one


def ask(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None
) -> tuple[int, dict[str, Any]]:
    """Status and content of an answer; the connection stays open."""
    sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    connection.request(method, path, sent, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def expected() -> np.ndarray:
    return LocalModel().embed(TEXTS)


@pytest.mark.parametrize("form", ["float", "base64"])
def test_the_openai_client_gets_the_models_vectors(client: openai.OpenAI, form: Any) -> None:
    answer = client.embeddings.create(model=NAME, input=TEXTS, encoding_format=form)
    got = [
        np.frombuffer(base64.b64decode(item.embedding), "<f4")
        if isinstance(item.embedding, str)
        else item.embedding
        for item in answer.data
    ]
    assert [item.index for item in answer.data] == [0, 1, 2]
    assert np.array_equal(np.array(got, dtype=np.float32), expected())


def test_the_clients_default_form_works_for_one_text(client: openai.OpenAI) -> None:
    answer = client.embeddings.create(model=NAME, input=TEXTS[0], dimensions=DIMENSIONS)
    assert np.allclose(answer.data[0].embedding, expected()[0], atol=1e-7)
    assert answer.model == NAME
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == 6


def test_a_provider_over_http_and_one_in_process_agree(server: EmbeddingsServer) -> None:
    over_http = OpenAIProvider(NAME, DIMENSIONS, server.url).embed(TEXTS)
    assert np.array_equal(over_http, LocalProvider(DIMENSIONS).embed(TEXTS))


def test_the_model_is_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [NAME]


def test_health_says_ok(connection: http.client.HTTPConnection) -> None:
    assert ask(connection, "GET", "/health") == (200, {"status": "ok", "model": NAME})


def test_an_unknown_model_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.embeddings.create(model="gpt-unheard-of", input="a")
    assert caught.value.code == "model_not_found"
    assert "gpt-unheard-of" in caught.value.message and NAME in caught.value.message


@pytest.mark.parametrize(
    ("change", "param", "told"),
    [
        ({"input": []}, "input", "list of texts"),
        ({"input": None}, "input", "list of texts"),
        ({"input": ["a", ""]}, "input", "input 1 is blank"),
        ({"input": ["a", " \n"]}, "input", "input 1 is blank"),
        ({"input": [1, 2, 3]}, "input", "tokens"),
        ({"input": [[1, 2], [3]]}, "input", "tokens"),
        ({"input": ["a", None]}, "input", "input 1 is no text"),
        ({"input": ["a\ud83db"]}, "input", "surrogate"),
        ({"input": ["a"] * 2049}, "input", "2049 inputs"),
        ({"dimensions": 256}, "dimensions", "256.*384"),
        ({"dimensions": True}, "dimensions", "384"),
        ({"dimensions": "384"}, "dimensions", "384"),
        ({"encoding_format": "hex"}, "encoding_format", "base64"),
        ({"model": None}, "model", "no model"),
        ({"model": 7}, "model", "no model"),
    ],
)
def test_a_bad_request_is_told_what_is_bad(
    connection: http.client.HTTPConnection, change: dict[str, Any], param: str, told: str
) -> None:
    status, answer = ask(
        connection, "POST", "/v1/embeddings", {"model": NAME, "input": "a", **change}
    )
    assert status == 400
    assert answer["error"]["param"] == param
    assert answer["error"]["type"] == "invalid_request_error"
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert re.search(told, answer["error"]["message"])
    # The connection is in order for the next request.
    assert ask(connection, "GET", "/health")[0] == 200


def test_an_over_long_input_is_refused_by_its_place(server: EmbeddingsServer) -> None:
    with pytest.raises(ProviderError, match="context_length_exceeded") as caught:
        OpenAIProvider(NAME, DIMENSIONS, server.url).embed(["fine", "a " * 40_000])
    assert (caught.value.scope, caught.value.permanent) == ("record", True)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b"[" * 200_000])
def test_a_body_that_is_no_object_is_refused(
    connection: http.client.HTTPConnection, body: bytes
) -> None:
    assert ask(connection, "POST", "/v1/embeddings", body)[0] == 400
    assert ask(connection, "GET", "/health")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("POST", "/v1/completions", 404), ("PUT", "/v1/embeddings", 501)],
)
def test_what_is_not_there_is_refused_in_openais_shape(
    connection: http.client.HTTPConnection, method: str, path: str, status: int
) -> None:
    got, answer = ask(connection, method, path, {})
    assert got == status
    assert answer["error"]["message"]


def test_one_connection_serves_many_requests(connection: http.client.HTTPConnection) -> None:
    connection.connect()
    first = connection.sock
    for _ in range(5):
        status, _answer = ask(connection, "POST", "/v1/embeddings", {"model": NAME, "input": TEXTS})
        assert status == 200
    assert connection.sock is first


def test_two_requests_sent_at_once_get_two_answers(server: EmbeddingsServer) -> None:
    body = json.dumps({"model": NAME, "input": "a"})
    one = f"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    last = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = exchange(server, (one + one + last).encode())
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.endswith(b'"model":"%s"}' % NAME.encode())


def exchange(server: EmbeddingsServer, sent: bytes) -> bytes:
    """All that the server answers to these bytes until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as plain:
        plain.sendall(sent)
        return b"".join(iter(lambda: plain.recv(65536), b""))


@pytest.mark.parametrize(
    "head",
    ["", "Content-Length: -1\r\n", "Content-Length: many\r\n", "Transfer-Encoding: chunked\r\n"],
)
def test_a_body_of_unknown_length_is_refused_and_the_connection_closed(
    server: EmbeddingsServer, head: str
) -> None:
    answer = exchange(server, f"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 411 ")
    assert b"Connection: close" in answer


def test_a_body_that_is_too_large_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.embeddings.create(model=NAME, input="a" * MAX_BODY)
    assert caught.value.status_code == 413


def test_a_request_that_is_no_http_is_refused_in_openais_shape(server: EmbeddingsServer) -> None:
    answer = exchange(server, b"what is this\r\n\r\n")
    assert json.loads(answer.partition(b"\r\n\r\n")[2] or answer)["error"]["message"]


def test_a_client_that_leaves_harms_no_other(
    server: EmbeddingsServer, client: openai.OpenAI
) -> None:
    for sent in (b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 100\r\n\r\n{", b"GET /he"):
        with socket.create_connection(("127.0.0.1", server.server_port)) as plain:
            plain.sendall(sent)
    assert len(client.embeddings.create(model=NAME, input=TEXTS).data) == 3


def test_many_clients_are_served_at_once(client: openai.OpenAI) -> None:
    def one(number: int) -> bool:
        answer = client.embeddings.create(model=NAME, input=TEXTS)
        got = [item.embedding for item in answer.data]
        return np.allclose(got, wanted, atol=1e-7)

    wanted = expected()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(16)))


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_ipv6_works() -> None:
    with running("::1") as server:
        assert server.url.startswith("http://[::1]:")
        assert len(OpenAIProvider(NAME, DIMENSIONS, server.url).embed(["a"])) == 1


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.4", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_only_this_machines_own_addresses_count_as_such(host: str, answer: bool) -> None:
    assert is_loopback(host) is answer


def test_other_machines_are_let_in_only_on_request() -> None:
    with pytest.raises(UserError) as caught:
        serve("0.0.0.0", 0)
    assert "--allow-remote" in caught.value.hint


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=str(port)) as caught:
            serve(port=port)
    assert caught.value.hint == f"pg-grain serve --port {port + 1}"


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`serve` in a process of its own, and its URL."""
    call = f"from pg_grain.serve import serve; serve(port=0{''.join(', ' + a for a in arguments)})"
    with subprocess.Popen(
        [sys.executable, "-c", call], stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stderr is not None
            lines = []
            while "http://" not in (line := started.stderr.readline()):
                assert line, "the server ended"
                lines.append(line)
            yield started, "".join([*lines, line])
        finally:
            started.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_after_the_request_in_hand(number: signal.Signals) -> None:
    with process() as (started, said), ThreadPoolExecutor(1) as pool:
        url = said.split()[-1]
        client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        long = [f"{number} boiler " * 1000 for number in range(8)]
        answer = pool.submit(client.embeddings.create, model=NAME, input=long)
        wait_until_busy(started.pid)
        os.kill(started.pid, number)
        assert started.wait(30) == 0
        assert len(answer.result(5).data) == len(long)
        assert started.stderr is not None and started.stderr.read() == ""


def wait_until_busy(process_id: int) -> None:
    """Wait until a process has used a quarter of a second of processor time from now on."""
    # The processor time of another process, as clock_getcpuclockid(3) makes it on Linux.
    clock = (~process_id << 3) | 2
    start, deadline = time.clock_gettime(clock), time.monotonic() + 30
    while time.clock_gettime(clock) < start + 0.25:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_server_for_other_machines_says_so() -> None:
    with process("host='0.0.0.0'", "allow_remote=True") as (_, said):
        assert said.startswith("warning: ")
