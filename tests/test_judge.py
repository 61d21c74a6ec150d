"""Judging: labels on spans of documents, what each leg finds of them, and how sure that is."""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.range import Range

from pg_grain.cli import main
from pg_grain.database import Connection
from pg_grain.plpython import judging

from conftest import MakeRole, embed_all, value
from embedding_server import EmbeddingServer, vector_for

LEGS = ["path", "lexical", "dense", "fused", "expanded"]
MEASURES = ["recall", "precision", "ndcg", "mrr", "iou"]

PUMP = """\
# Pump P-40

Moves water from the well to the boiler house.

## Before the first start

Fill the housing with water. A pump that runs dry
ruins its seals within a minute.

## Warranty

We repair or replace the pump for 36 months. Seals wear, and are covered for twelve.
"""
SEALS = "ruins its seals within a minute"


@pytest.fixture
def manual(article: Connection) -> Connection:
    """Two tenants, each with the same document under the same path."""
    article.execute(
        "insert into article (id, org_id, slug, title, body) values (1, 'a', 'pump.md', 'Pump', %s),"
        " (2, 'b', 'pump.md', 'Pump', %s), (3, 'a', 'lamp.md', 'Lamp', 'The lamp burns for a year.')",
        [PUMP, PUMP],
    )
    article.execute("set grain.tenant_id = 'a'")
    return article


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(dimensions=3) as server:
        yield server


def add(connection: Connection, query: str, **named: object) -> int:
    """Label an answer; the arguments are add_question()'s own."""
    names = "".join(f", {name} => %s" for name in named)
    found = value(connection, f"select grain.add_question(%s{names})", query, *named.values())
    assert isinstance(found, int)
    return found


def span_of(text: str, quote: str) -> Range[int]:
    start = text.index(quote)
    return Range(start, start + len(quote))


# ---- where a quote stands ----


@given(
    st.text("ab \n", min_size=1, max_size=6),
    st.lists(st.sampled_from(["a", "b", " ", "\n", "ab", "\t "]), max_size=30),
)
def test_a_quote_is_found_wherever_it_stands(quote: str, parts: list[str]) -> None:
    text = "".join(parts)
    found = list(judging.occurrences(text, quote))
    if not quote.strip():
        assert found == []
        return
    exact = [
        (at, at + len(quote)) for at in range(len(text)) if text[at : at + len(quote)] == quote
    ]
    loosely = [
        (at, end)
        for at in range(len(text))
        for end in range(at + 1, len(text) + 1)
        if not text[at].isspace()
        and not text[end - 1].isspace()
        and " ".join(text[at:end].split()) == " ".join(quote.split())
    ]
    assert found == (exact or loosely)


def test_a_question_is_labelled_by_a_quote(manual: Connection) -> None:
    first = add(manual, "what is the lamp's life?", path="lamp.md", quote="burns for a year")
    second = add(
        manual, "may it run dry?", path="pump.md", quote=" A pump that  runs dry ruins\tits seals "
    )
    rows = manual.execute(
        "select question_id, source, path, span, quote, state from grain.questions()"
    ).fetchall()
    dry = "A pump that runs dry\nruins its seals"
    assert rows == [
        (first, "public.article", "lamp.md", Range(9, 25), "burns for a year", "stands"),
        (second, "public.article", "pump.md", span_of(PUMP, dry), dry, "stands"),
    ]


def test_a_document_may_be_named_in_three_ways_and_a_span_given(manual: Connection) -> None:
    document = value(manual, "select document_id from grain.document where path = 'lamp.md'")
    one = add(manual, "lamp?", path="lamp.md", quote="The lamp")
    assert add(manual, "lamp?", document=document, span="[0,8)") == one
    assert add(manual, "lamp?", source="article", key="3", span=Range(0, 8)) == one
    assert add(manual, "lamp?", path="lamp.md", quote="a year") != one
    assert value(manual, "select count(*) from grain.question") == 2


@pytest.mark.parametrize(
    ("arguments", "message", "told"),
    [
        ("' ', path => 'lamp.md', quote => 'lamp'", "the question is blank", "add_question"),
        ("'q', path => 'lamp.md'", "the answer is named in one way", "span"),
        (
            "'q', path => 'lamp.md', quote => 'lamp', span => '[0,2)'",
            "the answer is named in one way",
            "span",
        ),
        ("'q', quote => 'lamp'", "the document is named in one way", "path =>"),
        ("'q', key => '3', quote => 'lamp'", "the document is named in one way", "source =>"),
        ("'q', path => 'pump', quote => 'lamp'", 'no document "pump"', "grain.document"),
        ("'q', source => 'article', key => '2', quote => 'p'", "no document", "grain.document"),
        ("'q', source => 'nope', key => '3', quote => 'p'", "not tracked", "grain.track"),
        ("'q', path => 'lamp.md', quote => 'Lamp'", "the quote is not in the document", "search"),
        (
            "'q', path => 'pump.md', quote => 'water'",
            "stands in the document 2 times",
            f"span => '[{PUMP.index('water')},{PUMP.index('water') + 5})'",
        ),
        ("'q', path => 'lamp.md', span => '[20,99)'", "is not in the document", "span =>"),
        ("'q', path => 'lamp.md', span => 'empty'", "is not in the document", "span =>"),
        ("'q', path => 'lamp.md', span => '[3,)'", "is not in the document", "span =>"),
    ],
)
def test_a_bad_label_is_refused_with_a_hint(
    manual: Connection, arguments: str, message: str, told: str
) -> None:
    with pytest.raises(psycopg.Error, match=re.escape(message)) as caught:
        manual.execute(f"select grain.add_question({arguments})")  # type: ignore[arg-type]
    assert caught.value.sqlstate in ("22023", "42704")
    assert told in (caught.value.diag.message_hint or "")
    assert value(manual, "select count(*) from grain.question") == 0


