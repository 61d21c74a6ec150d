"""Tables of values between delimiters: CSV, TSV and their like.

Each record is a ROW, and repeats the header record if it is cut off from it. Quoting is that of
RFC 4180: a field in quotes may hold delimiters, line ends and, doubled, quotes; a quote elsewhere
is a character like any other. Line ends and delimiters in quotes count only if the closing quote
stands before a delimiter or a line end, blanks aside; else the field ends with its line. What
follows a closing quote in the same line is of the field, too.

Hidden: a first line `sep=;`, by which spreadsheets are told the delimiter.

These are guesses:

* Without such a line, the delimiter of a file whose name ends in `.tsv` or `.tab` is a tab; else it
  is the one that cuts most of the first records into equally many cells, of tab, `|`, `;` and `,`:
  in this order if several do, for decimal commas stand between semicolons, not the reverse.
* Lines of one cell at the beginning of a table of several are a preamble, not the header.
* The first record behind is the header if another follows, no cell of it is a number or a date, and
  none is empty but the first and the last. A year counts as a name if no year is below it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import islice

from ..blocks import BLOCK, HIDDEN, ROW, Block, Blocks
from .tiles import WINDOW, beginning

#: So many records are looked at to find the delimiter and the header.
_SAMPLE, _SAMPLE_SIZE = 20, 1 << 14
_DELIMITERS = "\t|;,"
#: What is malformed is read more slowly, so a tick comes after so many characters.
_TICK = 1 << 13

_SEP_LINE = re.compile(r"\"?sep=([^\r\n\"])\"?[ \t]*(?:[\r\n]+|\Z)", re.I)
_LINE_END = re.compile(r"\r\n?|\n")
_QUOTES = re.compile('"+')
_SPACES = re.compile(" *")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")

#: The start and the end of a record.
_Record = tuple[int, int]
#: Where records start, and their cells.
_Sample = list[tuple[int, list[str]]]


def blocks(text: str, path: str = "", format: str = "csv") -> Blocks:
    """Read a text; yield its records, and None as ticks between."""
    start = beginning(text)
    sep_line = _SEP_LINE.match(text, start)
    if sep_line:
        yield Block(HIDDEN, start, sep_line.end())
        start = sep_line.end()
        delimiters = sep_line[1]
    else:
        delimiters = "\t" if path.lower().endswith((".tsv", ".tab")) else _DELIMITERS
    delimiter, sample = _looked_at(text, start, delimiters)
    header_start = _header_start(sample)
    header = (0, 0)
    last, level = -1, BLOCK
    for record in _Reader(text, delimiter).records(start, len(text)):
        if record is None:
            yield None
            continue
        start = record[0]
        if last >= 0:
            yield Block(level, last, start, 0, "", (), header)
            level = ROW
            if last == header_start:
                header = last, start
        if start == header_start:
            level = BLOCK
        last = start
    if last >= 0:
        yield Block(level, last, len(text), 0, "", (), header)


class _Reader:
    """Finds the records of a text."""

    def __init__(self, text: str, delimiter: str) -> None:
        self.text = text
        ends = re.escape(delimiter) + r"\r\n"
        #: A whole record with the line ends behind; empty if there is none that is well formed.
        self.record = re.compile(
            rf"[^\"\r\n]*(?:(?:(?<![^{ends}\ufeff])\"[^\"]*(?:\"\"[^\"]*)*\"(?= *[{ends}])"
            rf"|(?<=[^{ends}\ufeff])\")[^\"\r\n]*)*[\r\n]+|"
        )
        self.mark = re.compile(rf"(?<![^{ends}\ufeff])\"|\r\n?|\n")
        self.ends = re.compile(rf"[{ends}]")

    def records(self, at: int, size: int) -> Iterator[_Record | None]:
        """Yield the records of text[at:size] that are not blank, and None as ticks between."""
        text = self.text
        while at < size:
            begin = at
            for match in self.record.finditer(text, at, min(size, at + WINDOW)):
                start, at = match.span()
                if start == at:
                    break
                if not (text[start].isspace() and text[start:at].isspace()):
                    yield start, at
            if at == begin:
                at = yield from self.record_end(at, size)
                if not (text[begin].isspace() and text[begin:at].isspace()):
                    yield begin, at
            yield None

    def record_end(self, at: int, size: int) -> Generator[None, None, int]:
        """The end of a record that is malformed or long."""
        searched = at
        while at < size:
            match = self.mark.search(self.text, at, min(size, at + WINDOW))
            at = match.end() if match else min(size, at + WINDOW)
            if match and match[0] != '"':
                return at
            if match:
                at = yield from self.field_end(at, size)
            if at - searched > _TICK:
                searched = at
                yield None
        return size

    def field_end(self, begin: int, size: int) -> Generator[None, None, int]:
        """The end of a field whose opening quote is before begin, or of its line's text."""
        at = ticked = begin
        while at < size:
            if at - ticked > _TICK:
                ticked = at
                yield None
            match = _QUOTES.search(self.text, at, min(size, at + WINDOW))
            if match is None:
                at += WINDOW
                continue
            # Of an even number of quotes each two stand for one.
            run = _QUOTES.match(self.text, match.start(), size) or match
            at = run.end()
            if (at - run.start()) % 2 == 0:
                continue
            blanks = _SPACES.match(self.text, at, size)
            behind = blanks.end() if blanks else at
            if behind == size or self.ends.match(self.text, behind):
                return at
            line_end = _LINE_END.search(self.text, begin, at)
            return at if line_end is None else line_end.start()
        line_end = _LINE_END.search(self.text, begin, size)
        return size if line_end is None else line_end.start()


