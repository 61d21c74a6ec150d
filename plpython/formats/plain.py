"""Plain text: paragraphs, which end at a blank line."""

from __future__ import annotations

import re

from ..blocks import BLOCK, Block, Blocks

_PARAGRAPH_END = re.compile(r"(?:\r\n|\n|\r(?!\n))\s*[\r\n]")
#: So many characters are searched for the end of a paragraph before a tick.
_SEARCHED = 1 << 16


def blocks(text: str, path: str = "", format: str = "text") -> Blocks:
    """Read a text; yield its paragraphs, and None as ticks between."""
    start = 1 if text.startswith("\ufeff") else 0
    while start < len(text):
        searched = start
        match = _PARAGRAPH_END.search(text, searched, searched + _SEARCHED)
        while match is None and searched + _SEARCHED < len(text):
            yield None
            # A blank line may lie across the border of two searches.
            searched += _SEARCHED - 256
            match = _PARAGRAPH_END.search(text, searched, searched + _SEARCHED)
        end = match.end() if match else len(text)
        yield Block(BLOCK, start, end)
        start = end
