"""Chunks by structure: sections first, then blocks, sentences, lines, words, and clusters last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Callable

from . import markdown
from .grouping import grouped
from .markdown import HEADING, HIDDEN, Block
from .packing import BLOCK, SENTENCE, Packer, Part
from .pieces import Rule, Span
from .prefixes import Prefixes

_PARAGRAPH_END = re.compile(r"(?:\r\n|\n|\r(?!\n))\s*[\r\n]")
#: So many characters are searched for the end of a paragraph before a tick.
_SEARCHED = 1 << 16


def prose(
    text: str,
    rule: Rule,
    is_markdown: bool,
    prefixes: Prefixes,
    count: Callable[[str], int],
) -> Iterator[Span | None]:
    """Yield the chunks of a document in reading order, and None as ticks between.

    A section is what stands under one heading; in plain text the document is one section. A chunk
    never holds text of two sections, nor what stands on both sides of a hidden part. A section
    within the size is one chunk; a larger one is cut into groups of its blocks, and what does not
    fit at the strongest border in the upper half of the size: list item, row, sentence, line,
    word, grapheme cluster. There each chunk repeats up to rule.overlap units of the one before,
    whole sentences if it can. Sections without text give no chunk.
    """
    blocks = iter(markdown.blocks(text) if is_markdown else _paragraphs(text))
    headings: list[tuple[int, str]] = []
    section_path: tuple[str, ...] = ()
    section = -1
    prefix = prefixes.of(section_path)
    hidden: list[Block] = []
    last_end = -1
    stopped: list[Block] = []
    while True:
        block = stopped.pop() if stopped else next(blocks, _END)
        if block is None:
            yield None
        elif block is _END:
            return
        elif block.level == HIDDEN:
            hidden.append(block)
        elif block.level == HEADING:
            while headings and headings[-1][0] >= block.rank:
                headings.pop()
            headings.append((block.rank, block.title))
            section_path = tuple(title for _, title in headings)
            section += 1
            prefix = prefixes.of(section_path)
        else:
            packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=True)
            parts = _parts(packer, block, blocks, stopped)
            for span in packer.pack(grouped(text, packer, parts)):
                if span is None:
                    yield None
                    continue
                # Text before the first heading is a section too, if there is any.
                section = max(section, 0)
                lead = "" if last_end < 0 else _visible(text, last_end, span.start, hidden)
                yield Span(span.start, span.end, span.units, section_path, section, prefix, lead)
                last_end = span.end
                hidden.clear()


_END = Block(HIDDEN, 0, 0)


def _parts(
    packer: Packer, first: Block, blocks: Iterator[Block | None], stopped: list[Block]
) -> Iterator[Part | None]:
    """The parts up to the next heading or hidden part, which is put into stopped."""
    block: Block | None = first
    while True:
        if block is None:
            yield None
        elif block.level < 0:
            stopped.append(block)
            return
        else:
            yield packer.part(block.start, block.end, block.level, SENTENCE)
        block = next(blocks, _END)


def _visible(text: str, start: int, end: int, hidden: Iterable[Block]) -> str:
    """text[start:end] without its hidden parts; '' if the end is before the start."""
    seen = []
    for block in hidden:
        seen.append(text[start : max(start, block.start)])
        start = max(start, block.end)
    seen.append(text[start:end])
    return "".join(seen)


def _paragraphs(text: str) -> Iterator[Block | None]:
    """The blocks of a plain text: lines up to a blank one."""
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
