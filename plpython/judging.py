"""Judging a search: where a quote stands in a text, and how far a mean can be trusted."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

#: How often the questions are drawn anew for an interval.
RESAMPLES = 1000

#: A measure of 1.0 in fixed point, and the bits that the sum of one measure may take.
_ONE = 1 << 40
_WORD = struct.calcsize("<Q")

_RUN = re.compile(r"\S+")

#: measure, mean, low, high: the columns of grain._bootstrap().
Interval = tuple[object, ...]
TICK: Interval = (None,) * 4


def occurrences(text: str, quote: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each place where a quote stands in a text, in characters.

    The quote is looked for letter by letter; if that finds nothing, any run of blanks is taken for
    any other, and blanks around the quote for none. A blank quote stands nowhere.
    """
    if not quote.strip():
        return
    found = False
    for start in _places(text, quote):
        found = True
        yield start, start + len(quote)
    if found:
        return
    runs = [match.span() for match in _RUN.finditer(text)]
    squeezed = " ".join(text[start:end] for start, end in runs)
    begins = list(accumulate((end - start + 1 for start, end in runs), initial=0))
    wanted = " ".join(quote.split())

    def place(at: int) -> int:
        run = bisect_right(begins, at) - 1
        return runs[run][0] + at - begins[run]

    for start in _places(squeezed, wanted):
        yield place(start), place(start + len(wanted) - 1) + 1


def bootstrap(values: Sequence[float], width: int) -> Iterator[Interval]:
    """Yield (measure, mean, low, high) of each of `width` measures, and ticks while it works.

    `values` holds question after question, `width` measures each, from -1 to 1; at the most four
    million questions. Low and high bound the middle 95 % of the means of RESAMPLES samples, each
    as many questions drawn with replacement (the percentile bootstrap: Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993, chapter 13). The draws are seeded by a constant: the same
    values have the same interval.

    All measures of a question are packed into one integer, so that one addition adds them all.
    """
    layout = struct.Struct(f"<{width}Q")
    questions = [
        int.from_bytes(
            layout.pack(*(round((value + 1) * _ONE) for value in values[at : at + width])), "little"
        )
        for at in range(0, len(values), width)
    ]
    count = len(questions)

    def means(total: int) -> list[float]:
        sums = layout.unpack(total.to_bytes(_WORD * width, "little"))
        return [(added - count * _ONE) / (count * _ONE) for added in sums]

    draw = Random(count)
    samples = []
    for _ in range(RESAMPLES):
        samples.append(means(sum(draw.choices(questions, k=count))))
        yield TICK
    tail = RESAMPLES // 40
    for measure, mean in enumerate(means(sum(questions))):
        ordered = sorted(sample[measure] for sample in samples)
        yield measure, mean, ordered[tail], ordered[-1 - tail]


def _places(text: str, quote: str) -> Iterator[int]:
    """Where one text stands in another, letter by letter; places may overlap."""
    at = text.find(quote)
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)
