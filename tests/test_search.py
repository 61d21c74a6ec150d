"""search(): three legs, fused by rank, widened, merged, capped."""

from __future__ import annotations

import json
from itertools import chain

import psycopg
import pytest

from pg_grain.database import Connection

from conftest import embed_all, value

PATHS = {
    "100%_": ["docs/100%_done.md"],
    "a\\b": ["docs/a\\b.md"],
    "\\": ["docs/a\\b.md"],
    "_": ["docs/100%_done.md", "docs/100x_done.md", "docs/A_B.md"],
}

USER_QUERIES = [
    "What's the limit?",
    "lodash:4.17.21",
    "a & | ! (",
    "jo <jo@example.test>",
    "'",
    "the of and",
    "",
    "   ",
    'c++ -old "two words',
    "\\",
    "%",
    "tab\there",
]


@pytest.fixture
def page(db: Connection) -> Connection:
    """A tracked table of pages, cut at each line: rule 'lines' packs nothing together."""
    db.execute(
        "select grain.create_rule('small', splitter => 'window', unit => 'words', size => 4,"
        " reason => 'small enough to see the seams')"
    )
    db.execute("create table page (id int primary key, path text, body text)")
    db.execute("select grain.track('page', content => 'body', path => 'path', rule => 'small')")
    return db


def words(*marked: int, of: int = 10, mark: str = "zebra") -> str:
    """A text of `of` chunks of four words each; those marked hold the mark."""
    return " ".join(f"{mark if i in marked else 'plain'} w{i}a w{i}b w{i}c" for i in range(of))


@pytest.mark.parametrize("query", PATHS)
def test_a_path_is_matched_literally(page: Connection, query: str) -> None:
    everything = ["docs/100x_done.md", "docs/100%xdone.md", "docs/ab.md", "docs/A_B.md"]
    for i, path in enumerate(sorted({*everything, *chain.from_iterable(PATHS.values())})):
        page.execute("insert into page values (%s, %s, 'zebra text')", [i, path])
    leg = page.execute(
        "select path from grain.search(%s, mode => 'path') order by path collate \"C\"", [query]
    ).fetchall()
    assert [row[0] for row in leg] == sorted(PATHS[query])
    kept = page.execute(
        "select path from grain.search('zebra', path => %s) order by path collate \"C\"", [query]
    ).fetchall()
    assert [row[0] for row in kept] == sorted(PATHS[query])


@pytest.mark.parametrize("query", USER_QUERIES)
def test_any_user_text_is_a_query(page: Connection, query: str) -> None:
    page.execute("insert into page values (1, 'a.md', 'The limit is four and no more')")
    embed_all(page)
    assert page.execute("select * from grain.search(%s)", [query]).fetchall() is not None
    found = page.execute(
        "select lexical_rank, dense_rank from grain.search(%s, query_embedding => '[1,2,3]')",
        [query],
    ).fetchall()
    assert found
    assert found[0][1] == 1


@pytest.mark.parametrize("query", ["the of and", "", "   "])
def test_a_query_without_words_has_no_lexical_hits(db: Connection, query: str) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body', language => 'english')")
    db.execute("insert into page values (1, 'The limit of this and that.')")
    assert db.execute("select * from grain.search(%s)", [query]).fetchall() == []


def test_a_long_question_asks_for_any_of_its_words(page: Connection) -> None:
    page.execute("insert into page values (1, 'a.md', 'The pump is red')")
    found = page.execute(
        "select content from grain.search('which colour has the pump in the cellar of the plant?')"
    ).fetchall()
    assert found == [("The pump is red",)]


