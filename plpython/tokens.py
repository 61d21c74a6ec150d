"""Counts of tokens, exactly as tiktoken's cl100k_base has them, with words remembered whole."""

from __future__ import annotations

import marshal
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate
from types import MappingProxyType
from typing import Callable

#: Two memos of this many words of at most this many characters take about 15 MB.
REMEMBERED = 60_000
REMEMBERED_LENGTH = 48

#: Longer texts are counted in stretches of about so many characters: a blank that does not count by
#: itself then costs little.
_STRETCH = 2048
#: Marks of a part that begins or ends with a blank, beyond any count.
_BEGINS, _ENDS = 1 << 40, 1 << 60
#: Blanks before a word or at the end of a line, and a blank of another kind before a blank.
_INDENT = re.compile(r" (?<!  ) +(?:\n(?=\S|\Z)|(?=\S))")
_odd_blank = re.compile(r"[^\S\r\n ] ").search
_between_blanks = re.compile(r" (?=\s|\Z)(?<=\s )").search
_MAY_BE_RAGGED = re.compile(r"[\r\n][^\S\r\n]").search

_BEHIND_BLANK = re.compile(rb"(?=( .))", re.DOTALL).findall

#: So many characters are counted in one go where nobody may have to wait.
COUNTED = 1 << 16
_WORD_END = re.compile("[A-Za-z0-9](?= )")

#: Up to here a search for the lowest rank along the whole piece is faster than a queue.
SHORT_PIECE = 100


def characters(text: str) -> int:
    """Count characters (code points)."""
    return len(text)


def words(text: str) -> int:
    """Count the parts of a text between blanks."""
    return len(text.split())