def test_two_documents_of_one_path_are_told_apart(manual: Connection) -> None:
    manual.execute("insert into article values (4, 'a', 'lamp.md', 'Lamp', 'Another lamp.')")
    with pytest.raises(psycopg.Error, match="several documents") as caught:
        add(manual, "lamp?", path="lamp.md", quote="lamp")
    hint = caught.value.diag.message_hint or ""
    assert re.fullmatch("document => '[-0-9a-f]{36}'", hint)
    manual.execute(f"select grain.add_question('lamp?', quote => 'lamp', {hint})")  # type: ignore[arg-type]


def test_a_label_follows_its_quote_and_goes_stale_without_it(manual: Connection) -> None:
    add(manual, "dry?", path="pump.md", quote=SEALS)
    add(manual, "lamp?", path="lamp.md", quote="for a year")
    edited = "# New\n\nIntroduction.\n\n" + PUMP.replace("its seals within", "its  seals\nwithin")
    manual.execute("update article set body = %s where id = 1", [edited])
    row = manual.execute("select span, state from grain.questions() order by 1").fetchall()[1]
    place = row[0]
    assert row[1] == "moved"
    assert edited[place.lower : place.upper] == "ruins its  seals\nwithin a minute"
    manual.execute("update article set body = 'The lamp is broken.' where id = 3")
    assert value(manual, "select state from grain.questions() where query = 'lamp?'") == "stale"
    notices: list[str] = []
    manual.add_notice_handler(lambda said: notices.append(said.message_primary or ""))
    rows = manual.execute(
        "select questions, stale, recall from grain.evaluate(k => array[5]) where leg = 'lexical'"
    ).fetchall()
    assert rows[0][:2] == (1, 1)
    assert "1 of 2 questions are stale and were left out" in notices
    manual.execute("update article set body = 'No pump' where id = 1")
    with pytest.raises(psycopg.Error, match="no questions to ask"):
        manual.execute("select * from grain.evaluate()")


def test_the_nearest_of_several_places_is_taken(manual: Connection) -> None:
    manual.execute("update article set body = 'one lamp, two lamp, three lamp' where id = 3")
    add(manual, "second?", path="lamp.md", span="[14,18)")
    manual.execute("update article set body = 'ONE! lamp, two lamp, three lamp' where id = 3")
    assert value(manual, "select span from grain.questions()") == Range(15, 19)


def test_labels_go_with_their_document(manual: Connection) -> None:
    kept = add(manual, "which?", path="lamp.md", quote="burns")
    add(manual, "which?", path="pump.md", quote=SEALS)
    gone = add(manual, "dry?", path="pump.md", quote=SEALS)
    before = value(manual, "select max(evaluation) from grain.evaluate(k => array[3])")
    manual.execute("delete from article where id = 1")
    assert manual.execute("select question_id, state from grain.questions()").fetchall() == [
        (kept, "stands")
    ]
    assert value(manual, "select max(questions) from grain.evaluate(k => array[3])") == 1
    # What was judged before stays.
    assert value(manual, "select max(questions) from grain.report(%s)", before) == 2
    assert value(manual, "select grain.drop_question(%s)", gone) is False
    assert value(manual, "select grain.drop_question(%s)", kept) is True
    assert value(manual, "select count(*) from grain.question") == 0


# ---- measures ----

Pieces = list[tuple[int, tuple[int, int]]]


def expected(hits: Pieces, gold: Pieces, k: int) -> list[float]:
    """The measures, character by character."""
    hits = hits[:k]

    def characters(pieces: Pieces) -> set[tuple[int, int]]:
        return {(document, at) for document, span in pieces for at in range(*span)}

    wanted = characters(gold)
    found = wanted & characters(hits)
    returned = sum(end - start for _, (start, end) in hits)
    # An answer is a run of gold characters.
    answer: dict[tuple[int, int], int] = {}
    for document, at in sorted(wanted):
        before = answer.get((document, at - 1))
        answer[document, at] = len(set(answer.values())) if before is None else before
    seen: set[int] = set()
    gain = 0.0
    first = math.inf
    for rank, hit in enumerate(hits, 1):
        touched = {answer[place] for place in characters([hit]) if place in answer}
        if touched - seen:
            gain += 1 / math.log2(1 + rank)
        if touched:
            first = min(first, rank)
        seen |= touched
    ideal = sum(1 / math.log2(1 + i) for i in range(1, min(k, len(set(answer.values()))) + 1))
    return [
        len(found) / len(wanted),
        len(found) / returned if returned else 0.0,
        gain / ideal,
        1 / first,
        len(found) / (returned + len(wanted) - len(found)),
    ]


