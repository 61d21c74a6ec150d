"""Providers: who turns texts into vectors, and what their failures mean to the queue.

A provider gives one vector for each text or raises ProviderError, which says whether the text or
the way to the model is at fault, and whether asking again can help. It never retries and never
waits: that is the queue's.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import math
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import openai

from .errors import UserError
from .local_model import LocalModel, TextTooLong

#: A vector, float32, shape (dimensions,).
Embedding = npt.NDArray[np.float32]

Scope = Literal["record", "pipeline"]
Item = TypeVar("Item")

#: Limits of one request to OpenAI.
MAX_ITEMS = 2048
MAX_TOKENS = 300_000

#: Seconds for one request from its first byte to the last of its answer.
TIMEOUT = 60.0

#: No answer is longer: 2,048 vectors of 4,000 numbers as decimal text take 180 MB.
ANSWER_LIMIT = 256 * 1024 * 1024

#: The longest wait that a provider may ask for, in seconds.
LONGEST_WAIT = 86_400.0

#: Names of environment variables that may be read as a key: a model's row comes from the
#: database, and must not be able to have any other variable sent to an address of its choice.
KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")

#: What is sent where a server wants some key and none is needed.
NO_KEY = "none"

_TEMPORARY = frozenset({408, 409, 425, 429})
_RECORD = frozenset({400, 413, 422})
#: Parameters that are the model's, not the text's: to refuse them is to refuse every text.
_SETTINGS = frozenset({"model", "dimensions", "encoding_format", "user"})


class ProviderError(Exception):
    """Why there is no vector, on one line, without a word of the document or of the key.

    `scope`: 'record' when other texts may pass, 'pipeline' when none will.
    `permanent`: asking again unchanged cannot help.
    `retry_after`: seconds to wait at least, where the provider said so.
    `indexes`: the texts at fault by their places, where they are known.
    """

    def __init__(
        self,
        scope: Scope,
        permanent: bool,
        message: str,
        retry_after: float | None = None,
        indexes: Sequence[int] = (),
    ) -> None:
        super().__init__(" ".join(message.split()))
        self.scope: Scope = scope
        self.permanent = permanent
        self.retry_after = retry_after
        self.indexes = tuple(indexes)


class TextRefused(ProviderError):
    """A text that is never sent: blank, or no text at all."""


class Provider(Protocol):
    """Turns texts into vectors."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], /) -> list[Embedding]:
        """One vector for each text, in their order, each finite and not zero.

        All or none: raises ProviderError.
        """


