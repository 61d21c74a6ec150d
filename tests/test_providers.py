"""Providers: right vectors for right texts, and failures that say whose fault they are."""

from __future__ import annotations

import email.utils
import json
import os
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pg_grain.local_model import DIMENSIONS, NAME, LocalModel, TextTooLong
from pg_grain.providers import (
    LocalProvider,
    OpenAIProvider,
    ProviderError,
    batches,
    embed_isolating,
    make_provider,
)

from embedding_server import (
    BASE64,
    CUT_BASE64,
    FLOATS,
    MISSING,
    NOT_A_NUMBER,
    NOT_JSON,
    QUOTE,
    REPEATED,
    RESET,
    SHUFFLED,
    ZERO,
    Behaviour,
    EmbeddingServer,
    drip,
    hang,
    refuse,
    vector_for,
    wide,
)

KEY = "test-8f2c1d7be4aa"
TEXTS = ["the first text", "the second text", "the third text"]
PROBE = "a harmless text"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(dimensions=8) as running:
        yield running


@pytest.fixture
def provider(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIProvider:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return OpenAIProvider("test-model", 8, server.url)


def failure(provider: OpenAIProvider, texts: list[str] = TEXTS) -> ProviderError:
    """The error that embedding the texts raises; it fits one line and holds no text and no key."""
    with pytest.raises(ProviderError) as caught:
        provider.embed(texts)
    told = "".join(traceback.format_exception(caught.value))
    for secret in (*texts, KEY):
        assert secret not in told
    assert "\n" not in str(caught.value)
    return caught.value


def verdict(error: ProviderError) -> tuple[str, bool]:
    return error.scope, error.permanent


def right(vectors: list[np.ndarray], texts: list[str], dimensions: int = 8) -> bool:
    """Whether each text has its own vector, to the bit."""
    return len(vectors) == len(texts) and all(
        vector.dtype == np.float32 and np.array_equal(vector, vector_for(text, dimensions))
        for vector, text in zip(vectors, texts, strict=True)
    )


# Answers


@pytest.mark.parametrize("behaviour", [FLOATS, BASE64, SHUFFLED])
def test_vectors_are_right_in_whatever_form_and_order_they_come(
    server: EmbeddingServer, provider: OpenAIProvider, behaviour: Behaviour
) -> None:
    server.script = [behaviour]
    assert right(provider.embed(TEXTS), TEXTS)


def test_a_request_carries_the_texts_unchanged_and_asks_for_base64(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    texts = [
        "def f():\n\treturn 1\n",
        "see <|endoftext|> here",
        "a\u00a0b \U0001f9d1\u200d\U0001f680",
    ]
    assert right(provider.embed(texts), texts)
    (request,) = server.requests
    assert request.texts == tuple(texts)
    assert request.encoding_format == "base64"
    assert request.model == "test-model"
    assert request.dimensions is None


def test_the_dimensions_are_sent_where_the_model_can_shorten(server: EmbeddingServer) -> None:
    provider = OpenAIProvider("test-model", 5, server.url, send_dimensions=True)
    assert right(provider.embed(TEXTS), TEXTS, 5)
    assert server.requests[0].dimensions == 5


def test_no_texts_make_no_request(server: EmbeddingServer, provider: OpenAIProvider) -> None:
    assert provider.embed([]) == []
    assert server.count == 0


def test_a_large_batch_comes_back_whole() -> None:
    texts = [f"text {number}" for number in range(2048)]
    with EmbeddingServer(dimensions=1536) as server:
        vectors = OpenAIProvider("test-model", 1536, server.url).embed(texts)
    assert right(vectors, texts, 1536)


def test_threads_share_a_provider(server: EmbeddingServer, provider: OpenAIProvider) -> None:
    server.latency = 0.05
    lots = [[f"{batch}/{number}" for number in range(5)] for batch in range(16)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(provider.embed, lots))
    assert all(right(vectors, texts) for vectors, texts in zip(answers, lots, strict=True))


# Answers that break the contract


def test_another_width_is_refused_and_both_numbers_are_named(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [wide(5)]
    error = failure(provider)
    assert verdict(error) == ("pipeline", True)
    assert "5" in str(error) and "8" in str(error)


@pytest.mark.parametrize("behaviour", [MISSING, REPEATED, CUT_BASE64])
def test_an_answer_that_does_not_fit_the_question_stops_the_pipeline(
    server: EmbeddingServer, provider: OpenAIProvider, behaviour: Behaviour
) -> None:
    server.script = [behaviour]
    assert verdict(failure(provider)) == ("pipeline", True)


def test_a_missing_embedding_is_told_with_both_counts(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [MISSING]
    assert "3 texts were sent, 2 embeddings came back" in str(failure(provider))


@pytest.mark.parametrize("behaviour", [NOT_A_NUMBER, ZERO])
@pytest.mark.parametrize("form", ["base64", "floats"])
def test_a_vector_without_direction_is_refused_and_its_text_named(
    server: EmbeddingServer, provider: OpenAIProvider, behaviour: Behaviour, form: str
) -> None:
    server.script = [behaviour]
    error = failure(provider)
    assert verdict(error) == ("record", True)
    assert error.indexes == (2,)


# Refusals


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, ("record", True)),
        (401, ("pipeline", True)),
        (402, ("pipeline", True)),
        (403, ("pipeline", True)),
        (404, ("pipeline", True)),
        (405, ("pipeline", True)),
        (408, ("pipeline", False)),
        (409, ("pipeline", False)),
        (413, ("record", True)),
        (422, ("record", True)),
        (425, ("pipeline", False)),
        (429, ("pipeline", False)),
        (500, ("pipeline", False)),
        (502, ("pipeline", False)),
        (503, ("pipeline", False)),
        (529, ("pipeline", False)),
    ],
)
def test_a_status_says_whose_fault_it_is_and_is_not_asked_twice(
    server: EmbeddingServer,
    provider: OpenAIProvider,
    status: int,
    expected: tuple[str, bool],
) -> None:
    server.script = [refuse(status)]
    error = failure(provider)
    assert verdict(error) == expected
    assert str(status) in str(error)
    assert server.count == 1


@pytest.mark.parametrize("param", ["model", "dimensions", "encoding_format"])
def test_a_400_about_a_setting_is_not_blamed_on_a_text(
    server: EmbeddingServer, provider: OpenAIProvider, param: str
) -> None:
    server.script = [refuse(400, param=param)]
    assert verdict(failure(provider)) == ("pipeline", True)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_read_in_seconds(
    server: EmbeddingServer, provider: OpenAIProvider, status: int
) -> None:
    server.script = [refuse(status, retry_after="2.5")]
    assert failure(provider).retry_after == 2.5


def test_retry_after_is_read_as_a_date(server: EmbeddingServer, provider: OpenAIProvider) -> None:
    server.script = [refuse(429, retry_after=email.utils.formatdate(time.time() + 30, usegmt=True))]
    waiting = failure(provider).retry_after
    assert waiting is not None and 25 < waiting <= 30


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("-3", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("999999999", 86_400.0),
    ],
)
def test_an_odd_retry_after_does_no_harm(
    server: EmbeddingServer, provider: OpenAIProvider, header: str | None, expected: float | None
) -> None:
    server.script = [refuse(429, retry_after=header)]
    error = failure(provider)
    assert verdict(error) == ("pipeline", False)
    assert error.retry_after == expected