def test_the_measures_are_what_they_say(db: Connection) -> None:
    draw = random.Random(7)

    def some(least: int, most: int) -> Pieces:
        starts = [draw.randrange(30) for _ in range(draw.randint(least, most))]
        return [(draw.randrange(3), (start, start + draw.randint(1, 12))) for start in starts]

    for _ in range(400):
        hits, gold, k = some(0, 6), some(1, 4), draw.randint(1, 7)
        columns: list[Any] = []
        for pieces in (hits, gold):
            columns.append([UUID(int=document) for document, _ in pieces])
            columns.append([f"[{start},{end})" for _, (start, end) in pieces])
        row = db.execute(
            "select * from grain._judge(%s::uuid[], %s::int4range[], %s::uuid[], %s::int4range[], %s)",
            [*columns, k],
        ).fetchone()
        assert row == pytest.approx(expected(hits, gold, k), abs=1e-12), (hits, gold, k)


def test_a_perfect_ranking_scores_one(db: Connection) -> None:
    row = db.execute(
        'select * from grain._judge(array[%(a)s, %(b)s]::uuid[], \'{"[0,4)","[7,9)"}\','
        ' array[%(b)s, %(a)s]::uuid[], \'{"[7,9)","[0,4)"}\', 5)',
        {"a": UUID(int=1), "b": UUID(int=2)},
    ).fetchone()
    assert row == (1, 1, 1, 1, 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=1, max_size=20))
def test_an_interval_is_of_resampled_means(rows: list[tuple[float, ...]]) -> None:
    flat = [number for row in rows for number in row]
    found = [row for row in judging.bootstrap(flat, 3) if row != judging.TICK]
    draw = random.Random(len(rows))
    samples = [draw.choices(range(len(rows)), k=len(rows)) for _ in range(judging.RESAMPLES)]
    for measure in range(3):
        column = [row[measure] for row in rows]
        means = sorted(sum(column[i] for i in sample) / len(column) for sample in samples)
        expected = (measure, sum(column) / len(column), means[25], means[974])
        assert found[measure] == pytest.approx(expected, abs=1e-9)


def test_a_bootstrap_can_be_interrupted(db: Connection) -> None:
    db.execute("set statement_timeout = '300ms'")
    begun = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        db.execute(
            "select * from grain._bootstrap(array_fill(0.5::double precision, array[50000]), 1)"
        )
    assert time.monotonic() - begun < 5


# ---- evaluation ----


@pytest.fixture
def pages(db: Connection, provider: EmbeddingServer) -> Connection:
    """Forty documents of several chunks with their vectors, and twenty questions of one or two answers."""
    db.execute("select grain.set_endpoint('tiny', %s)", [provider.url])
    db.execute(
        "select grain.create_rule('small', splitter => 'window', unit => 'words', size => 8,"
        " overlap => 2, reason => 'small enough to miss')"
    )
    db.execute("create table page (id int primary key, path text, body text)")
    db.execute("select grain.track('page', content => 'body', path => 'path', rule => 'small')")
    draw = random.Random(3)
    stock = [f"{a}{b}" for a in ("pump", "lamp", "valve", "seal") for b in range(12)]
    bodies = [" ".join(draw.choices(stock, k=draw.randint(10, 60))) for _ in range(40)]
    for i, body in enumerate(bodies):
        db.execute("insert into page values (%s, %s, %s)", [i, f"{stock[i % 48]}/{i}.md", body])
    fill(db)
    for number in range(20):
        answers = []
        for _ in range(draw.randint(1, 2)):
            page = draw.randrange(40)
            start = draw.randrange(len(bodies[page]) - 20)
            answers.append((page, start))
        word = bodies[answers[0][0]][answers[0][1] :].split()[1]
        query = f"{word} {stock[number]}" if number % 5 else stock[number]
        for page, start in answers:
            add(db, query, source="page", key=str(page), span=Range(start, start + 20))
    return db


def fill(db: Connection) -> None:
    """Give every chunk the vector of its text, as the provider would."""
    while jobs := db.execute("select tenant_id, job_id, input from grain.claim('t')").fetchall():
        vectors = [str(vector_for(job[2], 3).tolist()) for job in jobs]
        db.execute(
            "select grain.complete('t', %s, %s, %s::halfvec[])",
            [[job[0] for job in jobs], [job[1] for job in jobs], vectors],
        )


def searched(db: Connection, query: str, call: str) -> Pieces:
    rows = db.execute(
        f"select document_id, span from grain.search(%s, {call}) order by rank",  # type: ignore[arg-type]
        [query],
    ).fetchall()
    return [(row[0], (row[1].lower, row[1].upper)) for row in rows]


