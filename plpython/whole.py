"""Documents whole, and those that are too long in the largest pieces that fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

from .blocks import BLOCK, HEADING, HIDDEN, ITEM, LINE, ROW, SCOPE, SENTENCE, Block, Blocks
from .packing import REACH, Packer, Part
from .pieces import Rule, Span
from .prefixes import Prefixes


def whole(
    text: str, rule: Rule, blocks: Blocks, prefixes: Prefixes, count: Callable[[str], int]
) -> Iterator[Span | None]:
    """Yield one span if the text fits the size, else large ones, and None as ticks between.

    What a format hides is text like any other here, and so are headings. A text that does not fit
    is cut before headings, else as by `prose`, at the strongest border in the upper half of the
    size; there a span repeats up to rule.overlap units of the one before, or the header of the
    table that was cut. A span has the section path and the section of its beginning; {section} in
    a prefix stands for nothing.
    """
    prefix = prefixes.of(())
    packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=True)
    outline = _Outline()
    last_end = -1
    for packed in packer.pack(_parts(text, packer, blocks, outline)):
        if packed is None:
            yield None
            continue
        start, end, units, header = packed
        path, section = outline.at(start)
        lead = "" if last_end < 0 else text[last_end:start]
        yield Span(start, end, units, path, section, prefix, lead, text[header[0] : header[1]])
        last_end = end


class _Outline:
    """The sections of a document, as far as it is read: where they begin, and their paths."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._sections: list[tuple[int, tuple[str, ...]]] = []
        self._at = 0

    def add(self, block: Block) -> None:
        """Read a block. Text before the first heading is a section too."""
        if block.level == HEADING:
            while self._headings and self._headings[-1][0] >= block.rank:
                self._headings.pop()
            self._headings.append((block.rank, block.title))
            self._sections.append((block.start, tuple(title for _, title in self._headings)))
        elif block.level == SCOPE or not self._sections:
            self._sections.append((block.start, block.path))

    def at(self, offset: int) -> tuple[tuple[str, ...], int]:
        """The path and the number of the section at an offset, not before that of the last call."""
        following = self._at + 1
        while following < len(self._sections) and self._sections[following][0] <= offset:
            self._at, following = following, following + 1
        return self._sections[self._at][1], self._at


#: Borders before blocks are weaker than those before headings; those behind headings are weakest.
_WEAKER = {BLOCK: ITEM, HIDDEN: ITEM, ITEM: ROW}


def _parts(text: str, packer: Packer, blocks: Blocks, outline: _Outline) -> Iterator[Part | None]:
    """All blocks as parts, but for the blank lines at both ends, and None as ticks between."""
    text_end = len(text.rstrip())
    blanks = text[: len(text) - len(text.lstrip())]
    text_start = max(blanks.rfind("\n"), blanks.rfind("\r")) + 1
    border: int | None = None
    for block in blocks:
        if block is None or packer.is_due():
            yield None
        if block is None:
            continue
        outline.add(block)
        if block.level in (HEADING, SCOPE):
            border = BLOCK
        start, end = max(block.start, text_start), min(block.end, text_end)
        if start >= end:
            continue
        level = _WEAKER.get(block.level, SENTENCE) if border is None else border
        border = LINE if block.level == HEADING else None
        waiting = [packer.part(start, end, level, SENTENCE, block.header)]
        while waiting:
            part = waiting.pop()
            if part.end - part.start > REACH:
                waiting.extend(reversed(packer.finer(part)))
                if packer.is_due():
                    yield None
            else:
                yield part
