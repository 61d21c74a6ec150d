"""Blocks that tile a text, for readers that find where a block begins and not where it ends."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from ..blocks import HEADING, ROW, SCOPE, Block, one_line

#: So many characters are searched in one go, and read before a tick.
WINDOW = 1 << 16
#: A line with its end; group 1 is its indentation. At the end of a text it is empty.
LINE = re.compile(r"([ \t]*)[^\r\n]*(?:\r\n?|\n)?")

_VISIBLE = re.compile(r"\S")
_PLAIN = (0, "", (), (0, 0))


class Tiles:
    """The blocks that are done, and the one being read, which ends where the next begins."""

    __slots__ = ("_rest", "done", "level", "start")

    def __init__(self) -> None:
        self.done: list[Block] = []
        #: Of the block being read; start is -1 if there is none.
        self.level = 0
        self.start = -1
        # What follows start and end in a Block.
        self._rest: tuple[int, str, tuple[str, ...], tuple[int, int]] = _PLAIN

    def begin(self, level: int, start: int) -> None:
        last = self.start
        if 0 <= last < start:
            self.done.append(Block(self.level, last, start, *self._rest))
        self.level = level
        self.start = start
        self._rest = _PLAIN

    def begin_row(self, start: int, header: tuple[int, int]) -> None:
        self.begin(ROW, start)
        self._rest = 0, "", (), header

    def begin_heading(self, start: int, rank: int, title: str) -> None:
        self.begin(HEADING, start)
        self._rest = rank, one_line(title), (), _PLAIN[3]

    def begin_scope(self, start: int, path: tuple[str, ...]) -> None:
        """What follows stands under the titles in path; a block must begin here, too."""
        self.end(start)
        self.done.append(Block(SCOPE, start, start, 0, "", path))

    def end(self, at: int) -> None:
        """The block being read ends, if there is one."""
        if self.start >= 0:
            self.begin(0, at)
            self.start = -1

    def take(self) -> Iterator[Block]:
        """Hand over the blocks that are done."""
        yield from self.done
        self.done.clear()


def beginning(text: str) -> int:
    """Where a text begins: behind its byte-order mark."""
    return 1 if text.startswith("\ufeff") else 0


def first_visible_line(text: str, at: int) -> Generator[None, None, int]:
    """Yield ticks; return the start of the first line behind `at` that is not blank, or the end."""
    while at < len(text):
        match = _VISIBLE.search(text, at, at + WINDOW)
        if match:
            visible = match.start()
            return max(text.rfind("\n", at, visible) + 1, text.rfind("\r", at, visible) + 1, at)
        at += WINDOW
        yield None
    return len(text)


def stem(path: str) -> tuple[str, ...]:
    """The name of a file without its folder and ending, under which its keys stand; () for none."""
    name = path.replace("\\", "/").rpartition("/")[2]
    title = one_line(name.rpartition(".")[0] or name)
    return (title,) if title else ()