def test_an_evaluation_judges_what_search_returns(pages: Connection) -> None:
    table = pages.execute(
        "select evaluation, leg, k, questions, stale, recall, recall_95 from"
        " grain.evaluate(k => array[30, 3, 5, 3])"
    ).fetchall()
    run = table[0][0]
    assert [(row[1], row[2]) for row in table] == [(leg, k) for leg in LEGS for k in (3, 5, 30)]
    assert {row[3:5] for row in table} == {(20, 0)}
    stored = {
        row[:3]: row[3:]
        for row in pages.execute(
            "select question_id, leg, k, recall, precision, ndcg, mrr, iou from grain.judgement"
            " where evaluation_id = %s",
            [run],
        ).fetchall()
    }
    assert len(stored) == 20 * 5 * 3
    questions = pages.execute(
        "select min(question_id), query, array_agg(document_id), array_agg(int4range(span_start, span_end))"
        " from grain.question group by query"
    ).fetchall()
    for question, query, documents, spans in questions:
        gold = [(d, (s.lower, s.upper)) for d, s in zip(documents, spans, strict=True)]
        for k in (3, 5, 30):
            for leg, call in (
                ("fused", f"k => {k}, expand => 'none'"),
                ("expanded", f"k => {k}"),
                ("path", f"k => {k}, expand => 'none', mode => 'path'"),
                # No text of these pages stands twice: the leg's order is the search's.
                ("lexical", f"k => {k}, expand => 'none', mode => 'lexical'"),
                ("dense", f"k => {k}, expand => 'none', mode => 'dense'"),
            ):
                judged = expected(searched(pages, query, call), gold, k)
                assert stored[question, leg, k] == pytest.approx(judged, abs=1e-12), (query, leg, k)
    for row in table:
        recalls = [stored[question[0], row[1], row[2]][0] for question in sorted(questions)]
        mean, low, high = next(
            found[1:] for found in judging.bootstrap(recalls, 1) if found != judging.TICK
        )
        assert float(row[5]) == pytest.approx(mean, abs=0.0006)
        assert float(row[6].lower) == pytest.approx(low, abs=0.0006)
        assert float(row[6].upper) == pytest.approx(high, abs=0.0006)
    assert max(row[5] for row in table) > 0.25


def test_the_same_evaluation_has_the_same_intervals(pages: Connection) -> None:
    columns = ", ".join(f"{name}, {name}_95" for name in MEASURES)
    first, again = (
        pages.execute(f"select leg, k, {columns} from grain.evaluate()").fetchall()  # type: ignore[arg-type]
        for _ in range(2)
    )
    assert first == again
    run = value(pages, "select max(evaluation_id) from grain.evaluation")
    told = pages.execute(f"select leg, k, {columns} from grain.report(%s)", [run]).fetchall()  # type: ignore[arg-type]
    assert told == first
    compared = pages.execute("select * from grain.compare(%s, %s)", [run - 1, run]).fetchall()
    assert len(compared) == 75
    assert {(row[6], row[8], row[9], row[10]) for row in compared} == {
        (0, "no difference shown", None, None)
    }


def test_a_cap_of_tokens_is_judged_as_it_is_searched(pages: Connection) -> None:
    capped = pages.execute(
        "select leg, recall, precision from grain.evaluate(k => array[10], max_tokens => 60)"
    ).fetchall()
    whole = pages.execute(
        "select leg, recall, precision from grain.evaluate(k => array[10])"
    ).fetchall()
    assert capped[:4] == whole[:4]
    assert capped[4][1] < whole[4][1]


def test_without_an_endpoint_the_dense_leg_is_skipped(
    pages: Connection, provider: EmbeddingServer
) -> None:
    pages.execute("select grain.set_endpoint('tiny', 'http://127.0.0.1:9/v1')")
    notices: list[str] = []
    pages.add_notice_handler(lambda said: notices.append(said.message_primary or ""))
    rows = pages.execute(
        "select leg, questions, recall, recall_95 from grain.evaluate(k => array[5])"
    ).fetchall()
    assert rows[2] == ("dense", 0, None, None)
    assert [row[1] for row in rows] == [20, 20, 0, 20, 20]
    assert "the dense leg was skipped: lexical only: model tiny: 127.0.0.1:9" in notices[0]
    assert value(pages, "select degraded from grain.evaluation").startswith("lexical only")
    pages.execute("select grain.set_endpoint('tiny', %s)", [provider.url])
    with_vectors = value(pages, "select max(evaluation) from grain.evaluate(k => array[5])")
    compared = pages.execute(
        "select distinct leg from grain.compare(%s, %s)", [with_vectors - 1, with_vectors]
    ).fetchall()
    assert ("dense",) not in compared
    assert len(compared) == 4


def test_a_model_that_stops_answering_spoils_no_average(
    pages: Connection, provider: EmbeddingServer
) -> None:
    provider.poison = {value(pages, "select query from grain.question order by question_id desc")}
    with pytest.raises(psycopg.Error, match='the model "tiny" gave no embedding for') as caught:
        pages.execute("select * from grain.evaluate()")
    assert caught.value.sqlstate == "GR003"
    assert caught.value.diag.message_hint
    assert value(pages, "select count(*) from grain.evaluation") == 0


