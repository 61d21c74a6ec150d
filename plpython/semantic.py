"""Cuts where the words change: at borders with few words in common before and behind them.

How alike both sides of a border are is the gap score of TextTiling (Hearst 1997), a cosine of bags
of stemmed words. Where to cut is found by dynamic programming, as in Utiyama and Isahara (2001):
the least sum, over all spans, of the square by which a length misses its goal and of the score of
the border at its beginning.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import accumulate
from math import log2, sqrt
from typing import Callable, NamedTuple

from .blocks import GROUP, SENTENCE
from .merging import merged, without_sections
from .packing import Packer, Part
from .pieces import Rule, Span
from .sentences import line_ends_before, sentences

#: The length aimed at, as a share of what a span may hold.
_GOAL = 2 / 3
#: So many sentences on each side of a border are compared.
_AROUND = 3
#: A sentence of less than this share of what a span may hold goes with the next one, so that a
#: span holds a limited number of them.
_LEAST = 1 / 128
#: So many sentences wait before the spans of the first half are settled.
_WAITING = 512

#: What a border is worth at a line end, at a blank line, and before a title; behind one it costs as
#: much. Likeness is from 0 to 1.
_LINE, _BLANK_LINE, _TITLE = 0.25, 0.5, 0.5
#: The longest title, in characters.
_TITLE_LENGTH = 100
_STOPS = frozenset(".!?…。！？｡।॥؟۔።")
_CLOSING = " \t\r\n\"'”’」』）】》)]»*_"

#: Characters of scripts that are written without blanks, each taken for a word: Thai, Lao, Burmese,
#: Khmer, Japanese and Chinese.
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORDS = re.compile(f"[{_ALONE}]|[^\\W_{_ALONE}]+").findall
#: Words that say nothing about what an English text is about.
_COMMON = frozenset(
    "a about all also an and any are as at be been but by can could did do does for from had has "
    "have he her his how i if in into is it its may me more most my no not of on one or other our "
    "out over s she should so some such t than that the their them then there these they this "
    "those to two up us was we were what when where which who will with would you your".split()
)
_SUFFIXES = ("ing", "edly", "ed", "ies", "es", "s", "ly")
_SHORTEST_STEM = 4
#: So many words are remembered with their stems.
_REMEMBERED = 20_000
#: The length of a sentence's vector.
_UNIT = 1000


class _Sentence(NamedTuple):
    """A part, the weights of its stems, the line ends before it, and whether it ends in a stop."""

    part: Part
    weights: dict[str, int]
    line_ends: int
    has_stop: bool


class _Scored(NamedTuple):
    """A part, and the score of the border at its beginning."""

    part: Part
    score: float


def spans(text: str, rule: Rule, prefix: str, count: Callable[[str], int]) -> Iterator[Span | None]:
    """Yield spans of whole sentences that belong together, and None as ticks between.

    Spans are about two thirds of the size long. Each repeats whole sentences of up to rule.overlap
    units. A sentence that does not fit is cut between words. A short line without a stop is taken
    for the title of the line behind it if a sentence with a stop begins there; a span rather begins
    with a title, and rather at a line or a blank line than inside a paragraph.
    """
    packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=True)
    capacity = max(1, packer.room - packer.overlap)
    parts = _joined(sentences(text, packer), capacity)
    return without_sections(
        text, prefix, merged(text, packer, _tiled(_scored(_known(text, parts)), capacity))
    )


def _joined(parts: Iterable[Part | None], capacity: int) -> Iterator[Part | None]:
    """The parts; those that are very short go with the one behind them, if both fit."""
    held: Part | None = None
    for part in parts:
        if part is None:
            yield None
            continue
        if held is not None:
            if held.units + part.units <= capacity:
                part = part._replace(start=held.start, units=held.units + part.units)
            else:
                yield held
        held = part if part.units < capacity * _LEAST else None
        if held is None:
            yield part
    if held is not None:
        yield held


def _known(text: str, parts: Iterable[Part | None]) -> Iterator[_Sentence | None]:
    """The parts and what of their text decides on borders."""
    stems = _Stems()
    for part in parts:
        if part is None:
            yield None
            continue
        content = text[part.start : part.end]
        counts = Counter(map(stems.__getitem__, _WORDS(content.lower())))
        del counts[""]
        weights = {word: 1 + log2(times) for word, times in counts.items()}
        length = sqrt(sum(weight * weight for weight in weights.values()))
        yield _Sentence(
            part,
            {word: round(_UNIT * weight / length) for word, weight in weights.items()},
            line_ends_before(text, part.start),
            content.rstrip(_CLOSING)[-1:] in _STOPS,
        )


class _Stems(dict[str, str]):
    """word -> stem; '' of common words."""

    def __missing__(self, word: str) -> str:
        stem = "" if word in _COMMON else word
        for suffix in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
                stem = word[: -len(suffix)]
                break
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = stem
        return stem


class _Bag:
    """The sum of the weights of some sentences; integers, so that adding is undone by removing."""

    def __init__(self) -> None:
        self._weights: dict[str, int] = {}
        self._square = 0

    def add(self, sentence: _Sentence) -> None:
        """Add a sentence."""
        weights = self._weights
        for word, weight in sentence.weights.items():
            before = weights.get(word, 0)
            weights[word] = before + weight
            self._square += weight * (2 * before + weight)

    def remove(self, sentence: _Sentence) -> None:
        """Remove a sentence that was added."""
        weights = self._weights
        for word, weight in sentence.weights.items():
            after = weights[word] - weight
            if after:
                weights[word] = after
            else:
                del weights[word]
            self._square -= weight * (2 * after + weight)

    def likeness(self, other: _Bag) -> float:
        """The cosine of the two sums; 0 if there are no words."""
        few, many = self._weights, other._weights
        if len(few) > len(many):
            few, many = many, few
        product = sum(weight * many[word] for word, weight in few.items() if word in many)
        return product / sqrt(self._square * other._square) if product else 0.0


def _scored(sentences: Iterable[_Sentence | None]) -> Iterator[_Scored | None]:
    """The parts and the scores of their borders: how alike both sides are, less their worth."""
    before, behind = _Bag(), _Bag()
    past: deque[_Sentence] = deque()
    ahead: deque[_Sentence] = deque()

    def first() -> _Scored:
        score = before.likeness(behind) - _worth(past, ahead)
        sentence = ahead.popleft()
        behind.remove(sentence)
        before.add(sentence)
        past.append(sentence)
        if len(past) > _AROUND:
            before.remove(past.popleft())
        return _Scored(sentence.part, score)

    for sentence in sentences:
        if sentence is None:
            yield None
            continue
        ahead.append(sentence)
        behind.add(sentence)
        if len(ahead) == _AROUND:
            yield first()
    while ahead:
        yield first()


def _worth(past: Sequence[_Sentence], ahead: Sequence[_Sentence]) -> float:
    """What the border between past and ahead is worth by where it stands."""
    if not ahead[0].line_ends:
        return 0.0
    if past and _is_title(past[-1], ahead[0]):
        return -_TITLE
    worth = _LINE if ahead[0].line_ends == 1 else _BLANK_LINE
    return worth + _TITLE if len(ahead) > 1 and _is_title(ahead[0], ahead[1]) else worth


def _is_title(sentence: _Sentence, following: _Sentence) -> bool:
    return (
        not sentence.has_stop
        and following.has_stop
        and sentence.line_ends > 0
        and following.line_ends > 0
        and sentence.part.end - sentence.part.start <= _TITLE_LENGTH
    )


def _tiled(scored: Iterable[_Scored | None], capacity: int) -> Iterator[Part | None]:
    """The parts, of the level SENTENCE; the first of each span has GROUP in it."""
    goal = capacity * _GOAL
    # What a span of each length costs.
    costs = [(length / goal - 1) ** 2 for length in range(capacity + 1)]
    waiting: list[_Scored] = []
    for one in scored:
        if one is None:
            yield None
        elif one.part.units > capacity:
            yield from _settled(waiting, costs, len(waiting))
            yield one.part._replace(level=SENTENCE | GROUP)
            waiting.clear()
        else:
            waiting.append(one)
            if len(waiting) == _WAITING:
                yield None
                done = yield from _settled(waiting, costs, _WAITING // 2)
                del waiting[:done]
    yield from _settled(waiting, costs, len(waiting))


def _settled(waiting: list[_Scored], costs: list[float], least: int) -> Generator[Part, None, int]:
    """Yield the parts of whole spans, at least so many; return how many they are."""
    starts = _starts(waiting, costs)
    end = next((start for start in starts if start >= least), len(waiting))
    firsts = set(starts)
    for at, (part, _) in enumerate(waiting[:end]):
        yield part._replace(level=SENTENCE | GROUP if at in firsts else SENTENCE)
    return end


def _starts(scored: list[_Scored], costs: list[float]) -> list[int]:
    """Where the spans begin, so that the sum of what they cost is least."""
    before = list(accumulate((one.part.units for one in scored), initial=0))
    least: list[float] = []
    came_from = [0]
    first = 0
    cost = 0.0
    for end, one in enumerate(scored, 1):
        # What it costs to get as far as here and begin a span.
        least.append(cost + one.score)
        while before[end] - before[first] >= len(costs):
            first += 1
        reached = [least[at] + costs[before[end] - before[at]] for at in range(first, end)]
        cost = min(reached)
        came_from.append(first + reached.index(cost))
    starts = []
    at = len(scored)
    while at:
        at = came_from[at]
        starts.append(at)
    return starts[::-1]
