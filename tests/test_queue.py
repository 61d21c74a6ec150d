"""The queue: leases, attempts, failures, and the sweeps that heal what a race left."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from pg_grain.database import Connection

from conftest import Connect, embed_all, value


def fill(db: Connection, n: int, org: str = "42", first: int = 1) -> None:
    db.execute(
        "insert into article (id, org_id, body) select i, %s, 'Text number ' || i"
        " from generate_series(%s::int, %s::int) i",
        [org, first, first + n - 1],
    )


def claim(db: Connection, worker: str = "w", more: str = "") -> list[tuple[UUID, int, str]]:
    return db.execute(  # type: ignore[return-value]
        f"select tenant_id, job_id, input from grain.claim('{worker}'{more})"  # type: ignore[arg-type]
    ).fetchall()


def fail(
    db: Connection, jobs: list[tuple[UUID, int, str]], error_class: str, more: str = ""
) -> int:
    return int(
        value(
            db,
            f"select grain.fail('w', %s, %s, %s, 'it said no'{more})",
            [job[0] for job in jobs],
            [job[1] for job in jobs],
            error_class,
        )
    )


def test_a_claim_hands_each_job_to_one_worker(article: Connection, connect: Connect) -> None:
    fill(article, 10)
    other = connect()
    article.execute("begin")
    mine = claim(article, "one", ", max_items => 4")
    theirs = claim(other, "two", ", max_items => 4")
    article.execute("commit")
    rest = claim(article, "three")
    assert [len(mine), len(theirs), len(rest)] == [4, 4, 2]
    assert len({job[1] for job in mine + theirs + rest}) == 10
    assert claim(article) == []


@pytest.mark.parametrize("plan", ["hashjoin", "nestloop", "mergejoin"])
def test_a_claim_takes_exactly_what_it_was_allowed(article: Connection, plan: str) -> None:
    fill(article, 300)
    article.execute("analyze grain.job")
    for other in {"hashjoin", "nestloop", "mergejoin", "material", "hashagg"} - {plan}:
        article.execute(f"set enable_{other} = off")  # type: ignore[arg-type]
    assert len(claim(article, more=", max_items => 5")) == 5
    assert value(article, "select count(*) from grain.job where worker is not null") == 5


def test_a_claim_is_bounded_by_tokens_but_never_empty(article: Connection) -> None:
    for i in range(6):
        article.execute(
            "insert into article (id, org_id, body) values (%s, '42', %s)",
            [i, f"Number {i}. " + "word " * 100],
        )
    assert len(claim(article, more=", max_tokens => 250")) == 2
    assert len(claim(article, more=", max_tokens => 1")) == 1
    assert value(article, "select sum(attempts) from grain.job") == 3


def test_an_expired_lease_is_due_again(article: Connection) -> None:
    fill(article, 5)
    first = claim(article, more=", lease => '50 milliseconds'")
    article.execute("select pg_sleep(0.1)")
    assert value(article, "select grain.reap()") == 5
    assert value(article, "select count(*) from grain.job where worker is null") == 5
    again = claim(article, "another")
    assert {job[1] for job in again} == {job[1] for job in first}
    assert value(article, "select distinct attempts from grain.job") == 2


def test_a_heartbeat_keeps_a_lease(article: Connection) -> None:
    fill(article, 2)
    jobs = claim(article, more=", lease => '100 milliseconds'")
    args = [[job[0] for job in jobs], [job[1] for job in jobs]]
    assert value(article, "select grain.heartbeat('w', %s, %s)", *args) == 2
    assert value(article, "select grain.heartbeat('stranger', %s, %s)", *args) == 0
    article.execute("select pg_sleep(0.15)")
    assert claim(article) == []


def test_a_vector_of_an_expired_lease_is_still_stored(article: Connection) -> None:
    fill(article, 1)
    ((tenant, job, _),) = claim(article, "slow", ", lease => '10 milliseconds'")
    article.execute("select pg_sleep(0.05)")
    ((_, same, _),) = claim(article, "quick")
    assert same == job
    late = "select grain.complete('slow', %s, %s, array['[1,2,3]'::halfvec])"
    assert value(article, late, [tenant], [job]) == 0
    assert value(article, "select count(*) from grain.embedding") == 1
    article.execute("update grain.job set run_at = now()")
    assert claim(article) == []
    assert value(article, "select count(*) from grain.job") == 0


def test_a_wrong_vector_is_refused(article: Connection) -> None:
    fill(article, 1)
    ((tenant, job, _),) = claim(article)
    for vector in ("[1,2]", "[0,0,0]"):
        with pytest.raises(psycopg.errors.CheckViolation):
            article.execute(
                "select grain.complete('w', %s, %s, array[%s::halfvec])", [[tenant], [job], vector]
            )
    assert value(article, "select count(*) from grain.job") == 1


@pytest.mark.parametrize(
    ("error_class", "parked", "charged"),
    [
        ("record-permanent", True, 1),
        ("record-temporary", False, 1),
        ("pipeline-temporary", False, 0),
        ("pipeline-permanent", False, 0),
    ],
)
def test_the_error_class_decides_the_next_step(
    article: Connection, error_class: str, parked: bool, charged: int
) -> None:
    fill(article, 1)
    assert fail(article, claim(article), error_class) == 1
    row = article.execute(
        "select parked, attempts, error_class, error, source, key, model, next_try > now() from grain.errors"
    ).fetchone()
    assert row == (
        parked,
        charged,
        error_class,
        "it said no",
        "public.article",
        "1",
        "tiny",
        None if parked else True,
    )
    assert claim(article) == []


def test_a_record_is_parked_after_its_last_attempt_and_comes_back_by_retry(
    article: Connection,
) -> None:
    fill(article, 101)
    bad = []
    for _ in range(3):
        article.execute("update grain.job set run_at = now() where run_at < 'infinity'")
        jobs = claim(article)
        bad = [job for job in jobs if job[2] == "Text number 7"]
        good = [job for job in jobs if job[2] != "Text number 7"]
        fail(article, bad, "record-temporary", ", max_attempts => 3")
        if good:
            article.execute(
                "select grain.complete('w', %s, %s, array_fill('[1,2,3]'::halfvec, array[%s]))",
                [[job[0] for job in good], [job[1] for job in good], len(good)],
            )
    assert value(article, "select count(*) from grain.embedding") == 100
    article.execute("set grain.tenant_id = '42'")
    row = article.execute("select embedded, pending, failed from grain.status").fetchone()
    assert row == (100, 0, 1)
    assert article.execute("select attempts, parked from grain.errors").fetchall() == [(3, True)]
    assert value(article, "select grain.retry('article')") == 1
    assert [job[2] for job in claim(article)] == ["Text number 7"]


def test_an_unknown_error_class_is_refused(article: Connection) -> None:
    with pytest.raises(psycopg.Error, match="no error class") as caught:
        article.execute("select grain.fail('w', '{}', '{}', 'oops', 'x')")
    assert caught.value.diag.message_hint


def test_a_persons_edit_goes_before_a_backfill(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("insert into page select i, 'Old text ' || i from generate_series(1, 50) i")
    db.execute("select grain.track('page', content => 'body')")
    db.execute("insert into page values (99, 'New text.')")
    assert claim(db, more=", max_items => 1")[0][2] == "New text."


def test_generations_of_one_model_share_a_job(db: Connection) -> None:
    for name in ("one", "two"):
        db.execute(f"create table {name} (id int primary key, body text)")  # type: ignore[arg-type]
        db.execute("select grain.track(%s, content => 'body')", [name])
        db.execute(f"insert into {name} values (1, 'Shared text.')")  # type: ignore[arg-type]
    assert embed_all(db) == 1
    assert value(db, "select count(distinct generation_id) from grain.embedding") == 2
    db.execute("create table three (id int primary key, body text)")
    db.execute("select grain.track('three', content => 'body')")
    db.execute("insert into three values (1, 'Shared text.')")
    assert value(db, "select count(*) from grain.job") == 0
    assert value(db, "select count(distinct generation_id) from grain.embedding") == 3


def test_another_model_of_equal_width_gets_its_own_vectors(db: Connection) -> None:
    db.execute("create table one (id int primary key, body text)")
    db.execute("select grain.track('one', content => 'body')")
    db.execute("insert into one values (1, 'Shared text.')")
    embed_all(db)
    db.execute("select grain.create_model('twin', dimensions => 3)")
    db.execute("create table two (id int primary key, body text)")
    db.execute("select grain.track('two', content => 'body', model => 'twin')")
    db.execute("insert into two values (1, 'Shared text.')")
    jobs = db.execute("select model, input from grain.claim('w')").fetchall()
    assert jobs == [("twin", "Shared text.")]


def test_the_digest_covers_each_part_and_where_it_ends(db: Connection) -> None:
    digests = db.execute(
        "select grain.content_hash(prefix, context, content) from (values"
        " ('', null, 'abc'), ('a', null, 'bc'), ('ab', null, 'c'), ('', 'ab', 'c'), ('a', 'b', 'c'))"
        " as v (prefix, context, content)"
    ).fetchall()
    assert len(set(digests)) == 5
    assert value(db, "select grain.content_hash('', null, 'x') = grain.content_hash(null, '', 'x')")


def test_nothing_here_uses_md5(db: Connection) -> None:
    users = db.execute(
        "select proname from pg_proc where pronamespace = 'grain'::regnamespace"
        # Frozen modules are letters and digits, among which any three may stand side by side.
        " and proname <> '_frozen' and prosrc ~* 'md5'"
    ).fetchall()
    assert users == []


def test_the_sweep_drops_vectors_without_chunks_and_queues_chunks_without_vectors(
    article: Connection,
) -> None:
    fill(article, 3)
    embed_all(article)
    article.execute("delete from article where id = 1")
    assert value(article, "select count(*) from grain.embedding") == 3
    assert article.execute("select * from grain.sweep()").fetchone() == (1, 0)
    article.execute("delete from grain.embedding")
    assert article.execute("select * from grain.sweep()").fetchone() == (0, 2)
    assert article.execute("select * from grain.sweep()").fetchone() == (0, 0)
    assert embed_all(article) == 2


def test_a_text_that_returns_before_the_sweep_is_not_paid_again(article: Connection) -> None:
    fill(article, 1)
    embed_all(article)
    article.execute("delete from article")
    fill(article, 1)
    assert value(article, "select count(*) from grain.job") == 0


def test_the_sweep_spares_a_vector_that_is_used_meanwhile(
    article: Connection, connect: Connect
) -> None:
    fill(article, 1)
    embed_all(article)
    article.execute("delete from article")
    writer = connect()
    writer.execute("begin")
    writer.execute("insert into article (id, org_id, body) values (5, '42', 'Text number 1')")
    article.execute("select * from grain.sweep()")
    writer.execute("commit")
    assert article.execute("select * from grain.sweep()").fetchone() == (0, 1)
    assert embed_all(article) == 1


def test_models_of_the_provider(db: Connection) -> None:
    db.execute("select grain.create_model('text-embedding-3-large', dimensions => 2000)")
    row = db.execute(
        "select dimensions, send_dimensions, api_key_env, is_default from grain.model"
        " where name = 'text-embedding-3-large'"
    ).fetchone()
    assert row == (2000, True, "OPENAI_API_KEY", True)
    assert value(db, "select count(*) from grain.model where is_default") == 1
    for call in (
        "'unknown-model'",
        "'m', dimensions => 5000",
        "'m', dimensions => 8, api_key_env => 'sk-123'",
        "'m', dimensions => 8, endpoint => 'ftp://x'",
        "'text-embedding-3-small', dimensions => 4000",
        "'tiny', dimensions => 3",
    ):
        with pytest.raises(psycopg.Error) as caught:
            db.execute(f"select grain.create_model({call})")  # type: ignore[arg-type]
        assert caught.value.diag.message_hint, call


def test_a_model_moves_to_another_host(db: Connection) -> None:
    db.execute("select grain.set_endpoint('tiny', 'http://elsewhere:8089/v1')")
    assert value(db, "select endpoint from grain.models() where name = 'tiny'") == (
        "http://elsewhere:8089/v1"
    )
    for call in ("'tiny', 'nowhere'", "'none', null"):
        with pytest.raises(psycopg.Error) as caught:
            db.execute(f"select grain.set_endpoint({call})")  # type: ignore[arg-type]
        assert caught.value.diag.message_hint


@pytest.mark.parametrize("dimensions", [2000, 3072, 4000])
def test_wide_vectors_are_stored_indexed_and_found(db: Connection, dimensions: int) -> None:
    db.execute("select grain.create_model('wide', dimensions => %s)", [dimensions])
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body')")
    db.execute("insert into page values (1, 'One.'), (2, 'Two.')")
    vector = "[" + ",".join(["0.5"] * dimensions) + "]"
    assert embed_all(db, vector) == 2
    assert db.execute("select built from grain.build_index('page', min_rows => 1)").fetchall() == [
        (True,)
    ]
    found = value(
        db, "select count(*) from grain.search(query_embedding => %s::text::vector)", vector
    )
    assert found == 2