def test_a_generation_that_is_not_live_is_judged(pages: Connection) -> None:
    other = value(
        pages,
        "select grain._make_generation(s.source_id, r.rule_id, m.model_id) from grain.source s,"
        " grain.rule r, grain.model m where r.name = 'window' and m.name = 'tiny'",
    )
    labels = pages.execute("select * from grain.question order by 2").fetchall()
    pages.execute("update page set body = body || ' .'")
    fill(pages)
    # The labels stand through the re-chunk.
    assert pages.execute("select * from grain.question order by 2").fetchall() == labels
    assert pages.execute("select distinct state from grain.questions()").fetchall() == [("stands",)]
    live = value(pages, "select live_generation_id from grain.source")
    pages.execute("select * from grain.evaluate('page', k => array[5])")
    pages.execute("select * from grain.evaluate(generation => %s, k => array[5])", [other])
    runs = pages.execute(
        "select generation_id, source, rule, model, k, questions, stale, degraded"
        " from grain.evaluation order by evaluation_id"
    ).fetchall()
    assert runs == [
        (live, "public.page", "small", "tiny", [5], 20, 0, None),
        (other, "public.page", "window", "tiny", [5], 20, 0, None),
    ]
    rows = pages.execute(
        "select leg, metric, difference, verdict, mean_b - mean_a from"
        " grain.compare(%s, %s, generations => true)",
        [live, other],
    ).fetchall()
    assert len(rows) == 25
    for row in rows:
        assert abs(row[4] - row[2]) <= 0.002


def test_a_comparison_pairs_the_questions(manual: Connection) -> None:
    draw = random.Random(6)
    got: dict[int, dict[int, list[float]]] = {}
    for run, asked in ((1, range(1, 13)), (2, range(3, 15))):
        manual.execute(
            "insert into grain.evaluation (tenant_id, generation_id, source, rule, model, k, questions, stale)"
            " values (grain.tenant_uuid('a'), 1, 's', 'r', 'm', '{5}', 12, 0)"
        )
        got[run] = {q: [draw.choice((0.0, 0.25, 1.0)) for _ in range(5)] for q in asked}
        for question, figures in got[run].items():
            figures[3] = 0.0 if figures[0] == 0 else figures[3]
            manual.execute(
                "insert into grain.judgement values (grain.tenant_uuid('a'), %s, %s, 'fused', 5, %s, %s, %s, %s, %s)",
                [run, question, *figures],
            )
    notices: list[str] = []
    manual.add_notice_handler(lambda said: notices.append(said.message_primary or ""))
    rows = manual.execute("select * from grain.compare(1, 2)").fetchall()
    assert notices == ["4 questions are in one of the two only and were left out"]
    assert [row[:4] for row in rows] == [("fused", 5, metric, 10) for metric in MEASURES]
    both = range(3, 13)
    differences = [got[2][q][m] - got[1][q][m] for q in both for m in range(5)]
    intervals = [found for found in judging.bootstrap(differences, 5) if found != judging.TICK]
    for number, row in enumerate(rows):
        _, mean, low, high = intervals[number]
        assert isinstance(low, float) and isinstance(high, float)
        assert float(row[4]) == pytest.approx(sum(got[1][q][number] for q in both) / 10, abs=6e-4)
        assert float(row[5]) == pytest.approx(sum(got[2][q][number] for q in both) / 10, abs=6e-4)
        assert float(row[6]) == pytest.approx(mean, abs=6e-4)
        assert float(row[7].lower) == pytest.approx(low, abs=6e-4)
        assert float(row[7].upper) == pytest.approx(high, abs=6e-4)
        assert row[8] == ("better" if low > 0 else "worse" if high < 0 else "no difference shown")
    gained = [q for q in both if got[1][q][0] == 0 and got[2][q][0] > 0]
    lost = [q for q in both if got[1][q][0] > 0 and got[2][q][0] == 0]
    assert gained and lost
    assert rows[0][9:] == (gained, lost)
    assert all(row[9:] == (None, None) for row in rows[1:])


