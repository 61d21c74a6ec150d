"""The pieces of a document as rows for SQL: numbered, never failing, with empty rows between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

from .chunking import chunk
from .pieces import Piece, Rule

#: ordinal, section_path, section, span_start, span_end, first_line, last_line, token_count, lead,
#: repeats, prefix, content, error: the columns of grain._split().
Row = tuple[object, ...]
TICK: Row = (None,) * 13


def rows(
    content: str,
    splitter: str,
    unit: str,
    size: int,
    overlap: int,
    prefix: str,
    options: str,
    format: str | None,
    path: str,
    title: str,
    count: Callable[[str], int] | None,
) -> Iterator[Row]:
    """Cut a document by a rule; yield ticks while it works and then its rows.

    A splitter that fails costs a document its structure, never its text: it is cut into plain
    windows, and `error` says why. The same holds for a rule in tokens without a vocabulary, whose
    windows are as many bytes: no token is shorter than a byte.
    """
    rule = Rule(splitter, unit, size, overlap, prefix, _options(options))
    pieces: list[Piece] = []
    error = None
    try:
        if unit == "tokens" and count is None:
            raise LookupError("the rule's vocabulary is not installed")
        for piece in chunk(content, rule, format=format, path=path, title=title, count=count):
            if piece is None:
                yield TICK
            else:
                pieces.append(piece)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"[:500]
        pieces.clear()
        plain = Rule("window", "bytes" if count is None else unit, size, 0)
        for piece in chunk(content, plain, format="text", count=count):
            if piece is None:
                yield TICK
            else:
                pieces.append(piece)
    for ordinal, piece in enumerate(pieces):
        yield (
            ordinal,
            list(piece.section_path),
            piece.section,
            piece.start,
            piece.end,
            piece.first_line,
            piece.last_line,
            piece.token_count,
            piece.lead,
            piece.repeats,
            piece.prefix,
            piece.content,
            error,
        )


def _options(packed: str) -> dict[str, object]:
    """The options of a rule. Most have none, and a session's first call can do without json."""
    if packed == "{}":
        return {}
    import json

    options: dict[str, object] = json.loads(packed)
    return options
