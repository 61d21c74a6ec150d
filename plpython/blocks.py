"""What a reader makes of a text: its blocks, the borders between them, and where they stand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: Borders, from the weakest: inside a word (between grapheme clusters, if they are not longer than
#: the budget), between words, lines of running text, sentences, lines that stand for themselves
#: (rows of a table, lines of code, nested items), items of a list, and blocks.
INSIDE, WORD, LINE, SENTENCE, ROW, ITEM, BLOCK = range(7)
#: Added to a border between groups of parts, which never share a span.
GROUP = 8

#: What is no text of a chunk: a heading, what a format hides, and the begin of a scope.
HEADING, HIDDEN, SCOPE = -1, -2, -3

#: Titles are cut at so many characters.
TITLE = 1000


class Block(NamedTuple):
    """A stretch of a text with the blank lines behind it; blank lines before the first are in none.

    level is that of the border before it, or one of three others. HEADING is a heading's own lines:
    rank is 1 to 6, 1 the highest, and title its text in one line. HIDDEN is in no chunk. SCOPE is
    empty (start == end) and says that what follows stands under the titles in path, for formats
    that name their parts by other means than headings: definitions of a program, keys of an object.

    header is the span of what a part cut off from its beginning has to repeat to be understood: the
    header row of a table. It lies before the block and ends at a line end, or is empty.
    """

    level: int
    start: int
    end: int
    rank: int = 0
    title: str = ""
    path: tuple[str, ...] = ()
    header: tuple[int, int] = (0, 0)


class Segment(NamedTuple):
    """text[at:] of a Mapped, up to the next segment, comes from source[start:end].

    If both are equally long, character stands for character; else each for all of the source.
    """

    at: int
    start: int
    end: int


class Mapped(NamedTuple):
    """A text that was made of a document which cannot be read as it stands, such as HTML.

    The blocks are of text. segments are in order; their `at` rises from 0, and so do `start` and
    `end` without overlap.
    """

    text: str
    blocks: Sequence[Block]
    segments: Sequence[Segment]


class Origins:
    """Where the characters of a Mapped come from."""

    def __init__(self, mapped: Mapped) -> None:
        self._segments = mapped.segments
        self._starts = [segment.at for segment in mapped.segments]
        self._ends = [*self._starts[1:], len(mapped.text)]

    def of(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source that text[start:end], which is not empty, comes from."""
        segments, starts = self._segments, self._starts
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        from_start = segments[first].start
        if self._is_copy(first):
            from_start += start - starts[first]
        to_end = segments[last].end
        if self._is_copy(last):
            to_end = segments[last].start + end - starts[last]
        return from_start, to_end

    def _is_copy(self, index: int) -> bool:
        at, start, end = self._segments[index]
        return end - start == self._ends[index] - at


#: A reader of a text: its blocks in order, without overlap, and None as ticks between.
Blocks = Iterator["Block | None"]


def one_line(title: str) -> str:
    """A title in one line of at most TITLE characters."""
    return " ".join(title[: 4 * TITLE].split())[:TITLE].rstrip()