@pytest.mark.parametrize(
    ("call", "message", "code"),
    [
        ("evaluate(k => '{}')", "k holds 1 to 20 numbers", "22023"),
        ("evaluate(k => null)", "k holds 1 to 20 numbers", "22023"),
        ("evaluate(k => '{5,0}')", "k holds 1 to 20 numbers", "22023"),
        ("evaluate(k => '{5,null}')", "k holds 1 to 20 numbers", "22023"),
        ("evaluate(k => '{1001}')", "k holds 1 to 20 numbers", "22023"),
        ("evaluate(max_tokens => 0)", "max_tokens is at least 1", "22023"),
        ("evaluate('article', 1)", "a source or a generation", "22023"),
        ("evaluate('nope')", "is not tracked", "42704"),
        ("evaluate(generation => 99)", "there is no generation 99", "42704"),
        ("evaluate()", "there are no questions to ask", "55000"),
        ("evaluate('article')", "there are no questions to ask", "55000"),
        ("report(7)", "there is no evaluation 7", "42704"),
        ("compare(7, 8)", "there is no evaluation 7", "42704"),
        ("compare(7, 8, generations => true)", "no evaluation of generation 7", "42704"),
        ("explain_question(7)", "there is no question 7", "42704"),
        ("ann_recall(99)", "there is no generation 99", "42704"),
        ("ann_recall(1, k => 0)", "k is between 1 and 1000", "22023"),
        ("ann_recall(1, sample => 0)", "sample is between 1 and 10000", "22023"),
    ],
)
def test_bad_calls_are_refused_with_a_hint(
    manual: Connection, call: str, message: str, code: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        manual.execute(f"select * from grain.{call}")  # type: ignore[arg-type]
    assert caught.value.sqlstate == code
    assert caught.value.diag.message_hint


def test_questions_of_two_sources_are_judged_one_by_one(manual: Connection) -> None:
    manual.execute("create table note (id int primary key, org text not null, body text)")
    manual.execute("select grain.track('note', content => 'body', tenant => 'org')")
    manual.execute("insert into note values (1, 'a', 'The boiler is in the cellar.')")
    add(manual, "which cellar or boiler?", source="note", key="1", quote="in the cellar")
    add(manual, "which cellar or boiler?", path="pump.md", quote="the boiler house")
    with pytest.raises(psycopg.Error, match="questions for several sources") as caught:
        manual.execute("select * from grain.evaluate()")
    assert caught.value.diag.message_hint == "select * from grain.evaluate('public.article');"
    manual.execute("select * from grain.evaluate('note', k => '{2}')")
    assert value(manual, "select recall from grain.report(1) where leg = 'lexical'") == 1


# ---- walls ----


def test_no_call_reaches_another_tenant(manual: Connection, make_role: MakeRole) -> None:
    mine = add(manual, "dry?", path="pump.md", quote=SEALS)
    manual.execute("set grain.tenant_id = 'b'")
    theirs = add(manual, "wear?", path="pump.md", quote="Seals wear")
    run = value(manual, "select max(evaluation) from grain.evaluate()")
    manual.execute(f"set role {make_role('grain_writer')}")  # type: ignore[arg-type]
    manual.execute("set grain.tenant_id = 'a'")
    own = value(manual, "select max(evaluation) from grain.evaluate()")
    assert value(manual, "select array_agg(question_id) from grain.questions()") == [mine]
    for table in ("question", "evaluation", "judgement"):
        assert value(manual, f"select count(distinct tenant_id) from grain.{table}") == 1
    assert value(manual, "select array_agg(distinct question_id) from grain.judgement") == [mine]
    assert value(manual, "select grain.drop_question(%s)", theirs) is False
    document = value(manual, "select document_id from grain.document where path = 'pump.md'")
    for call in (
        f"report({run})",
        f"compare({own}, {run})",
        f"explain_question({theirs})",
        "questions('b')",
        "evaluate(tenant => 'b')",
        "ann_recall(1, tenant => 'b')",
    ):
        with pytest.raises(psycopg.Error, match=r"there is no|may not leave its tenant"):
            manual.execute(f"select * from grain.{call}")  # type: ignore[arg-type]
    manual.execute("set grain.tenant_id = 'b'")
    with pytest.raises(psycopg.Error, match="there is no document"):
        add(manual, "dry?", document=document, quote=SEALS)
    assert value(manual, "select array_agg(question_id) from grain.questions()") == [theirs]


def test_a_reader_judges_nothing(manual: Connection, make_role: MakeRole) -> None:
    question = add(manual, "dry?", path="pump.md", quote=SEALS)
    run = value(manual, "select max(evaluation) from grain.evaluate()")
    manual.execute(f"set role {make_role('grain_reader')}")  # type: ignore[arg-type]
    for call in (
        "add_question('q', path => 'lamp.md', quote => 'year')",
        "evaluate()",
        "drop_question(1)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            manual.execute(f"select * from grain.{call}")  # type: ignore[arg-type]
    for statement in ("delete from grain.question", "select grain._bootstrap('{1}', 1)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            manual.execute(statement)  # type: ignore[arg-type]
    assert value(manual, "select count(*) from grain.report(%s)", run) == 15
    assert value(manual, "select outcome from grain.explain_question(%s)", question) == "found"


def test_the_walls_stand_and_everything_is_said(db: Connection) -> None:
    assert db.execute("select wall, detail from grain.self_test() where not holds").fetchall() == []
    mute = db.execute(
        "select attname from pg_attribute where attrelid = any('{grain.evaluation,grain.judgement}'::regclass[])"
        " and attnum > 0 and not attisdropped and col_description(attrelid, attnum) is null"
        " union all select proname from pg_proc where pronamespace = 'grain'::regnamespace"
        " and obj_description(oid, 'pg_proc') is null"
    ).fetchall()
    assert mute == []


# ---- the vector index ----


def many_vectors(db: Connection, each: int, tenants: list[str]) -> int:
    """A live generation with that many vectors of each tenant, in one leaf; returns its id."""
    db.execute("create table page (id int primary key, org text not null, body text)")
    db.execute(
        "select grain.track('page', content => 'body', tenant => 'org', tenant_partitions => 1)"
    )
    generation = value(db, "select live_generation_id from grain.source")
    db.execute("select setseed(0.5)")
    for tenant in tenants:
        db.execute(
            "insert into grain.embedding select grain.tenant_uuid(%s), %s, sha256(i::text::bytea),"
            " ('[' || random() - 0.5 || ',' || random() - 0.5 || ',' || random() - 0.5 || ']')::halfvec"
            " from generate_series(1, %s) i",
            [tenant, generation, each],
        )
    assert isinstance(generation, int)
    return generation


def test_few_vectors_are_scanned_exactly(db: Connection) -> None:
    generation = many_vectors(db, 50, ["a"])
    db.execute("select * from grain.build_index('page', min_rows => 1)")
    row = db.execute("select * from grain.ann_recall(%s, tenant => 'a')", [generation]).fetchone()
    assert row == ("exact", 0, 1, 0)


def test_the_index_is_compared_with_the_exact_scan(db: Connection) -> None:
    generation = many_vectors(db, 5100, ["a", "b"])
    db.execute("select * from grain.ann_recall(%s, tenant => 'a')", [generation])
    exact = db.execute("select route from grain.ann_recall(%s, tenant => 'a')", [generation])
    assert exact.fetchall() == [("exact",)]
    db.execute("select * from grain.build_index('page')")
    route, asked, recall, short = db.execute(
        "select * from grain.ann_recall(%s, tenant => 'a', sample => 20)", [generation]
    ).fetchall()[0]
    assert (route, asked, short) == ("hnsw", 20, 0)
    assert 0.9 <= recall <= 1
    # A scan that gives up early leaves answers short: half of what it sees is the other tenant's.
    db.execute("set hnsw.max_scan_tuples = 1")
    db.execute("set enable_sort = off")
    _, asked, recall, short = db.execute(
        "select * from grain.ann_recall(%s, k => 800, tenant => 'a', sample => 5)", [generation]
    ).fetchall()[0]
    assert (asked, short) == (5, 5)
    assert 0.2 < recall < 0.9


# ---- where an answer was lost ----


def test_an_explanation_says_where_an_answer_was_lost(manual: Connection) -> None:
    def outcome(question: int, **named: object) -> str:
        names = "".join(f", {name} => %s" for name in named)
        row = manual.execute(
            f"select outcome, detail, ordinals, lexical_rank, passage_rank"  # type: ignore[arg-type]
            f" from grain.explain_question(%s{names})",
            [question, *named.values()],
        ).fetchall()[0]
        assert row[1]
        if row[0] == "found":
            assert row[2:] != (None, None, None)
        return str(row[0])

    found = add(manual, "may it run dry?", path="pump.md", quote=SEALS)
    assert outcome(found) == "found"
    assert outcome(add(manual, "pump dry", path="pump.md", quote="Before the first")) == "found"
    heading = "Only a heading\n\n# Lost heading\n\nText."
    manual.execute("insert into article values (5, 'a', 'h.md', null, %s)", [heading])
    lost = add(manual, "text?", path="h.md", quote="Lost heading")
    # Between two chunks that are returned as one passage it is found; alone it is in none.
    assert outcome(lost) == "found"
    manual.execute("insert into article values (6, 'a', 'i.md', null, '# Alone\n\nWords.')")
    alone = add(manual, "words?", path="i.md", quote="Alone")
    assert outcome(alone) == "in no chunk"
    assert outcome(add(manual, "zebra", path="pump.md", quote=SEALS)) == "in no pool"
    for i in range(10, 14):
        manual.execute(
            "insert into article values (%s, 'a', %s, 'Lamp', %s)", [i, f"{i}.md", f"lamp lamp {i}"]
        )
    low = add(manual, "lamp lamp", source="article", key="3", quote="burns")
    rank = manual.execute(
        "select lexical_rank from grain.explain_question(%s, k => 2)", [low]
    ).fetchone()
    assert rank == (5,)
    assert outcome(low, k=2) == "ranked too low"
    assert outcome(low, k=10) == "found"
    assert outcome(low, k=10, max_tokens=5) == "cut by the cap"
    manual.execute("update article set body = 'gone' where id = 1")
    assert outcome(found) == "stale"


def test_an_explanation_has_a_row_for_each_answer(pages: Connection) -> None:
    question, labels = pages.execute(
        "select min(question_id), count(*) from grain.question group by query having count(*) > 1"
    ).fetchall()[0]
    rows = pages.execute("select * from grain.explain_question(%s)", [question]).fetchall()
    assert len(rows) == labels
    other = value(
        pages,
        "select grain._make_generation(s.source_id, r.rule_id, m.model_id) from grain.source s,"
        " grain.rule r, grain.model m where r.name = 'window' and m.name = 'tiny'",
    )
    rows = pages.execute(
        "select outcome from grain.explain_question(%s, generation => %s)", [question, other]
    ).fetchall()
    assert rows == [("in no chunk",)] * labels


def test_a_label_in_html_is_in_its_source(manual: Connection) -> None:
    page = "<html><body><p>First.</p><p>The <b>boiler</b> is in the&nbsp;cellar.</p></body></html>"
    manual.execute("insert into article values (7, 'a', 'house.html', null, %s)", [page])
    add(manual, "boiler cellar", path="house.html", quote="<b>boiler</b> is in the&nbsp;cellar")
    rows = manual.execute("select recall from grain.evaluate(k => '{1}') where leg = 'fused'")
    assert rows.fetchall() == [(1,)]


# ---- the command ----


@pytest.fixture
def grain(dsn: str) -> Any:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["--dsn", dsn, "eval", *arguments])

    return call


def jsonl(path: Path, *lines: object) -> str:
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines),
        "utf-8",
    )
    return str(path)