class OpenAIProvider:
    """Any endpoint that speaks the OpenAI embeddings protocol. Threads may share one.

    `endpoint` is the base URL, such as https://host/v1; without one, OPENAI_BASE_URL, else
    OpenAI's own. `api_key_env` names the environment variable with the key, which is read at each
    call and kept nowhere; an endpoint on this machine needs none. `timeout` is in seconds and
    covers the whole request, so that an answer that drips in ends too.
    """

    def __init__(
        self,
        name: str,
        dimensions: int,
        endpoint: str | None = None,
        api_key_env: str | None = "OPENAI_API_KEY",
        send_dimensions: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        if api_key_env is not None and not KEY_NAME.fullmatch(api_key_env):
            raise ProviderError(
                "pipeline",
                True,
                f"model {name}: the variable that holds a key has a name in capitals that ends"
                " in _API_KEY",
            )
        self.name = name
        self.dimensions = dimensions
        self.api_key_env = api_key_env
        self.send_dimensions = send_dimensions
        self.timeout = timeout
        self.base_url = endpoint or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        try:
            self._on_this_machine = _is_loopback(urlsplit(self.base_url).hostname or "")
            self._client = openai.OpenAI(
                base_url=self.base_url,
                api_key=self._key,
                max_retries=0,
                timeout=openai.Timeout(timeout, connect=min(timeout, 10.0)),
                # A proxy set for the way out would be asked for this machine's own addresses.
                http_client=(
                    openai.DefaultHttpxClient(trust_env=False) if self._on_this_machine else None
                ),
            )
        except ValueError:
            raise ProviderError(
                "pipeline", True, f"model {name}: its endpoint is no http or https address"
            ) from None

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.name!r}, {self.dimensions}, {_shown(self.base_url)!r})"

    def embed(self, texts: Sequence[str], /) -> list[Embedding]:
        """See Provider. The texts are sent as they are."""
        if not texts:
            return []
        _check_texts(texts)
        self._check_key()
        answer = self._ask(texts)
        try:
            content = json.loads(answer)
        except (ValueError, RecursionError):
            raise self._error(False, "the answer is not JSON") from None
        return self._vectors(content, len(texts))

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        return key or NO_KEY

    def _check_key(self) -> None:
        """Tell what is wrong with a key here: further down, an error might quote it."""
        key = self._key()
        if key == NO_KEY and self.api_key_env and not self._on_this_machine:
            raise ProviderError(
                "pipeline",
                True,
                f"model {self.name}: the environment variable {self.api_key_env} is not set;"
                f" export {self.api_key_env}=...",
            )
        if not (key.isascii() and key.isprintable()):
            raise ProviderError(
                "pipeline",
                True,
                f"model {self.name}: no key is like that in {self.api_key_env}: it holds other"
                " than plain printable characters",
            )

    def _ask(self, texts: Sequence[str]) -> bytes:
        """The body of the answer to a request that succeeded."""
        deadline = time.monotonic() + self.timeout
        answer = bytearray()
        try:
            # Streamed, for two reasons: the client would turn a batch of base64 into Python
            # floats one by one, and its time limit counts from one byte to the next.
            with self._client.embeddings.with_streaming_response.create(
                model=self.name,
                input=list(texts),
                encoding_format="base64",
                dimensions=self.dimensions if self.send_dimensions else openai.omit,
            ) as response:
                failure = self._read(response, answer, deadline)
        except openai.APIStatusError as error:
            failure = self._refused(error, texts)
        except openai.APITimeoutError:
            failure = self._error(False, f"no answer within {self.timeout:g} s")
        except openai.APIConnectionError:
            failure = self._error(False, "cannot be reached")
        except openai.OpenAIError as error:
            failure = self._error(True, f"the client refuses to ask ({type(error).__name__})")
        # Raised here, not above: the client's error holds the request, and that the key.
        if failure:
            raise failure
        return bytes(answer)

    def _read(self, response: Any, answer: bytearray, deadline: float) -> ProviderError | None:
        """Append the body to `answer`; what went wrong, if anything did."""
        try:
            # As it comes in: pieces of a set size would be waited for.
            for part in response.iter_bytes():
                answer += part
                if time.monotonic() > deadline:
                    return self._error(False, f"no whole answer within {self.timeout:g} s")
                if len(answer) > ANSWER_LIMIT:
                    return self._error(True, f"the answer has more than {ANSWER_LIMIT} bytes")
        except Exception as error:
            # Nothing but the network is at work here, and its errors are the HTTP library's,
            # which the client changes with its releases.
            return self._error(False, f"the answer broke off ({type(error).__name__})")
        return None

    def _vectors(self, content: Any, count: int) -> list[Embedding]:
        """The vectors of an answer by the index that each item carries, all checked."""
        items = content.get("data") if isinstance(content, dict) else None
        if not isinstance(items, list):
            raise self._error(True, "the answer holds no list of embeddings")
        if len(items) != count:
            raise self._error(True, f"{count} texts were sent, {len(items)} embeddings came back")
        vectors: list[Embedding | None] = [None] * count
        for place, item in enumerate(items):
            index = item.get("index", place) if isinstance(item, dict) else None
            if not isinstance(index, int) or not 0 <= index < count or vectors[index] is not None:
                raise self._error(True, "the embeddings are not numbered one for each text")
            try:
                vectors[index] = _decoded(item.get("embedding"))
            except (TypeError, ValueError):
                raise self._error(
                    True, f"embedding {index} is neither numbers nor base64"
                ) from None
        whole = [vector for vector in vectors if vector is not None]
        _check_vectors(whole, self.dimensions, self._where())
        return whole

    def _refused(self, error: openai.APIStatusError, texts: Sequence[str]) -> ProviderError:
        """What an answer with an error status means."""
        status = error.status_code
        said = self._said(error, texts)
        retry_after = _retry_after(error.response.headers)
        if status in (401, 403):
            # What the server says here may quote the key.
            named = (
                f"the key in {self.api_key_env}" if self.api_key_env else "a request without key"
            )
            return self._error(True, f"{named} is refused ({status})")
        if status in _RECORD and error.param not in _SETTINGS:
            return ProviderError("record", True, f"{self._where()}: {said}", retry_after)
        temporary = status in _TEMPORARY or status >= 500
        return self._error(not temporary, said, retry_after)

    def _said(self, error: openai.APIStatusError, texts: Sequence[str]) -> str:
        """Status, code and message of an error, less what quotes the texts or the key."""
        body = error.body
        message = body.get("message") if isinstance(body, dict) else None
        code = re.sub(r"[^\w.-]", "", str(error.code or error.type or ""))[:60]
        if len(code) < 3 or _quotes(code, texts):
            code = ""
        said = " ".join(part for part in (str(error.status_code), code) if part)
        if not isinstance(message, str) or not message.strip():
            return said
        message = " ".join(message.split())[:300]
        key = self._key()
        if _quotes(message, texts) or (key != NO_KEY and key in message) or "sk-" in message:
            return said
        return f"{said}: {message}"

    def _where(self) -> str:
        return f"model {self.name} at {_shown(self.base_url)}"

    def _error(
        self, permanent: bool, message: str, retry_after: float | None = None
    ) -> ProviderError:
        return ProviderError("pipeline", permanent, f"{self._where()}: {message}", retry_after)


