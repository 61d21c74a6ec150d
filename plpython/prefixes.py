"""The words put before a chunk to say where it stands, cut to leave the chunk its room."""

from __future__ import annotations

import re
from typing import Callable

from .graphemes import is_border
from .pieces import Rule, is_blank

#: Between the headings of a section path.
SEPARATOR = " > "
#: Titles and paths are cut at so many characters, and a prefix is not looked at further to the
#: left than so many for each unit of its room.
LENGTH = 1000
LENGTH_OF_UNIT = 16

_FIELD = re.compile(r"\{(title|path|section)\}")


class Prefixes:
    """Fills in a rule's template for one document after the other section."""

    def __init__(self, rule: Rule, title: str, path: str, count: Callable[[str], int]) -> None:
        self._template = rule.prefix
        self._limit = rule.size // 2
        self._count = count
        self._title = " ".join(title[: 2 * LENGTH].split())[:LENGTH]
        self._path = path[-LENGTH:].strip()

    def of(self, section_path: tuple[str, ...]) -> str:
        """The prefix of a section; '' if nothing is to be seen, else it ends in a blank line.

        It takes at most half of the size. If it is longer, headings are dropped from the outermost
        on; if the innermost is still too long, characters from the left.
        """
        if not self._template:
            return ""
        headings = [heading for heading in section_path if heading]
        while True:
            text = self._filled(SEPARATOR.join(headings))
            if self._fits(text):
                return text and text + "\n\n"
            if len(headings) < 2:
                return self._shortened(text)
            del headings[0]

    def _filled(self, section: str) -> str:
        fields = {"title": self._title, "path": self._path, "section": section}
        text = _FIELD.sub(lambda match: fields[match.group(1)], self._template)
        text = "\n".join(line.strip() for line in text.splitlines() if line.strip())
        return "" if is_blank(text) else text

    def _fits(self, text: str) -> bool:
        return not text or self._count(text + "\n\n") <= self._limit

    def _shortened(self, text: str) -> str:
        """The longest end of a text that fits, found by halving."""
        first, last = max(0, len(text) - self._limit * LENGTH_OF_UNIT), len(text)
        while first < last:
            middle = (first + last) // 2
            if self._fits(text[middle:]):
                last = middle
            else:
                first = middle + 1
        for start in range(first, len(text)):
            kept = text[start:].lstrip()
            if is_border(text, start) and not is_blank(kept) and self._fits(kept):
                return kept + "\n\n"
        return ""