GOOD = [
    {"query": "dry?", "path": "pump.md", "quote": SEALS, "tenant": "a"},
    "",
    {"query": "lamp?", "source": "article", "key": 3, "span": [9, 25], "tenant": "a"},
    {"query": "wear?", "path": "pump.md", "quote": "Seals wear", "tenant": "b"},
]

BAD = [
    "{",
    "[1]",
    {"query": "q", "path": "lamp.md"},
    {"query": "q", "quote": "x"},
    {"query": "q", "path": "lamp.md", "quote": "year", "tennant": "a"},
    {"query": "q", "path": "lamp.md", "span": [4, 4]},
    {"query": "q", "path": "lamp.md", "span": "4-5"},
    {"path": "lamp.md", "quote": "year"},
    {"query": 7, "path": "lamp.md", "quote": "year"},
    {"query": "q", "path": "lamp.md", "quote": "century", "tenant": "a"},
    {"query": "q", "path": "nope.md", "quote": "year", "tenant": "a"},
    {"query": "q", "document": "no uuid", "quote": "year", "tenant": "a"},
    {"query": "q\0", "path": "lamp.md", "quote": "year"},
    '{"query": "\\ud800", "path": "lamp.md", "quote": "year"}',
]


def test_questions_are_imported_all_or_none(manual: Connection, grain: Any, tmp_path: Path) -> None:
    done = grain("import", jsonl(tmp_path / "good.jsonl", *GOOD))
    assert (done.exit_code, done.stdout) == (0, "3 stored, 0 skipped\n")
    assert grain("import", str(tmp_path / "good.jsonl")).exit_code == 0
    assert value(manual, "select count(*) from grain.question") == 3
    manual.execute("delete from grain.question")
    mixed = jsonl(tmp_path / "mixed.jsonl", *GOOD, *BAD)
    done = grain("import", mixed)
    assert done.exit_code == 1
    assert f"{len(BAD)} of {len(BAD) + 3} lines are bad" in done.stderr
    assert re.findall("line ([0-9]+):", done.stderr) == [str(5 + i) for i in range(len(BAD))]
    assert value(manual, "select count(*) from grain.question") == 0
    done = grain("import", "--skip-bad", mixed)
    assert (done.exit_code, done.stdout) == (0, f"3 stored, {len(BAD)} skipped\n")
    assert "skipped line 14: the quote is not in the document" in done.stderr
    assert value(manual, "select count(*) from grain.question") == 3