class LocalProvider:
    """The local model, in this process. All providers of one process share it."""

    _shared = LocalModel()
    _loading = threading.Lock()

    def __init__(self, dimensions: int | None = None, model: LocalModel | None = None) -> None:
        self._model = model or self._shared
        self.name = self._model.name
        self.dimensions = self._model.dimensions
        if dimensions not in (None, self.dimensions):
            raise ProviderError(
                "pipeline",
                True,
                f"model {self.name}: {dimensions} dimensions are declared,"
                f" it has {self.dimensions}",
            )

    def embed(self, texts: Sequence[str], /) -> list[Embedding]:
        """See Provider."""
        if not texts:
            return []
        _check_texts(texts)
        try:
            vectors = list(self._model.embed(texts))
        except TextTooLong as error:
            raise ProviderError("record", True, str(error), indexes=[error.index]) from None
        except UserError as error:
            raise ProviderError(
                "pipeline", True, f"{error}: {error.detail}; {error.hint}"
            ) from error
        _check_vectors(vectors, self.dimensions, f"model {self.name}")
        return vectors


def make_provider(model: Mapping[str, Any]) -> Provider:
    """The provider of a row of grain.models(). Raises ProviderError for one that cannot work.

    Keys read: name, provider ('openai' or 'local'), endpoint, api_key_env, dimensions,
    send_dimensions.
    """
    name, provider = str(model["name"]), model["provider"]
    if provider == "openai":
        return OpenAIProvider(
            name,
            int(model["dimensions"]),
            model.get("endpoint"),
            model.get("api_key_env"),
            bool(model.get("send_dimensions")),
        )
    if provider != "local":
        raise ProviderError("pipeline", True, f"model {name}: no provider is called {provider}")
    local = LocalProvider(model["dimensions"])
    if name != local.name:
        raise ProviderError(
            "pipeline", True, f"model {name}: the local model is called {local.name}"
        )
    return local


def batches(
    items: Iterable[tuple[Item, int]], max_items: int = MAX_ITEMS, max_tokens: int = MAX_TOKENS
) -> Iterator[list[Item]]:
    """Items, given with their token counts, in runs that keep both limits of a request.

    An item above `max_tokens` goes alone. Order is kept; nothing is left out.
    """
    if max_items < 1 or max_tokens < 1:
        raise ValueError("a request holds at least one item and one token")
    batch: list[Item] = []
    total = 0
    for item, tokens in items:
        if batch and (len(batch) == max_items or total + tokens > max_tokens):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += tokens
    if batch:
        yield batch