def utf8_bytes(text: str) -> int:
    """Count bytes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


#: Counts of the units of a rule that need no vocabulary.
UNITS: Mapping[str, Callable[[str], int]] = MappingProxyType(
    {"characters": characters, "words": words, "bytes": utf8_bytes}
)


def pack(ranks: Mapping[bytes, int], letters: str, numbers: str, blanks: str) -> bytes:
    """Pack a vocabulary for `load`.

    ranks are those of the merges, 0..n-1 without a gap; letters, numbers and blanks are the
    characters that the tokenizer's engine takes for \\p{L}, \\p{N} and \\s.
    """
    vocabulary = sorted(ranks, key=ranks.__getitem__)
    if [ranks[token] for token in vocabulary] != list(range(len(vocabulary))):
        raise ValueError("the ranks have gaps")
    classes = [_character_class(letters), _character_class(numbers), _character_class(blanks)]
    shelves: dict[int | bytes, tuple[list[bytes], list[int]]] = {}
    for token in vocabulary:
        tokens, places = shelves.setdefault(_shelf(token), ([], []))
        tokens.append(token)
        places.append(ranks[token])
    # Format 2 of marshal is read by every Python 3. A shelf stays packed until it is needed.
    packed = {key: marshal.dumps(shelf, 2) for key, shelf in shelves.items()}
    return marshal.dumps((classes, packed), 2)


def load(blob: bytes) -> Counter:
    """Unpack what `pack` made, which takes a few milliseconds; keep the result, it remembers."""
    (letters, numbers, blanks), shelves = marshal.loads(blob)
    return Counter(shelves, letters, numbers, blanks)


def _shelf(token: bytes) -> int | bytes:
    """Where a token is kept: by its first byte, and behind a blank, as half of them are, by two."""
    return token[:2] if token[:1] == b" " and len(token) > 1 else token[0]


class Counter:
    """Counts tokens of cl100k_base; special tokens are plain text.

    The pattern of cl100k_base never puts a blank behind a character that is none into one piece,
    but for line ends behind punctuation; nor does it put the last blank before a word into one
    piece with what is before. So a text falls into parts between blanks, whose counts add up where
    no blank stands between two others; and a part that was seen costs one look into a dictionary.

    letters, numbers and blanks are the insides of character classes for `re`.
    """

    def __init__(
        self, shelves: dict[int | bytes, bytes], letters: str, numbers: str, blanks: str
    ) -> None:
        self._parts = _Parts(_Words(shelves, letters, numbers, blanks))

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        total = 0
        for stretch in (text,) if len(text) < _STRETCH else _stretches(text):
            count, is_sum = 0, False
            if "   " not in stretch:
                count, is_sum = self._parts.count(stretch)
            total += count if is_sum else self._count_indented(stretch)
        return total

    def _count_indented(self, text: str) -> int:
        """Count a text with several blanks in a row: those before a line end are a piece with it,
        and all but the last before a word are one."""
        words = self._parts.words
        if _odd_blank(text):
            return words.count(text)
        runs: list[str] = []

        def shorten(match: re.Match[str]) -> str:
            run = match.group()
            runs.append(run)
            return " \n" if run[-1] == "\n" else " "

        count, is_sum = self._parts.count(_INDENT.sub(shorten, text))
        if not is_sum:
            return words.count(text)
        line_ends = 0
        for run in runs:
            if run[-1] == "\n":
                line_ends += 1
                count += words[run]
            else:
                count += words[run[1:]]
        return count - line_ends * words[" \n"]

    def counts(self, text: str) -> Iterator[int]:
        """Yield counts that add up to that of the text, each of so much that it takes some 20 ms.

        No piece of cl100k_base goes on from a letter or digit to a blank behind it.
        """
        start = 0
        while True:
            border = _WORD_END.search(text, start + COUNTED)
            end = border.end() if border else len(text)
            yield self.count(text[start:end])
            if border is None:
                return
            start = end


class _Ranks(dict[bytes, int]):
    """token -> rank, of those tokens that begin as something did that was to be merged."""

    def __init__(self, shelves: dict[int | bytes, bytes]) -> None:
        super().__init__()
        self._shelves = shelves
        self._bytes = b""
        self._pairs: set[bytes] = set()

    def holds(self, data: bytes) -> bool:
        """Whether data is a token."""
        if data not in self:
            self._unpack(_shelf(data))
        return data in self

    def _unpack(self, key: int | bytes) -> None:
        shelf = self._shelves.pop(key, None)
        if shelf is not None:
            self.update(zip(*marshal.loads(shelf)))

    def reach(self, data: bytes) -> None:
        """Take from the shelves every token that could stand in data."""
        # Most words are of letters that were reached before, behind at most one blank.
        blank = data.find(b" ")
        if (
            not data.translate(None, self._bytes)
            and blank == data.rfind(b" ")
            and (blank < 0 or data[blank : blank + 2] in self._pairs)
        ):
            return
        for key in {*data, *_BEHIND_BLANK(data)}:
            self._unpack(key)
        self._bytes = bytes({*self._bytes, *data})
        self._pairs.update(_BEHIND_BLANK(data))

    @cached_property
    def vocabulary(self) -> list[bytes]:
        """All tokens by their ranks."""
        for shelf in self._shelves.values():
            self.update(zip(*marshal.loads(shelf)))
        self._shelves.clear()
        return sorted(self, key=self.__getitem__)


class _Parts(dict[str, int]):
    """part -> tokens of it and the blank before, + _BEGINS and _ENDS where blanks touch these."""

    def __init__(self, words: _Words) -> None:
        super().__init__()
        self.words = words

    def count(self, text: str) -> tuple[int, bool]:
        """The sum of the counts of a text's parts, and whether it is the count of the text."""
        parts = iter(text.split(" "))
        first = next(parts)
        counted = sum(map(self.__getitem__, parts))
        count = (self.words.get(first) or self.words.count(first)) if first else 0
        is_sum = (
            counted < _BEGINS
            or (counted < _ENDS and not first[-1:].isspace())
            or _between_blanks(text) is None
        )
        return count + counted % _BEGINS, is_sum

    def __missing__(self, part: str) -> int:
        count = self.words.count(" " + part)
        if not part or part[0].isspace():
            count += _BEGINS
        if not part or part[-1].isspace():
            count += _ENDS
        if len(part) <= REMEMBERED_LENGTH:
            if len(self) >= REMEMBERED:
                self.clear()
            self[part] = count
        return count


