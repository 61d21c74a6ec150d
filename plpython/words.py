"""The words of a text for full-text search, in prose and in code.

A word is a run of letters and digits in lower case, after Unicode's compatibility composition
(NFKC). A run with `_`, `-`, `.` or an apostrophe inside, or with capitals or digits behind small
letters, is a compound: it is there as a whole without these signs, and in parts, so that
`getUserName` is found by `get_user_name`, by `getusername` and by `user`. Text of scripts that are
written without blanks is there in pairs of neighbouring characters; one without neighbours stands
alone (as in Lucene's CJK analyzer).

What is stemmed or left out is not decided here but by a text-search configuration.
"""

from __future__ import annotations

import re
from unicodedata import normalize

#: A longer compound is cut at its signs only, and of a longer part so much is kept, in characters:
#: what is longer (base64, minified code) nobody asks for.
_LONGEST_COMPOUND, _LONGEST = 120, 250
#: A text-search vector holds a megabyte; what stands behind so many bytes of it is left out.
_CAPACITY = 800_000
#: So many compounds are remembered.
_REMEMBERED = 20_000

#: Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean.
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
#: Signs that stand above, below and behind letters, in scripts with blanks; and joiners.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed" + (
    "\u0730-\u074a\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d\u0b82\u0bbe-\u0bcd\u0c00-\u0c04"
    "\u0c3e-\u0c4d\u0c81-\u0c83\u0cbc-\u0ccd\u0d00-\u0d03\u0d3e-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf"
    "\u200c\u200d"
)
_LETTER = f"[^\\W_{_ALONE}]"
_RUN = re.compile(
    f"[{_ALONE}]+|{_LETTER}(?:[^\\W_{_ALONE}]+|[{_MARKS}]+|[-_.'\u2019]{{1,3}}(?={_LETTER}))*"
)
_ASCII_RUN = re.compile("[A-Za-z0-9]+(?:[-_.']{1,3}[A-Za-z0-9]+)*")
_IS_ALONE = re.compile(f"[{_ALONE}]")
_SIGNS = re.compile("[-_.'\u2019]+")
_JOINERS = re.compile("[\u200c\u200d]")
#: Capitals before a capitalized word, a word with its capital, small letters, or digits.
_PART = re.compile(
    f"[A-Z\u00c0-\u00de]+(?![a-z\u00df-\u00ff{_MARKS}])|[A-Z\u00c0-\u00de]?[^\\WA-Z\u00c0-\u00de\\d]"
    f"(?:[^\\WA-Z\u00c0-\u00de\\d]|[{_MARKS}])*|[A-Z\u00c0-\u00de]|\\d+"
)


def words(text: str) -> str:
    """The words of a text, in its order and as often as they stand there, with blanks between."""
    runs = _ASCII_RUN.findall(text) if text.isascii() else _RUN.findall(normalize("NFKC", text))
    found: list[str] = []
    for run in runs:
        if run.isalpha() and (run[1:].islower() or len(run) == 1) and run.isascii():
            found.append(run[:_LONGEST].lower())
        else:
            found += _COMPOUNDS[run]
    joined = " ".join(found)
    return joined if 4 * len(joined) < _CAPACITY else _within(found)


def _within(found: list[str]) -> str:
    """As many of the words as a text-search vector holds."""
    known: set[str] = set()
    held = 0
    for at, word in enumerate(found):
        if word not in known:
            known.add(word)
            held += len(word.encode()) + 6
        # Its place.
        held += 2
        if held > _CAPACITY:
            return " ".join(found[:at])
    return " ".join(found)


class _Compounds(dict[str, tuple[str, ...]]):
    """A run -> its words."""

    def __missing__(self, run: str) -> tuple[str, ...]:
        found = tuple(word[:_LONGEST] for word in _of_run(run))
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(run) <= _LONGEST_COMPOUND:
            self[run] = found
        return found


def _of_run(run: str) -> list[str]:
    if _IS_ALONE.match(run):
        return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    run = _JOINERS.sub("", run)
    segments = _SIGNS.split(run)
    if len(run) > _LONGEST_COMPOUND:
        return [segment.lower() for segment in segments]
    found = ["".join(segments).lower()]
    for segment in segments:
        if len(segments) > 1:
            found.append(segment.lower())
        parts = _PART.findall(segment)
        if len(parts) > 1:
            found += map(str.lower, parts)
    return found


_COMPOUNDS = _Compounds()