def test_a_hit_in_two_legs_beats_the_best_of_one(db: Connection) -> None:
    # 1/61 = 0.016393 for the first of one leg, 2/70 = 0.028571 for the tenth of both.
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body')")
    for i in range(1, 21):
        body = f"quartz {'padding ' * i} number {i}" if i >= 1 else ""
        db.execute("insert into page values (%s, %s)", [i, body])
    for i in range(21, 31):
        db.execute("insert into page values (%s, %s)", [i, f"other text number {i}"])
    jobs = db.execute("select tenant_id, job_id, input from grain.claim('w')").fetchall()
    order = {21: 1, 22: 2, 23: 3, 24: 4, 25: 5, 26: 6, 27: 7, 28: 8, 29: 9, 10: 10}
    vectors = []
    for job in jobs:
        place = order.get(int(job[2].split()[-1]), 40 + int(job[2].split()[-1]))
        vectors.append(f"[1,{place / 100},0]")
    db.execute(
        "select grain.complete('w', %s, %s, %s::halfvec[])",
        [[j[0] for j in jobs], [j[1] for j in jobs], vectors],
    )
    rows = db.execute(
        "select key, score, dense_rank, lexical_rank from"
        " grain.search('quartz', query_embedding => '[1,0,0]', k => 30, expand => 'none')"
    ).fetchall()
    found = {row[0]: row for row in rows}
    for _, score, dense, lexical in rows:
        expected = sum(1 / (60 + rank) for rank in (dense, lexical) if rank)
        assert score == pytest.approx(expected, abs=1e-9)
    assert found["10"][2] == 10
    assert found["21"][3] is None
    assert found["10"][1] > found["21"][1]


def test_neighbours_merge_and_stay_in_their_document(page: Connection) -> None:
    page.execute("insert into page values (1, 'one.md', %s)", [words(3, 4, 6)])
    page.execute("insert into page values (2, 'two.md', %s)", [words(0)])
    rows = page.execute(
        "select path, first_ordinal, last_ordinal, content from"
        " grain.search('zebra', neighbours => 1) order by path"
    ).fetchall()
    assert [row[:3] for row in rows] == [("one.md", 2, 7), ("two.md", 0, 1)]
    body = words(3, 4, 6)
    assert rows[0][3].strip() == body[body.index("plain w2a") : body.index(" plain w8a")]