class _Words(dict[str, int]):
    """word, with the blanks before and the line ends behind it -> tokens."""

    def __init__(
        self, shelves: dict[int | bytes, bytes], letters: str, numbers: str, blanks: str
    ) -> None:
        super().__init__()
        self._ranks = _Ranks(shelves)
        self._classes = letters, numbers, blanks
        self._pieces_of_ascii = _pieces("A-Za-z", "0-9", "\t-\r ")
        self._words = re.compile(f"[{blanks}]*[^{blanks}]+[\r\n]*|[{blanks}]+").findall

    @cached_property
    def _pieces_of_all(self) -> Callable[[str], list[str]]:
        # Compiling three thousand ranges takes longer than anything else in loading.
        return _pieces(*self._classes)

    @cached_property
    def _ragged(self) -> tuple[re.Pattern[str], Callable[..., list[str]], Callable[..., object]]:
        # A line of nothing but blanks, or blanks behind the last line end, make one piece with the
        # line end before them, unless punctuation has taken that.
        blanks = self._classes[2]
        return (
            re.compile(r"[\r\n](?:[^\S\r\n]+(?:[\r\n]+|\Z))+"),
            re.compile(
                f"[{blanks}]*[^{blanks}]+(?:[{blanks}]*(?:(?<=[\r\n])|\\Z))?|[{blanks}]+"
            ).findall,
            re.compile(f"[{blanks}]").match,
        )

    def count(self, text: str) -> int:
        """Count the tokens of a text, word by word."""
        count = self.__getitem__
        visible = text.split()
        if len(visible) == 1 and text.endswith(visible[0]):
            return count(text)
        total = at = 0
        if _MAY_BE_RAGGED(text):
            ragged, ragged_words, is_blank = self._ragged
            for match in ragged.finditer(text):
                # From the last word before on, words are cut the slow way.
                cut = text.rfind(" ", at, match.start())
                if cut <= at or is_blank(text, cut - 1):
                    cut = at
                total += sum(map(count, self._words(text, at, cut)))
                total += sum(map(count, ragged_words(text[cut : match.end()])))
                at = match.end()
        return total + sum(map(count, self._words(text, at)))

    def __missing__(self, word: str) -> int:
        data = word.encode("utf-8", "surrogatepass")
        # No token of the vocabulary falls into two pieces.
        if self._ranks.holds(data):
            count = 1
        else:
            pieces = (self._pieces_of_ascii if word.isascii() else self._pieces_of_all)(word)
            if len(pieces) > 1:
                count = sum(map(self.__getitem__, pieces))
            else:
                self._ranks.reach(data)
                count = _merge(data, self._ranks)
        if len(word) <= REMEMBERED_LENGTH:
            if len(self) >= REMEMBERED:
                self.clear()
            self[word] = count
        return count


def _stretches(text: str) -> Iterator[str]:
    """A text in stretches that begin with a visible character at the start of a line; else whole,
    as far as there is no such place."""
    start = at = 0
    while 0 <= at < len(text):
        at = text.find("\n", max(at, start + _STRETCH)) + 1 or len(text)
        if at == len(text) or not text[at].isspace():
            yield text[start:at]
            start = at


def _pieces(letters: str, numbers: str, blanks: str) -> Callable[[str], list[str]]:
    """The pattern of cl100k_base, which cuts a text into the pieces that are merged.

    \\s is spelled out, for Python's has four characters more, and possessive quantifiers are left
    out where giving back could not help a match. No alternative can backtrack far.
    """
    return re.compile(
        "'(?:[sSſdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])"
        f"|[^\r\n{letters}{numbers}]?[{letters}]+"
        f"|[{numbers}]{{1,3}}"
        f"| ?[^{blanks}{letters}{numbers}]+[\r\n]*"
        f"|[{blanks}]+\\Z|[{blanks}]*[\r\n]|[{blanks}]+(?![^{blanks}])|[{blanks}]"
    ).findall


