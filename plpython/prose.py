"""Chunks by structure: sections first, then blocks, sentences, lines, words, and clusters last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Callable, NamedTuple

from .blocks import BLOCK, HEADING, HIDDEN, INSIDE, SCOPE, SENTENCE, Block, Blocks
from .grouping import grouped
from .packing import Packer, Part
from .pieces import Rule, Span
from .prefixes import Prefixes

#: A text of more characters than this for each unit of a size is larger than it, uncounted.
_LONG = 16
#: So many blocks are read before a tick.
_TICK = 1024


def prose(
    text: str,
    rule: Rule,
    blocks: Blocks,
    prefixes: Prefixes,
    count: Callable[[str], int],
) -> Iterator[Span | None]:
    """Yield the chunks of a document in reading order, and None as ticks between.

    A section is what stands under one heading or in one scope; in plain text the document is one
    section. A chunk never holds text of two sections, nor what stands on both sides of a hidden
    part. A section within the size is one chunk; a larger one is cut into groups of its blocks, and
    what does not fit at the strongest border in the upper half of the size: list item, row,
    sentence, line, word, grapheme cluster. There each chunk repeats up to rule.overlap units of the
    one before, whole sentences if it can, or the header of the table that was cut. Sections without
    text give no chunk.

    With the option min_size, a section of fewer units is merged with a neighbour: with the section
    behind it unless that stands under a higher heading. The chunk holds the headings between, and
    its section path is what both have in common.
    """
    stretches: Iterator[_Stretch | None] = _stretches(blocks)
    least = rule.options.get("min_size", 0)
    if isinstance(least, int) and least > 0:
        stretches = _Merger(text, rule.size, least, prefixes, count).merged(stretches)
    last_end = -1
    for stretch in stretches:
        if stretch is None:
            yield None
            continue
        prefix = prefixes.of(stretch.path)
        packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=True)
        hidden = stretch.hidden
        for packed in packer.pack(grouped(text, packer, _parts(packer, stretch.blocks))):
            if packed is None:
                yield None
                continue
            start, end, units, header = packed
            lead = "" if last_end < 0 else _visible(text, last_end, start, hidden)
            yield Span(
                *(start, end, units, stretch.path, stretch.section, prefix, lead),
                text[header[0] : header[1]],
            )
            last_end = end
            hidden = []


class _Stretch(NamedTuple):
    """The blocks under one heading up to the next heading or hidden part, which are contiguous.

    begin is where the headings before it begin, and hidden what is hidden since the stretch before.
    """

    path: tuple[str, ...]
    section: int
    begin: int
    blocks: list[Block]
    hidden: list[Block]


def _stretches(blocks: Blocks) -> Iterator[_Stretch | None]:
    headings: list[tuple[int, str]] = []
    path: tuple[str, ...] = ()
    section = -1
    begin = -1
    gathered: list[Block] = []
    hidden: list[Block] = []
    for number, block in enumerate(blocks):
        if block is None or number % _TICK == 0:
            yield None
            if block is None:
                continue
        if block.level >= 0:
            gathered.append(block)
            continue
        if gathered:
            # Text before the first heading is a section too.
            section = max(section, 0)
            yield _Stretch(path, section, _or(begin, gathered[0].start), gathered, hidden)
            gathered, hidden, begin = [], [], -1
        if block.level == HIDDEN:
            hidden.append(block)
            begin = -1
            continue
        begin = _or(begin, block.start)
        section += 1
        if block.level == HEADING:
            while headings and headings[-1][0] >= block.rank:
                headings.pop()
            headings.append((block.rank, block.title))
            path = tuple(title for _, title in headings)
        elif block.level == SCOPE:
            headings.clear()
            path = block.path
    if gathered:
        yield _Stretch(path, max(section, 0), _or(begin, gathered[0].start), gathered, hidden)


def _or(offset: int, other: int) -> int:
    return other if offset < 0 else offset


def _parts(packer: Packer, blocks: Iterable[Block]) -> Iterator[Part]:
    for block in blocks:
        # The first row of a table is of little use without the header before it.
        level = INSIDE if block.header[1] == block.start > 0 else block.level
        yield packer.part(block.start, block.end, level, SENTENCE, block.header)


class _Merger:
    """Merges stretches of fewer units than `least` with those behind them."""

    def __init__(
        self, text: str, size: int, least: int, prefixes: Prefixes, count: Callable[[str], int]
    ) -> None:
        self._text = text
        self._size = size
        self._least = least
        self._prefixes = prefixes
        self._count = count

    def merged(self, stretches: Iterable[_Stretch | None]) -> Iterator[_Stretch | None]:
        held: _Stretch | None = None
        top = 0  # the depth of the highest heading in what is held
        for stretch in stretches:
            if stretch is None:
                yield None
                continue
            union = self._union(held, stretch, top) if held else None
            if union is None:
                yield held
                top = len(stretch.path)
            held = union or stretch
        yield held

    def _union(self, first: _Stretch, second: _Stretch, top: int) -> _Stretch | None:
        """Both as one, if one is too small, both fit, and no higher heading stands between."""
        above = max(0, top - 1)
        if (
            second.hidden
            or len(second.path) < top
            or first.path[:above] != second.path[:above]
            or not (
                self._is_within(first, self._least - 1) or self._is_within(second, self._least - 1)
            )
        ):
            return None
        common = 0
        for ours, theirs in zip(first.path, second.path):
            if ours != theirs:
                break
            common += 1
        path = first.path[:common]
        blocks = [*first.blocks, *second.blocks]
        between = first.blocks[-1].end, second.blocks[0].start
        if between[0] < between[1]:
            blocks.insert(len(first.blocks), Block(BLOCK, *between))
        if common < len(first.path) and first.begin < blocks[0].start:
            blocks.insert(0, Block(BLOCK, first.begin, blocks[0].start))
        union = _Stretch(path, first.section, first.begin, blocks, first.hidden)
        room = self._size - self._count(self._prefixes.of(path))
        return union if self._is_within(union, room) else None

    def _is_within(self, stretch: _Stretch, units: int) -> bool:
        start, end = stretch.blocks[0].start, stretch.blocks[-1].end
        if end - start > _LONG * units:
            return False
        return self._count(self._text[start:end].strip()) <= units


def _visible(text: str, start: int, end: int, hidden: Iterable[Block]) -> str:
    """text[start:end] without its hidden parts; '' if the end is before the start."""
    seen = []
    for block in hidden:
        seen.append(text[start : max(start, block.start)])
        start = max(start, block.end)
    seen.append(text[start:end])
    return "".join(seen)