def test_an_evaluation_from_the_shell(manual: Connection, grain: Any, tmp_path: Path) -> None:
    embed_all(manual)
    done = grain("run", "--tenant", "a")
    assert done.exit_code == 1
    assert "ERROR:  there are no questions to ask" in done.stderr
    grain("import", jsonl(tmp_path / "good.jsonl", *GOOD))
    done = grain("run", "--tenant", "a", "--k", "1,3")
    assert done.exit_code == 0
    assert "evaluation 1: 2 questions" in done.stdout and "skipped" in done.stdout
    assert "the dense leg was skipped" in done.stderr
    done = grain("run", "--tenant", "a", "--k", "1,3", "--source", "article", "--json")
    rows = json.loads(done.stdout)
    assert [(row["leg"], row["k"]) for row in rows] == [(leg, k) for leg in LEGS for k in (1, 3)]
    assert rows[2]["recall_95"][0] <= rows[2]["recall"] <= rows[2]["recall_95"][1]
    assert rows[4]["recall"] is None
    done = grain("compare", "1", "2", "--tenant", "a")
    assert done.exit_code == 0
    assert "b - a: 2 questions" in done.stdout and "+.00…+.00" in done.stdout
    assert "worse" not in done.stdout
    manual.execute(
        "update grain.judgement set recall = 0 where evaluation_id = 2 and leg = 'expanded'"
    )
    done = grain("compare", "1", "2", "--tenant", "a")
    assert "worse" in done.stdout
    assert re.search("lost at k = 3: [0-9]+ dry\\?", done.stdout)
    rows = json.loads(grain("compare", "1", "2", "--tenant", "a", "--json").stdout)
    assert rows[-5]["lost"]
    assert grain("compare", "1", "9", "--tenant", "a").exit_code == 1
    assert grain("run", "--k", "five").exit_code == 2