def test_what_the_server_says_is_passed_on(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [refuse(404, "no such model,\n try another", code="model_not_found")]
    told = str(failure(provider))
    assert "no such model, try another" in told
    assert "model_not_found" in told
    assert server.url in told


def test_an_error_that_quotes_the_text_or_the_key_is_not_passed_on(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [QUOTE]
    texts = ["The long tale of the secret garden and of whoever went in there"]
    error = failure(provider, texts)
    assert "secret garden" not in str(error)
    assert "400" in str(error)


def test_a_wrong_key_is_told_by_the_name_of_its_variable(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.key = "another"
    told = str(failure(provider))
    assert "OPENAI_API_KEY" in told and "401" in told


# The network


def test_an_answer_that_comes_too_late_is_a_temporary_failure(server: EmbeddingServer) -> None:
    server.script = [hang(30)]
    started = time.monotonic()
    error = failure(OpenAIProvider("test-model", 8, server.url, timeout=0.3))
    assert verdict(error) == ("pipeline", False)
    assert time.monotonic() - started < 5


def test_an_answer_that_drips_in_ends_with_the_time_limit(server: EmbeddingServer) -> None:
    server.script = [drip(60)]
    started = time.monotonic()
    error = failure(OpenAIProvider("test-model", 8, server.url, timeout=0.5))
    assert verdict(error) == ("pipeline", False)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("behaviour", [RESET, NOT_JSON])
def test_a_broken_answer_is_a_temporary_failure(
    server: EmbeddingServer, provider: OpenAIProvider, behaviour: Behaviour
) -> None:
    server.script = [behaviour]
    assert verdict(failure(provider)) == ("pipeline", False)
    assert right(provider.embed(TEXTS), TEXTS)


def test_a_closed_port_is_a_temporary_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = failure(OpenAIProvider("test-model", 8, f"http://127.0.0.1:{port}/v1"))
    assert verdict(error) == ("pipeline", False)
    assert f"127.0.0.1:{port}" in str(error)


def test_a_proxy_is_not_asked_for_this_machine(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert right(OpenAIProvider("test-model", 8, server.url).embed(TEXTS), TEXTS)


# Keys and addresses


def test_the_key_is_read_from_the_named_variable_at_each_call(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of another service")
    provider = OpenAIProvider("test-model", 8, server.url, api_key_env="GARDEN_API_KEY")
    for key in ("first", "second"):
        monkeypatch.setenv("GARDEN_API_KEY", key)
        provider.embed(TEXTS)
    assert [request.authorization for request in server.requests] == [
        "Bearer first",
        "Bearer second",
    ]
    assert "second" not in repr(provider)


@pytest.mark.parametrize("key", ["two\nlines", "schl\u00fcssel", "bell\x07"])
def test_a_key_that_is_none_is_not_sent_and_not_quoted(
    server: EmbeddingServer, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    error = failure(provider)
    assert verdict(error) == ("pipeline", True)
    assert key not in str(error)
    assert server.count == 0


def test_a_line_end_after_the_key_does_no_harm(
    server: EmbeddingServer, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\n")
    provider.embed(TEXTS)
    assert server.requests[0].authorization == f"Bearer {KEY}"


def test_an_endpoint_on_this_machine_needs_no_key(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert right(OpenAIProvider("test-model", 8, server.url).embed(TEXTS), TEXTS)


def test_a_model_without_a_key_sends_nobody_elses(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    OpenAIProvider("test-model", 8, server.url, api_key_env=None).embed(TEXTS)
    assert KEY not in server.requests[0].authorization


def test_a_missing_key_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GARDEN_API_KEY", raising=False)
    # An address that is reserved for documentation: a request to it would not come back so soon.
    error = failure(OpenAIProvider("m", 8, "https://192.0.2.1/v1", api_key_env="GARDEN_API_KEY"))
    assert verdict(error) == ("pipeline", True)
    assert "export GARDEN_API_KEY=" in str(error)


@pytest.mark.parametrize("name", ["PGPASSWORD", "garden_api_key", "X_API_KEY\n", ""])
def test_only_a_variable_for_keys_can_be_named(name: str) -> None:
    with pytest.raises(ProviderError, match="_API_KEY"):
        OpenAIProvider("test-model", 8, "http://127.0.0.1:1/v1", api_key_env=name)


def test_the_endpoint_is_the_models_then_the_environments(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert right(OpenAIProvider("test-model", 8).embed(TEXTS), TEXTS)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert right(OpenAIProvider("test-model", 8, server.url).embed(TEXTS), TEXTS)


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    provider = OpenAIProvider("m", 8, "http://user:hidden@127.0.0.1:1/v1?token=hidden")
    assert "hidden" not in repr(provider)
    assert "hidden" not in str(failure(provider))


@pytest.mark.parametrize("endpoint", ["127.0.0.1:1/v1", "ftp://127.0.0.1/v1", "http://[oops/v1"])
def test_an_endpoint_that_is_no_address_is_refused(endpoint: str) -> None:
    with pytest.raises(ProviderError) as caught:
        OpenAIProvider("m", 8, endpoint).embed(TEXTS)
    assert caught.value.scope == "pipeline"


# Texts that are refused at the door


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0"])
def test_a_blank_text_is_never_sent(
    server: EmbeddingServer, provider: OpenAIProvider, blank: str
) -> None:
    error = failure_at_door(provider, ["a", blank, "b"])
    assert error.indexes == (1,)
    assert server.count == 0


def test_half_a_surrogate_pair_is_never_sent(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    error = failure_at_door(provider, ["a", "a\ud83db", "b"])
    assert error.indexes == (1,)
    assert server.count == 0


def failure_at_door(provider: OpenAIProvider, texts: list[str]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider.embed(texts)
    assert verdict(caught.value) == ("record", True)
    return caught.value


# One bad text among good ones


def test_a_refused_text_stands_alone_in_the_end(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    texts = [f"text {number}" for number in range(40)]
    server.poison = {"text 17"}
    vectors, errors = embed_isolating(provider, texts)
    assert list(errors) == [17]
    assert verdict(errors[17]) == ("record", True)
    good = [place for place in range(40) if place != 17]
    assert right([vectors[place] for place in good], [texts[place] for place in good])
    assert server.count < 20


def test_blank_and_broken_texts_cost_no_request_and_the_others_go_in_one(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    vectors, errors = embed_isolating(provider, ["a", "", "b", "x\udc80y", "c"])
    assert sorted(errors) == [1, 3]
    assert right([vectors[0], vectors[2], vectors[4]], ["a", "b", "c"])
    assert [request.texts for request in server.requests] == [("a", "b", "c")]


def test_only_blank_texts_make_no_request(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    vectors, errors = embed_isolating(provider, ["", " "])
    assert (vectors, sorted(errors)) == ({}, [0, 1])
    assert server.count == 0


def test_every_text_may_be_bad(server: EmbeddingServer, provider: OpenAIProvider) -> None:
    server.poison = set(TEXTS)
    vectors, errors = embed_isolating(provider, TEXTS)
    assert (vectors, sorted(errors)) == ({}, [0, 1, 2])
    assert server.asked[PROBE] == 1


def test_a_provider_that_refuses_every_text_is_not_blamed_on_the_texts(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.always = refuse(400, "this server embeds nothing")
    with pytest.raises(ProviderError) as caught:
        embed_isolating(provider, [f"text {number}" for number in range(64)])
    assert caught.value.scope == "pipeline"
    assert server.count < 12


def test_a_vector_without_direction_costs_its_text_only(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [ZERO]
    vectors, errors = embed_isolating(provider, TEXTS)
    assert list(errors) == [2]
    assert right([vectors[0], vectors[1]], TEXTS[:2])


def test_a_model_that_gives_no_directions_at_all_stops_the_pipeline(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.always = NOT_A_NUMBER
    with pytest.raises(ProviderError) as caught:
        embed_isolating(provider, ["alone"])
    assert caught.value.scope == "pipeline"


def test_a_pipeline_failure_at_the_start_is_raised(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [refuse(429, retry_after="2")]
    with pytest.raises(ProviderError) as caught:
        embed_isolating(provider, TEXTS)
    assert (caught.value.scope, caught.value.retry_after) == ("pipeline", 2.0)
    assert server.count == 1


def test_what_was_answered_before_a_pipeline_failure_is_kept(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.script = [refuse(400), Behaviour(), refuse(503)]
    texts = ["a", "b", "c", "d"]
    vectors, errors = embed_isolating(provider, texts)
    assert right([vectors[0], vectors[1]], texts[:2])
    assert sorted(errors) == [2, 3]
    assert {verdict(error) for error in errors.values()} == {("pipeline", False)}
    assert server.count == 3


@given(
    places=st.sets(st.integers(0, 19), max_size=6),
    blanks=st.sets(st.integers(0, 19), max_size=4),
)
def test_each_text_has_a_vector_or_an_error(
    shared: tuple[EmbeddingServer, OpenAIProvider], places: set[int], blanks: set[int]
) -> None:
    server, provider = shared
    texts = [" " if place in blanks else f"text {place}" for place in range(20)]
    server.poison = {f"text {place}" for place in places}
    vectors, errors = embed_isolating(provider, texts)
    assert set(errors) == places | blanks
    assert set(vectors) == set(range(20)) - set(errors)
    assert all(np.array_equal(vectors[place], vector_for(texts[place], 8)) for place in vectors)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[EmbeddingServer, OpenAIProvider]]:
    with EmbeddingServer(dimensions=8) as running:
        yield running, OpenAIProvider("test-model", 8, running.url)


# Batches


def test_batches_keep_both_limits() -> None:
    assert [len(batch) for batch in batches((n, 1) for n in range(3000))] == [2048, 952]
    assert [len(batch) for batch in batches((n, 1000) for n in range(400))] == [300, 100]


@given(
    counts=st.lists(st.integers(0, 50), max_size=60),
    max_items=st.integers(1, 10),
    max_tokens=st.integers(1, 60),
)
def test_batches_lose_nothing_and_are_as_full_as_they_can_be(
    counts: list[int], max_items: int, max_tokens: int
) -> None:
    made = list(batches(((place, n) for place, n in enumerate(counts)), max_items, max_tokens))
    assert [place for batch in made for place in batch] == list(range(len(counts)))
    for batch in made:
        assert 1 <= len(batch) <= max_items
        assert len(batch) == 1 or sum(counts[place] for place in batch) <= max_tokens
    for batch, following in zip(made, made[1:], strict=False):
        total = sum(counts[place] for place in batch)
        assert len(batch) == max_items or total + counts[following[0]] > max_tokens


@pytest.mark.parametrize("limits", [(0, 1), (1, 0), (-1, 1)])
def test_batches_refuse_limits_that_hold_nothing(limits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        list(batches([("a", 1)], *limits))


# The provider of a row


def test_a_row_makes_its_provider(server: EmbeddingServer) -> None:
    row = {
        "name": "test-model",
        "provider": "openai",
        "endpoint": server.url,
        "api_key_env": None,
        "dimensions": 6,
        "send_dimensions": True,
        "tokenizer": "cl100k_base",
    }
    assert right(make_provider(row).embed(TEXTS), TEXTS, 6)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"provider": "abacus"}, "abacus"),
        ({"dimensions": 768}, "768.*384"),
        ({"name": "another"}, NAME),
    ],
)
def test_a_row_that_cannot_work_is_refused(change: dict[str, object], told: str) -> None:
    row = {"name": NAME, "provider": "local", "dimensions": DIMENSIONS, **change}
    with pytest.raises(ProviderError, match=told) as caught:
        make_provider(row)
    assert verdict(caught.value) == ("pipeline", True)


# The local model


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel()


def test_local_vectors_have_length_one_and_know_what_is_alike(model: LocalModel) -> None:
    vectors = model.embed(
        [
            "How do I reset my password?",
            "Instructions for recovering access to an account",
            "The boiler stands in the cellar",
        ]
    )
    assert vectors.shape == (3, DIMENSIONS) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    alike = vectors @ vectors.T
    assert alike[0, 1] > alike[0, 2] + 0.2


def test_a_local_vector_depends_on_its_text_alone(model: LocalModel) -> None:
    texts = [f"{word} " * length for word, length in [("a", 1), ("boiler", 300), ("x = 1;", 40)]]
    together = model.embed(texts)
    alone = np.concatenate([LocalModel(threads=1).embed([text]) for text in texts])
    assert np.array_equal(together, alone)
    assert np.array_equal(together[::-1], model.embed(texts[::-1]))


def test_threads_share_the_local_model(model: LocalModel) -> None:
    texts = [f"the text of thread {number} " * number for number in range(1, 9)]
    expected = model.embed(texts)
    fresh = LocalModel()
    start = threading.Barrier(8)

    def one(text: str) -> np.ndarray:
        start.wait()
        return fresh.embed([text])[0]

    with ThreadPoolExecutor(8) as pool:
        assert np.array_equal(list(pool.map(one, texts)), expected)


def test_the_end_of_a_long_text_counts(model: LocalModel) -> None:
    filler = "The committee met and took note of the report. " * 50
    plain, ended, about = model.embed(
        [filler, filler + "The boiler in the cellar leaks. " * 40, "a leaking boiler"]
    )
    assert about @ ended > about @ plain + 0.1


def test_a_text_of_one_window_is_read_in_one_piece(model: LocalModel) -> None:
    text = "boiler " * 254
    assert model.count_tokens(text) == 254
    one, two, mixed = model.embed([text, "boiler " * 255, "boiler " * 127])
    # 255 pieces make windows of 127 and 128, whose mean is not the vector of one window.
    assert not np.array_equal(one, two)
    assert two @ mixed > 0.99


def test_the_names_of_special_tokens_are_text(model: LocalModel) -> None:
    assert model.count_tokens("[SEP]") > 1


def test_a_text_above_the_limit_is_refused_not_cut(model: LocalModel) -> None:
    with pytest.raises(TextTooLong, match=r"32769.*32768") as caught:
        model.embed(["fine", "a " * 32_769])
    assert caught.value.index == 1


@pytest.mark.parametrize("blank", ["", " \n"])
def test_the_local_model_makes_up_no_vector(model: LocalModel, blank: str) -> None:
    with pytest.raises(ValueError, match="blank"):
        model.embed([blank])


def test_the_local_provider_fails_one_text_alone() -> None:
    vectors, errors = embed_isolating(
        LocalProvider(), ["fine", "", "b " * 32_769, "a\ud83db", "also fine"]
    )
    assert sorted(vectors) == [0, 4]
    assert {verdict(error) for error in errors.values()} == {("record", True)}
    assert "b b b" not in str(errors[2])


def test_missing_packages_are_told_with_the_line_to_paste(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["onnxruntime"] = None
from pg_grain.errors import UserError
from pg_grain.local_model import LocalModel
from pg_grain.providers import LocalProvider, ProviderError
try:
    LocalModel().embed(["a"])
except UserError as error:
    print(error, error.detail, error.hint, sep="|")
try:
    LocalProvider().embed(["a"])
except ProviderError as error:
    print(error.scope, error.permanent, error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    first, second = ran.stdout.splitlines()
    assert first.startswith("the local model cannot be loaded|onnxruntime")
    assert first.endswith("|pip install 'pg-grain[local]'")
    assert second.startswith("pipeline True") and "pip install" in second


def test_the_local_model_opens_no_connection_and_leaves_no_file(tmp_path: Path) -> None:
    script = """
import json, socket, sys
def refuse(*arguments, **options):
    raise AssertionError("a connection was opened")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from pg_grain.local_model import LocalModel
print(json.dumps(LocalModel().embed(["the boiler"]).shape))
"""
    # Bare of what marks a test run: the runtime's reports would be off there anyway.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert json.loads(ran.stdout) == [1, DIMENSIONS]
    assert list(tmp_path.iterdir()) == []