def _looked_at(text: str, start: int, delimiters: str) -> tuple[str, _Sample]:
    """The delimiter that cuts most of the first records into equally many cells, and these."""
    best: tuple[str, _Sample] = ("", [])
    most = -1.0
    for delimiter in delimiters:
        sample = _sample(text, start, delimiter)
        counts = Counter(len(cells) for _, cells in sample if len(cells) > 1)
        share = max(counts.values(), default=0) / max(1, len(sample))
        if share > most:
            best, most = (delimiter, sample), share
    return best


def _header_start(sample: _Sample) -> int:
    """Where the header record begins; -1 if there is none."""
    several = (at for at, (_, cells) in enumerate(sample) if len(cells) > 1)
    first = next(several, 0)
    if len(sample) < first + 2:
        return -1
    (header_start, names), (_, values) = sample[first : first + 2]
    if not any(names) or not all(names[1:-1]):
        return -1
    values += [""] * (len(names) - len(values))
    return header_start if all(map(_is_name, names, values)) else -1


def _is_name(cell: str, below: str) -> bool:
    """Whether a cell may be the name of a column."""
    if _YEAR.fullmatch(cell):
        return _YEAR.fullmatch(below) is None
    if not any(map(str.isdigit, cell)):
        return True
    if not any(map(str.isalpha, cell.replace("T", "").rstrip("Z"))):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _sample(text: str, start: int, delimiter: str) -> _Sample:
    """The first records that are whole."""
    size = min(len(text), start + _SAMPLE_SIZE)
    found = (span for span in _Reader(text, delimiter).records(start, size) if span)
    spans = list(islice(found, _SAMPLE))
    if len(spans) > 1 and spans[-1][1] == size < len(text):
        del spans[-1]
    quoted = r"\"((?:[^\"]|\"\"){0,9999})\" *(?![^%s])"
    cell = re.compile(f"{quoted}|[^%s]*".replace("%s", re.escape(delimiter)))
    return [(begin, _cells(text[begin:end].rstrip("\r\n"), cell)) for begin, end in spans]


def _cells(record: str, cell: re.Pattern[str]) -> list[str]:
    """The cells of a record without blanks around and quotes, which are enough to judge them."""
    cells = []
    at = -1
    while at < len(record):
        match = cell.match(record, at + 1)
        assert match is not None, "the pattern matches any text"
        cells.append((match[0] if match[1] is None else match[1]).strip())
        at = match.end()
    return cells
