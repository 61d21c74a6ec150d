"""Recursive splitting: at paragraphs, in those that do not fit at lines, in these at blanks.

The idea is known from LangChain's RecursiveCharacterTextSplitter.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Callable

from .blocks import GROUP, SENTENCE, WORD
from .merging import merged, without_sections
from .packing import TICK, Packer, Part
from .pieces import Rule, Span

SEPARATORS = ("\n\n", "\n", " ", "")
#: Separators have at most so many characters.
LONGEST = 256

_LINE_END = r"(?:\r\n|\n|\r(?!\n))"


def spans(text: str, rule: Rule, prefix: str, count: Callable[[str], int]) -> Iterator[Span | None]:
    """Yield spans of whole pieces, as many as fit, and None as ticks between.

    Pieces end behind the first separator; those that do not fit are cut at the second, and so on.
    What one piece was cut into shares no span with what stands around it, except that a span
    repeats whole pieces of up to rule.overlap units. What no separator makes fit is cut between
    words, or inside one that is more than half a span.

    The option `separators`, a list of strings, replaces SEPARATORS; nothing is looked at behind an
    empty one. A line end in them is any line end. A piece ends behind the separator, but behind the
    line ends that it begins with if there are any ("\\n## "), and before the blanks that it ends
    with if there are none (", ").
    """
    packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=True)
    separators = _separators(rule)
    pieces = _pieces(text, packer, [_pattern(one) for one in separators], 2 * LONGEST)
    return without_sections(text, prefix, merged(text, packer, pieces))


def _separators(rule: Rule) -> list[str]:
    given = rule.options.get("separators", SEPARATORS)
    if not isinstance(given, (list, tuple)):
        raise ValueError("the option separators is not a list")
    if not all(isinstance(one, str) and len(one) <= LONGEST for one in given):
        raise ValueError(f"a separator is not a string of at most {LONGEST} characters")
    return list(given[: given.index("")] if "" in given else given)


def _pattern(separator: str) -> re.Pattern[str]:
    """What a piece ends with, for a search from behind its first character."""
    separator = separator.replace("\r\n", "\n").replace("\r", "\n")
    ends = len(separator) - len(separator.lstrip("\n"))
    cut = ends or len(separator.rstrip(" \t"))
    before, behind = _escaped(separator[:cut]), _escaped(separator[cut:])
    if not before:
        return re.compile(f"(?<!{behind})(?={behind})")
    # A run that has to stand before something would be tried from each of its places.
    return re.compile(f"{before}(?={behind})" if behind else f"(?:{before})+")


def _escaped(separator: str) -> str:
    return _LINE_END.join(map(re.escape, separator.split("\n")))


def _pieces(
    text: str, packer: Packer, ladder: list[re.Pattern[str]], reach: int
) -> Iterator[Part | None]:
    """Pieces, cut as far down the ladder as makes them fit, and None as ticks between.

    The first of those that another separator made, or that were cut out of another piece than the
    one before, has GROUP in its level.
    """
    rests = [(0, len(text), 0)]
    run: object = None
    while rests:
        start, end, rung = rests.pop()
        at = end
        if rung < len(ladder):
            at = yield from _search(text, ladder[rung], reach, start, end)
        if at < end:
            rests.append((at, end, rung))
        part = packer.part(start, at, SENTENCE, WORD)
        if part.units > packer.room and rung < len(ladder):
            rests.append((start, at, rung + 1))
            run = None
            continue
        yield part if run == rung else part._replace(level=SENTENCE | GROUP)
        run = rung


def _search(
    text: str, pattern: re.Pattern[str], reach: int, start: int, end: int
) -> Generator[None, None, int]:
    """Yield ticks; return where the first match in text[start:end] ends, or end if there is none.

    A match needs at most so many characters as reach.
    """
    while True:
        stop = min(end, start + TICK)
        match = pattern.search(text, start + 1, stop)
        if match or stop == end:
            return match.end() if match else end
        yield None
        start = stop - reach