def test_joined_neighbours_repeat_no_overlap(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body', rule => 'window')")
    body = " ".join(f"word{i}" for i in range(1500))
    db.execute("insert into page values (1, %s)", [body])
    rows = db.execute(
        "select content, span, first_ordinal, last_ordinal from"
        " grain.search('word700', neighbours => 3, k => 1)"
    ).fetchall()
    content, span, first, last = rows[0]
    assert last - first >= 6
    assert content == body[span.lower : span.upper]


def test_joined_sections_return_their_headings(article: Connection) -> None:
    body = "# One\n\nAlpha.\n\n## Two\n\nzebra.\n\n# Three\n\nGamma.\n"
    article.execute("insert into article values (1, '42', 'a.md', null, %s)", [body])
    row = article.execute(
        "select content, section_path, citation, lines, span from grain.search('zebra', tenant => '42')"
    ).fetchone()
    assert row is not None
    assert row[0] == body[body.index("Alpha") : body.index("Gamma.") + 6]
    assert row[1] == ["One", "Two"]
    assert row[2] == "a.md#One > Two L3-L11"
    assert body[row[4].lower : row[4].upper] == row[0]


def test_expansion_keeps_the_hits_and_their_order(page: Connection) -> None:
    for i in range(8):
        page.execute(
            "insert into page values (%s, %s, %s)",
            [i, f"{i}.md", words(4, of=9, mark=" ".join(["zebra"] * 1))],
        )
    plain = page.execute(
        "select key, first_ordinal, score from grain.search('zebra', k => 5, expand => 'none')"
    ).fetchall()
    wide = page.execute(
        "select key, first_ordinal + 2, score from grain.search('zebra', k => 5, neighbours => 2)"
    ).fetchall()
    assert len(plain) == 5
    assert wide == plain


def test_k_passages_come_back_when_hits_merge(page: Connection) -> None:
    page.execute("insert into page values (1, 'one.md', %s)", [words(0, 1, 2, 3, 4, 5, of=6)])
    for i in range(2, 8):
        page.execute("insert into page values (%s, %s, %s)", [i, f"{i}.md", words(2, of=5)])
    rows = page.execute("select path from grain.search('zebra', k => 5)").fetchall()
    assert len(rows) == 5
    assert len(set(rows)) == 5


def test_copies_of_one_text_come_after_what_differs(page: Connection) -> None:
    for i in range(12):
        page.execute(
            "insert into page values (%s, %s, 'zebra zebra zebra licence')", [i, f"{i}.md"]
        )
    page.execute("insert into page values (20, 'own.md', 'one zebra on grass')")
    rows = page.execute(
        "select path, score from grain.search('zebra', k => 10, expand => 'none')"
    ).fetchall()
    assert len(rows) == 10
    assert "own.md" in [row[0] for row in rows[:2]]
    scores = [row[1] for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_small_children_return_their_section(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body', rule => 'small_to_big')")
    body = "# One\n\n" + "\n\n".join(
        f"Paragraph {i} says {'zebra ' if i == 5 else ''}{'words ' * 60}." for i in range(10)
    )
    db.execute("insert into page values (1, %s)", [body + "\n\n# Two\n\nOther."])
    row = db.execute(
        "select first_ordinal, last_ordinal, section_path from grain.search('zebra')"
    ).fetchone()
    last = value(db, "select max(ordinal) from grain.chunk where section_path = '{One}'")
    assert row == (0, last, ["One"])
    assert last >= 3


def test_max_tokens_caps_the_answer(page: Connection) -> None:
    for i in range(10):
        page.execute("insert into page values (%s, %s, %s)", [i, f"{i}.md", words(2, of=5)])
    rows = page.execute(
        "select token_count from grain.search('zebra', k => 10, max_tokens => 60)"
    ).fetchall()
    assert 1 <= len(rows) < 10
    assert sum(row[0] for row in rows) <= 60
    assert len(page.execute("select from grain.search('zebra', max_tokens => 1)").fetchall()) == 1


def test_a_strict_path_filter_leaves_k_rows(page: Connection) -> None:
    for i in range(300):
        folder = "rare" if i % 100 == 0 else "common"
        page.execute(
            "insert into page values (%s, %s, %s)", [i, f"{folder}/{i}.md", f"zebra number {i}"]
        )
    jobs = page.execute(
        "select tenant_id, job_id, input from grain.claim('w', max_items => 500)"
    ).fetchall()
    vectors = [f"[1,{(int(job[2].split()[-1]) % 100 == 0 and 9) or 0},0]" for job in jobs]
    page.execute(
        "select grain.complete('w', %s, %s, %s::halfvec[])",
        [[j[0] for j in jobs], [j[1] for j in jobs], vectors],
    )
    for mode in ("dense", "hybrid", "lexical"):
        rows = page.execute(
            "select path from grain.search('zebra', query_embedding => '[1,0,0]', path => 'rare/',"
            " k => 3, mode => %s)",
            [mode],
        ).fetchall()
        assert sorted(rows) == [("rare/0.md",), ("rare/100.md",), ("rare/200.md",)], mode


def test_a_source_filter(page: Connection) -> None:
    page.execute("create table note (id int primary key, body text)")
    page.execute("select grain.track('note', content => 'body')")
    page.execute("insert into note values (1, 'zebra note')")
    page.execute("insert into page values (1, 'a.md', 'zebra page')")
    assert value(page, "select count(*) from grain.search('zebra')") == 2
    assert (
        value(page, "select source from grain.search('zebra', source => 'note')") == "public.note"
    )
    with pytest.raises(psycopg.Error, match="is not tracked") as caught:
        page.execute("select * from grain.search('zebra', source => 'nope')")
    assert "public.note" in (caught.value.diag.message_detail or "")


def test_without_a_vector_the_answer_is_lexical_and_says_so(page: Connection) -> None:
    page.execute("insert into page values (1, 'a.md', 'zebra page')")
    said = value(page, "select degraded from grain.search('zebra')")
    assert said == "lexical only: no chunk has a vector yet (pg-grain work)"
    embed_all(page)
    said = value(page, "select degraded from grain.search('zebra')")
    assert said.startswith("lexical only: model tiny: 127.0.0.1:9 cannot be reached")
    assert value(page, "select degraded is null from grain.search('zebra', mode => 'lexical')")
    notices: list[str] = []
    page.add_notice_handler(lambda said: notices.append(said.message_primary or ""))
    assert page.execute("select * from grain.search('unknown')").fetchall() == []
    assert "lexical only" in notices[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("query_embedding => '[0,0,0]'", "the query vector is zero"),
        ("query_embedding => '[1,2]'", "has 2 dimensions"),
        ("k => 0", "k is between 1 and 1000"),
        ("k => null", "k is between 1 and 1000"),
        ("mode => 'fast'", 'no mode "fast"'),
        ("expand => 'all'", 'widened to "all"'),
        ("neighbours => -1", "neighbours is between 0 and 100"),
        ("max_tokens => 0", "max_tokens is at least 1"),
    ],
)
def test_bad_arguments_are_refused_with_a_hint(page: Connection, call: str, message: str) -> None:
    page.execute("insert into page values (1, 'a.md', 'zebra page')")
    with pytest.raises(psycopg.Error, match=message) as caught:
        page.execute(f"select * from grain.search('zebra', {call})")
    assert caught.value.sqlstate == "22023"
    assert caught.value.diag.message_hint


def test_a_query_is_compared_with_vectors_of_its_model_only(page: Connection) -> None:
    page.execute("select grain.create_model('other', dimensions => 3)")
    page.execute("create table note (id int primary key, body text)")
    page.execute("select grain.track('note', content => 'body', model => 'other')")
    page.execute("insert into note values (1, 'zebra note')")
    page.execute("insert into page values (1, 'a.md', 'zebra page')")
    embed_all(page)
    with pytest.raises(psycopg.Error, match="two models have 3 dimensions"):
        page.execute("select * from grain.search('zebra', query_embedding => '[1,2,3]')")
    found = page.execute(
        "select dense_rank from grain.search('zebra', query_embedding => '[1,2,3]', source => 'note')"
    ).fetchall()
    assert found == [(1,)]


def test_the_vector_index_answers_as_the_exact_scan_does(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body', backfill => false)")
    db.execute("select setseed(0.5)")
    # Straight into the tables: six thousand documents would only test the chunker again.
    db.execute(
        "insert into grain.document (tenant_id, source_id, key, body_hash)"
        " select grain._default_tenant(), s.source_id, i::text, sha256(i::text::bytea)"
        " from grain.source s, generate_series(1, 6000) i"
    )
    db.execute(
        "insert into grain.chunk (tenant_id, generation_id, document_id, ordinal, section, span_start,"
        " span_end, first_line, last_line, content, content_hash, tsv)"
        " select d.tenant_id, s.live_generation_id, d.document_id, 0, 0, 0, 9, 1, 1, 'text ' || d.key,"
        " d.body_hash, '' from grain.document d join grain.source s using (source_id)"
    )
    db.execute(
        "insert into grain.embedding select tenant_id, generation_id, content_hash,"
        " ('[' || random() - 0.5 || ',' || random() - 0.5 || ',' || random() - 0.5 || ']')::halfvec"
        " from grain.chunk"
    )
    query = (
        "select array_agg(key order by rank) from"
        " grain.search(query_embedding => '[0.3,-0.2,0.1]', k => 20, expand => 'none')"
    )
    exact = value(db, query)
    assert db.execute("select built from grain.build_index('page')").fetchall() == [(True,)]
    assert db.execute("select built from grain.build_index('page')").fetchall() == [(False,)]
    before = db.execute("select current_setting('hnsw.iterative_scan', true)").fetchone()
    approximate = value(db, query)
    assert len(set(exact) & set(approximate)) >= 19
    assert db.execute("select current_setting('hnsw.iterative_scan', true)").fetchone() == before


def test_views_of_the_textbooks(article: Connection) -> None:
    article.execute(
        "insert into article values (1, '42', 'a.md', 'A title', %s)",
        ["# One\n\nAlpha.\n\n# Two\n\nBeta."],
    )
    embed_all(article)
    article.execute("set role grain_reader")
    article.execute("set grain.tenant_id = '42'")
    rows = article.execute(
        "select ordinal, section_path, embedding_model, content, embedding::text"
        " from grain.doc_chunks order by ordinal"
    ).fetchall()
    assert rows == [
        (0, ["One"], "tiny", "Alpha.", "[1,2,3]"),
        (1, ["Two"], "tiny", "Beta.", "[1,2,3]"),
    ]
    row = article.execute(
        "select chunk_index, chunk_text, metadata::text from grain.embeddings where chunk_index = 1"
    ).fetchone()
    assert row is not None
    assert row[:2] == (1, "Beta.")
    assert json.loads(row[2]) == {
        "title": "A title",
        "file_path": "a.md",
        "chunk_index": 1,
        "total_chunks": 2,
    }
    assert value(article, "select count(distinct id) from grain.embeddings") == 2