def embed_isolating(
    provider: Provider, texts: Sequence[str]
) -> tuple[dict[int, Embedding], dict[int, ProviderError]]:
    """Vectors and errors by the places of the texts; each place is in exactly one of the two.

    A batch that is refused for a text is halved until that text stands alone. The first text to
    stand alone before any has passed brings a question with a harmless text: where that is
    refused too, no document is to blame.

    Raises a pipeline error as long as there is no vector to keep. Later, the texts still without an
    answer carry it: what was paid for is not thrown away.
    """
    vectors: dict[int, Embedding] = {}
    errors: dict[int, ProviderError] = {}
    waiting = [list(range(len(texts)))]
    probed = False
    while waiting:
        places = waiting.pop()
        if not places:
            continue
        try:
            answer = provider.embed([texts[place] for place in places])
        except ProviderError as error:
            if error.scope == "pipeline":
                if not vectors:
                    raise
                left = [places, *waiting]
                errors.update((place, error) for run in left for place in run)
                break
            faulty = {places[index] for index in error.indexes}
            if not faulty and len(places) > 1:
                middle = len(places) // 2
                waiting += [places[middle:], places[:middle]]
                continue
            faulty = faulty or set(places)
            if not vectors and not probed and not isinstance(error, TextRefused):
                probed = True
                _probe(provider, error)
            errors.update((place, error) for place in faulty)
            waiting.append([place for place in places if place not in faulty])
        else:
            vectors.update(zip(places, answer, strict=True))
    return vectors, errors


def _probe(provider: Provider, cause: ProviderError) -> None:
    """Raises a pipeline error where the provider refuses even a harmless text."""
    try:
        provider.embed(["a harmless text"])
    except ProviderError as error:
        if error.scope == "pipeline":
            raise
        raise ProviderError(
            "pipeline", cause.permanent, f"every text is refused: {cause}"
        ) from None


def _check_texts(texts: Sequence[str]) -> None:
    """Refuse what no provider can embed, before it costs a request."""
    blank = [index for index, text in enumerate(texts) if not text.strip()]
    if blank:
        raise TextRefused("record", True, "a blank text has no embedding", indexes=blank)
    broken = [index for index, text in enumerate(texts) if not _is_unicode(text)]
    if broken:
        raise TextRefused(
            "record",
            True,
            "the text holds half of a surrogate pair: it was not read as UTF-8",
            indexes=broken,
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decoded(coded: Any) -> Embedding:
    """An embedding as float32, whether it came as base64 of little-endian floats or as numbers."""
    if isinstance(coded, str):
        try:
            content = base64.b64decode(coded, validate=True)
        except binascii.Error as error:
            raise ValueError("not base64") from error
        return np.frombuffer(content, dtype="<f4").astype(np.float32, copy=False)
    if not isinstance(coded, list):
        raise TypeError("not an embedding")
    with np.errstate(over="ignore"):
        vector = np.array(coded, dtype=np.float64).astype(np.float32)
    if vector.ndim != 1:
        raise ValueError("not one row of numbers")
    return vector


def _check_vectors(vectors: Sequence[Embedding], dimensions: int, where: str) -> None:
    """Refuse vectors that are of another width (the model's fault) or no direction (the text's)."""
    for vector in vectors:
        if len(vector) != dimensions:
            raise ProviderError(
                "pipeline",
                True,
                f"{where}: the vectors have {len(vector)} dimensions, {dimensions} are declared",
            )
    table = np.stack(vectors).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        norms = np.linalg.norm(table, axis=1)
    pointless = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if len(pointless):
        raise ProviderError(
            "record",
            True,
            f"{where}: the vector is no direction (not finite, or all zero)",
            indexes=[int(index) for index in pointless],
        )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait that an answer asks for, in seconds, if it does (RFC 9110, section 10.2.3)."""
    given = headers.get("retry-after", "").strip()
    try:
        seconds = float(given)
    except ValueError:
        try:
            moment = parsedate_to_datetime(given)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else None


def _quotes(message: str, texts: Sequence[str]) -> bool:
    """Whether a message repeats a short text, or a dozen characters of a longer one."""
    message = " ".join(message.lower().split())
    runs = {message[start : start + 12] for start in range(max(1, len(message) - 11))}
    for text in texts:
        plain = " ".join(text.lower().split())
        if plain in message or any(len(run) == 12 and run in plain for run in runs):
            return True
    return False


def _shown(url: str) -> str:
    """A URL without what may be secret in it: user, password, query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