def _merge(data: bytes, ranks: _Ranks) -> int:
    """Count the tokens of one piece by byte pair encoding (Sennrich et al. 2016)."""
    if len(data) <= SHORT_PIECE:
        return _merge_short(data, ranks)
    return _merge_long(_merge_runs(data, ranks), ranks)


def _merge_short(data: bytes, ranks: Mapping[bytes, int]) -> int:
    """Merge the pair of lowest rank, leftmost first, until no pair has one."""
    never = sys.maxsize
    rank = ranks.get
    parts = [data[at : at + 1] for at in range(len(data))]
    pairs = [rank(data[at : at + 2], never) for at in range(len(data) - 1)]
    while pairs:
        lowest = min(pairs)
        if lowest == never:
            break
        at = pairs.index(lowest)
        parts[at] += parts.pop(at + 1)
        del pairs[at]
        if at:
            pairs[at - 1] = rank(parts[at - 1] + parts[at], never)
        if at < len(pairs):
            pairs[at] = rank(parts[at] + parts[at + 1], never)
    return len(parts)


def _merge_runs(data: bytes, ranks: _Ranks) -> list[bytes]:
    """Begin the merging of a long piece: while the lowest pair is common, merge all of it at once.

    A token's own bytes always merge back into it, so no merge makes a pair of lower rank than its
    own, and all places of one rank may be merged together, from left to right: a replacement in a
    string whose characters stand for tokens. Runs of one character halve with each turn.
    """
    vocabulary = ranks.vocabulary
    text = "".join([chr(ranks[data[at : at + 1]]) for at in range(len(data))])
    while True:
        candidates = (
            (ranks.get(vocabulary[ord(left)] + vocabulary[ord(right)]), left + right)
            for left, right in set(zip(text, text[1:]))
        )
        known = [(rank, pair) for rank, pair in candidates if rank is not None]
        if not known:
            break
        rank, pair = min(known)
        shorter = text.replace(pair, chr(rank))
        enough = len(shorter) * 4 > len(text) * 3
        text = shorter
        if enough:
            break
    return [vocabulary[ord(token)] for token in text]


def _merge_long(parts: Sequence[bytes], ranks: Mapping[bytes, int]) -> int:
    """Merge rank by rank: a queue of ranks, and for each the places where it waits. O(n log n)."""
    data = b"".join(parts)
    rank = ranks.get
    # The parts as a list linked both ways, by the byte at which they start; -1 marks what is gone.
    starts = list(accumulate(map(len, parts), initial=0))
    following = [-1] * (len(data) + 1)
    before = [-1] * (len(data) + 1)
    for start, end in zip(starts, starts[1:]):
        following[start] = end
        before[end] = start

    waiting: dict[int, list[tuple[int, int]]] = {}
    for start, end in zip(starts, starts[2:]):
        known = rank(data[start:end])
        if known is not None:
            waiting.setdefault(known, []).append((start, end))
    queue = list(waiting)
    heapify(queue)
    count = len(parts)

    def wait(start: int, end: int) -> None:
        known = rank(data[start:end])
        if known is not None:
            places = waiting.get(known)
            if places is None:
                waiting[known] = [(start, end)]
                heappush(queue, known)
            else:
                places.append((start, end))

    while queue:
        places = waiting.pop(heappop(queue))
        places.sort()
        for start, end in places:
            middle = following[start]
            if middle < 0 or following[middle] != end:
                continue
            following[start] = end
            following[middle] = -1
            before[end] = start
            count -= 1
            if start:
                wait(before[start], end)
            if end < len(data):
                wait(start, following[end])
    return count


def _character_class(characters: str) -> str:
    """The inside of a character class for `re`, as short as ranges make it."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(
        re.escape(chr(first)) + (f"-{re.escape(chr(last))}" if last > first else "")
        for first, last in ranges
    )
