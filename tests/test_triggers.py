"""Writes to a tracked table keep documents, chunks and jobs true."""

from __future__ import annotations

import threading
from uuid import UUID

import psycopg
import pytest

from pg_grain.database import Connection

from conftest import Connect, MakeRole, embed_all, value

PARAGRAPHS = [
    " ".join(f"Paragraph {i} speaks of subject {i * 7 + j} in sentence {j}." for j in range(22))
    for i in range(200)
]


def counts(db: Connection) -> tuple[int, int, int]:
    """Documents, chunks and jobs."""
    return (
        value(db, "select count(*) from grain.document"),
        value(db, "select count(*) from grain.chunk"),
        value(db, "select count(*) from grain.job"),
    )


def put(db: Connection, body: str | None, key: int = 1, org: str = "42") -> None:
    db.execute(
        "insert into article (id, org_id, slug, body) values (%s, %s, %s, %s)"
        " on conflict (id) do update set body = excluded.body",
        [key, org, f"docs/{key}.md", body],
    )


def test_insert_update_delete_and_truncate(article: Connection) -> None:
    put(article, "Alpha speaks of boilers.")
    put(article, "Beta speaks of pumps.", key=2)
    assert counts(article) == (2, 2, 2)
    put(article, "Beta speaks of valves.", key=2)
    assert value(article, "select content from grain.chunk where content like 'Beta%%'") == (
        "Beta speaks of valves."
    )
    assert counts(article) == (2, 2, 2)
    article.execute("delete from article where id = 1")
    assert counts(article) == (1, 1, 1)
    article.execute("truncate article")
    assert counts(article) == (0, 0, 0)


def test_truncate_cascade(article: Connection) -> None:
    article.execute("create table parent (id bigint primary key)")
    article.execute("insert into parent values (1)")
    article.execute("alter table article add foreign key (id) references parent")
    put(article, "Alpha.")
    article.execute("truncate parent cascade")
    assert counts(article) == (0, 0, 0)


def test_rows_that_were_there_are_taken_up(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("insert into page select i, 'Page number ' || i from generate_series(1, 20) as i")
    said = value(db, "select grain.track('page', content => 'body')")
    assert said == "public.page: tracked by rule prose and model tiny, 20 documents, 20 chunks"
    assert counts(db) == (20, 20, 20)
    assert value(db, "select distinct tenant_id from grain.chunk") == UUID(int=0)
    assert value(db, "select distinct priority from grain.job") < 0


def test_backfill_can_be_left_out(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("insert into page values (1, 'one')")
    db.execute("select grain.track('page', content => 'body', backfill => false)")
    assert counts(db) == (0, 0, 0)
    assert db.execute("select * from grain.reconcile('page')").fetchone() == (1, 0)
    assert counts(db) == (1, 1, 1)


def test_update_of_another_column_does_nothing(article: Connection) -> None:
    put(article, "Alpha.")
    before = article.execute("select xmin::text, ctid::text from grain.chunk").fetchall()
    document = article.execute("select xmin::text from grain.document").fetchall()
    article.execute("update article set views = views + 1")
    article.execute("update article set body = body")
    assert article.execute("select xmin::text, ctid::text from grain.chunk").fetchall() == before
    assert article.execute("select xmin::text from grain.document").fetchall() == document
    assert counts(article) == (1, 1, 1)


def test_one_touched_paragraph_embeds_at_most_two_chunks(article: Connection) -> None:
    put(article, "\n\n".join(PARAGRAPHS))
    assert counts(article)[1] >= 150
    embed_all(article)
    touched = list(PARAGRAPHS)
    touched[100] = touched[100].replace("sentence 3", "clause 3")
    put(article, "\n\n".join(touched))
    assert 1 <= counts(article)[2] <= 2


def test_a_paragraph_inserted_at_the_top_embeds_at_most_two_chunks(article: Connection) -> None:
    put(article, "\n\n".join(PARAGRAPHS))
    embed_all(article)
    put(article, "\n\n".join(["A new beginning. " * 40, *PARAGRAPHS]))
    assert 1 <= counts(article)[2] <= 2
    spans = article.execute(
        "select a.body, c.span_start, c.span_end, c.content from grain.chunk c, article a"
        " order by c.ordinal"
    ).fetchall()
    assert all(body[start:end] == content for body, start, end, content in spans)


def test_moving_a_document_embeds_nothing(article: Connection) -> None:
    put(article, "Alpha.")
    embed_all(article)
    article.execute("update article set slug = 'elsewhere/alpha.md', title = 'A title'")
    assert counts(article) == (1, 1, 0)
    assert value(article, "select path from grain.document") == "elsewhere/alpha.md"


def test_moving_a_document_embeds_it_when_the_prefix_holds_the_path(db: Connection) -> None:
    db.execute(
        "select grain.create_rule('pathy', prefix => '{path}', reason => 'names say much here')"
    )
    db.execute("create table page (id int primary key, path text, body text)")
    db.execute("select grain.track('page', content => 'body', path => 'path', rule => 'pathy')")
    db.execute("insert into page values (1, 'a.md', 'Alpha.')")
    embed_all(db)
    db.execute("update page set path = 'b.md'")
    assert counts(db) == (1, 1, 1)


def test_the_same_text_twice_in_a_tenant_is_one_job(article: Connection) -> None:
    put(article, "The same words.", key=1)
    put(article, "The same words.", key=2)
    assert counts(article) == (2, 2, 1)
    put(article, "The same words.", key=3, org="another")
    assert counts(article) == (3, 3, 2)
    assert embed_all(article) == 2
    put(article, "The same words.", key=4)
    assert counts(article) == (4, 4, 0)


def test_one_paragraph_twice_in_a_document_is_two_chunks_and_one_job(article: Connection) -> None:
    put(article, "# EU\n\n## Returns\n\nRefunded.\n\n# US\n\n## Returns\n\nRefunded.")
    paths = article.execute("select section_path from grain.chunk order by ordinal").fetchall()
    assert paths == [(["EU", "Returns"],), (["US", "Returns"],)]
    found = article.execute(
        "select section_path from grain.search('refunded', tenant => '42', expand => 'none') order by 1"
    ).fetchall()
    assert found == paths


def test_an_empty_text_leaves_no_chunks_and_no_jobs(article: Connection) -> None:
    put(article, "Alpha.\n\n" * 3)
    for blank in ("", "   ", "\n\n\n", "\u00a0\u00a0", "\u200b", "\ufeff", None):
        put(article, "Some words.")
        assert counts(article) == (1, 1, 1)
        put(article, blank)
        assert counts(article) == (1, 0, 0), repr(blank)


def test_a_shorter_text_leaves_no_tail(article: Connection) -> None:
    def sections(n: int) -> str:
        return "\n\n".join(f"# Section {i}\n\nWords of section {i}." for i in range(n))

    for n in (10, 3, 0):
        put(article, sections(n))
        ordinals = article.execute("select ordinal from grain.chunk order by 1").fetchall()
        assert ordinals == [(i,) for i in range(n)]
        assert counts(article)[2] == n


def test_swapped_keys_lose_no_document(article: Connection) -> None:
    article.execute("alter table article drop constraint article_pkey")
    article.execute("alter table article add primary key (id) deferrable")
    put_plain = "insert into article (id, org_id, body) values (%s, '42', %s)"
    article.execute(put_plain, [1, "First."])
    article.execute(put_plain, [2, "Second."])
    article.execute("update article set id = 3 - id")
    found = article.execute(
        "select d.key, c.content from grain.document d join grain.chunk c using (tenant_id, document_id)"
        " order by 1"
    ).fetchall()
    assert found == [("1", "Second."), ("2", "First.")]


def test_a_changed_key_moves_the_document(article: Connection) -> None:
    put(article, "Alpha.")
    article.execute("update article set id = 9")
    assert article.execute("select key from grain.document").fetchall() == [("9",)]
    assert counts(article) == (1, 1, 1)


def test_a_changed_tenant_moves_the_document(article: Connection) -> None:
    put(article, "Alpha.")
    article.execute("update article set org_id = 'other'")
    owners = article.execute("select tenant_id = grain.tenant_uuid('other') from grain.chunk")
    assert owners.fetchall() == [(True,)]
    assert counts(article) == (1, 1, 1)


def test_what_a_before_trigger_changes_is_seen(article: Connection) -> None:
    article.execute(
        "create function shout() returns trigger language plpgsql as $$"
        " begin new.body := upper(coalesce(new.title, '')); return new; end $$"
    )
    article.execute(
        "create trigger b before update on article for each row execute function shout()"
    )
    put(article, "Alpha.")
    article.execute("update article set views = 1, title = 'beta'")
    article.execute("update article set views = 2")
    assert value(article, "select content from grain.chunk") == "BETA"


def test_a_change_that_only_the_collation_hides_is_seen(db: Connection) -> None:
    db.execute(
        "create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    db.execute("create table page (id int primary key, body text collate blind)")
    db.execute("select grain.track('page', content => 'body')")
    db.execute("insert into page values (1, 'alpha')")
    db.execute("update page set body = 'ALPHA'")
    assert value(db, "select content from grain.chunk") == "ALPHA"


@pytest.mark.parametrize(("org", "state"), [(None, "23502"), ("", "22023")])
def test_a_row_without_a_tenant_is_refused_with_the_reason(
    article: Connection, org: str | None, state: str
) -> None:
    article.execute("alter table article alter column org_id drop not null")
    with pytest.raises(psycopg.Error) as caught:
        article.execute("insert into article (id, org_id, body) values (1, %s, 'x')", [org])
    assert caught.value.sqlstate == state
    assert caught.value.diag.message_primary == "a row of public.article names no tenant"
    assert "org_id" in (caught.value.diag.message_detail or "")
    assert (caught.value.diag.message_hint or "").startswith("alter table public.article")


def test_a_forged_trigger_plants_nothing(article: Connection, make_role: MakeRole) -> None:
    put(article, "Genuine.")
    source = value(article, "select source_id from grain.source")
    mallory = make_role("grain_writer")
    article.execute(f"grant select on article to {mallory}")
    article.execute(f"create schema mallory authorization {mallory}")
    article.execute(f"set role {mallory}")
    article.execute("create table mallory.article (like public.article including all)")
    article.execute(
        f"create trigger t after insert on mallory.article for each row"
        f" execute function grain._on_row('{source}')"
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not the source"):
        article.execute("insert into mallory.article values (7, '42', 'x', 'x', 'Planted.')")
    article.execute("reset role")
    assert counts(article) == (1, 1, 1)


def test_a_renamed_table_stays_tracked(article: Connection) -> None:
    put(article, "Alpha.")
    article.execute("alter table article rename to essay")
    article.execute("insert into essay (id, org_id, body) values (2, '42', 'Beta.')")
    article.execute("delete from essay where id = 1")
    assert article.execute("select content from grain.chunk").fetchall() == [("Beta.",)]
    assert article.execute("select * from grain.reconcile('essay')").fetchone() == (0, 0)
    assert value(article, "select name from grain.source") == "public.essay"
    article.execute("alter table essay rename to note")
    article.execute("select grain.untrack('note')")
    assert counts(article) == (0, 0, 0)


def test_a_changed_owner_changes_nothing(article: Connection, make_role: MakeRole) -> None:
    article.execute(f"alter table article owner to {make_role('grain_writer')}")  # type: ignore[arg-type]
    put(article, "Alpha.")
    assert counts(article) == (1, 1, 1)


def test_a_table_that_is_gone_is_said_to_be_gone(article: Connection) -> None:
    article.execute("drop table article")
    with pytest.raises(psycopg.Error, match="is gone") as caught:
        article.execute("select * from grain.reconcile('public.article')")
    assert caught.value.diag.message_hint == "select grain.untrack('public.article');"


def test_triggers_may_be_made_to_fire_under_replication(article: Connection) -> None:
    article.execute("alter table article enable always trigger grain_insert")
    article.execute("set session_replication_role = replica")
    put(article, "Replicated.")
    article.execute("reset session_replication_role")
    assert counts(article) == (1, 1, 1)


def test_a_source_is_made_while_readers_read_and_writers_write(
    article: Connection, connect: Connect
) -> None:
    put(article, "Alpha.")
    article.execute("create table page (id int primary key, body text)")
    reader, writer, other = connect(), connect(), connect()
    reader.execute("begin isolation level repeatable read")
    reader.execute("select count(*) from grain.chunk")
    article.execute("select grain.track('page', content => 'body')")
    writer.execute("begin")
    writer.execute("insert into article (id, org_id, body) values (2, '42', 'Beta.')")
    article.execute("create table note (id int primary key, body text)")
    tracking = threading.Thread(
        target=other.execute, args=["select grain.track('note', content => 'body')"]
    )
    tracking.start()
    # While it waits for the writer it asks for its lock a little at a time, and nobody queues long.
    third = connect()
    third.execute("set lock_timeout = '2s'")
    for key in range(10, 16):
        third.execute("insert into article (id, org_id, body) values (%s, '42', 'More.')", [key])
    writer.execute("commit")
    tracking.join(timeout=30)
    assert not tracking.is_alive()
    assert value(article, "select count(*) from grain.source") == 3
    reader.execute("rollback")


def test_the_table_of_another_cannot_be_tracked(article: Connection, make_role: MakeRole) -> None:
    eve = make_role("grain_writer")
    article.execute("create table mine (id int primary key, body text)")
    article.execute(f"set role {eve}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be owner of table mine"):
        article.execute("select grain.track('mine', content => 'body')")
    article.execute("reset role")


def test_the_source_of_another_cannot_be_touched(article: Connection, make_role: MakeRole) -> None:
    put(article, "Alpha.")
    source = value(article, "select source_id from grain.source")
    article.execute(f"set role {make_role('grain_writer')}")  # type: ignore[arg-type]
    for call in (
        f"grain._backfill({source}, true)",
        f"grain._forget_source({source})",
        "grain.reconcile('article')",
        "grain.untrack('article')",
        "grain._declare_source('public.article', 'x', '{id}', 'body', null, null, null, null,"
        " 'prose', null, 'inline', null, null)",
    ):
        with pytest.raises(psycopg.Error, match=r"must be owner|is tracked already"):
            article.execute(f"select {call}")  # type: ignore[arg-type]
    article.execute("reset role")
    assert counts(article) == (1, 1, 1)


def test_an_owner_who_is_no_superuser_tracks_and_untracks(
    db: Connection, make_role: MakeRole
) -> None:
    ann = make_role("grain_writer")
    db.execute(f"create schema ann authorization {ann}")
    db.execute(f"set role {ann}")
    db.execute("create table ann.page (id int primary key, body text)")
    db.execute("insert into ann.page values (1, 'Mine.')")
    db.execute("select grain.track('ann.page', content => 'body')")
    db.execute("insert into ann.page values (2, 'Mine too.')")
    assert db.execute("select content from grain.search('mine') order by 1").fetchall() == [
        ("Mine too.",),
        ("Mine.",),
    ]
    db.execute("select grain.untrack('ann.page')")
    db.execute("insert into ann.page values (3, 'No longer.')")
    db.execute("reset role")
    assert counts(db) == (0, 0, 0)
    assert (
        value(db, "select count(*) from pg_class where relname ~ '^(chunk|embedding)_[0-9]'") == 0
    )


def test_row_security_on_the_source_hides_nothing_from_the_backfill(
    db: Connection, make_role: MakeRole
) -> None:
    bob = make_role("grain_writer")
    db.execute(f"create schema bob authorization {bob}")
    db.execute(f"set role {bob}")
    db.execute("create table bob.page (id int primary key, body text)")
    db.execute("insert into bob.page values (1, 'One.'), (2, 'Two.')")
    db.execute("alter table bob.page enable row level security")
    db.execute("select grain.track('bob.page', content => 'body')")
    db.execute("update bob.page set id = 3 where id = 2")
    db.execute("reset role")
    keys = db.execute("select key from grain.document order by 1").fetchall()
    assert keys == [("1",), ("3",)]
    db.execute(f"set role {bob}")
    db.execute("drop policy grain_reads on bob.page")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security may hide"):
        db.execute("select * from grain.reconcile('bob.page')")
    db.execute("reset role")


def test_keys_of_any_type_and_names_of_any_spelling_in_one_session(db: Connection) -> None:
    db.execute('create schema "Odd one"')
    tables = {
        "big": ("id bigint", "1"),
        "words": ("id text", "'a b'"),
        "uuids": ("id uuid", "'00000000-0000-0000-0000-00000000000a'"),
        '"My Docs"': ("id int", "1"),
        '"Odd one"."say ""hi"""': ("id int", "1"),
    }
    for name, (column, key) in tables.items():
        db.execute(f'create table {name} ({column} primary key, "The Body" text)')
        db.execute("select grain.track(%s, content => 'The Body')", [name])
        db.execute(f"insert into {name} values ({key}, %s)", [f"Text of {name}."])
    db.execute('create table pair (a int, "b,c" text, body text, primary key (a, "b,c"))')
    db.execute("""select grain.track('pair', content => 'body', key => 'a, "b,c"')""")
    db.execute("insert into pair values (1, 'x', 'Text of pair.')")
    assert counts(db) == (6, 6, 6)
    assert value(db, "select key from grain.document order by document.source_id desc limit 1") == (
        '[1, "x"]'
    )
    for name in [*tables, "pair"]:
        db.execute(f"delete from {name}")
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize(
    ("setup", "name", "message", "state"),
    [
        ("create view v as select 1 as id, 'x' as body", "v", "cannot be tracked", "42809"),
        (
            "create table parent_t (id int primary key, body text);"
            " create table child_t () inherits (parent_t)",
            "parent_t",
            "cannot be tracked",
            "42809",
        ),
        ("create table bare (id int, body text)", "bare", "has no primary key", "42P10"),
        ("create temporary table t (id int primary key, body text)", "t", "cannot", "42809"),
        ("select 1", "nowhere", "there is no table", "42P01"),
        ("create table c (id int primary key, text text)", "c", 'has no column "body"', "42703"),
    ],
)
def test_what_cannot_be_kept_true_is_refused(
    db: Connection, setup: str, name: str, message: str, state: str
) -> None:
    db.execute(setup)
    with pytest.raises(psycopg.Error, match=message) as caught:
        db.execute("select grain.track(%s, content => 'body')", [name])
    assert caught.value.sqlstate == state
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint
    assert value(db, "select count(*) from grain.source") == 0
    assert value(db, "select count(*) from pg_trigger where tgname like 'grain%%'") == 0


def test_a_key_that_is_not_unique_is_refused(db: Connection) -> None:
    db.execute("create table page (id int primary key, slug text, body text)")
    with pytest.raises(psycopg.Error, match="not unique") as caught:
        db.execute("select grain.track('page', content => 'body', key => 'slug')")
    assert caught.value.diag.message_hint == "create unique index on public.page (slug);"
    db.execute("create unique index on page (slug)")
    db.execute("select grain.track('page', content => 'body', key => 'slug')")


def test_a_partitioned_table_is_tracked_as_one(db: Connection) -> None:
    db.execute(
        "create table log (id int, day int, body text, primary key (id, day)) partition by list (day)"
    )
    db.execute("create table log_1 partition of log for values in (1)")
    db.execute("create table log_2 partition of log for values in (2)")
    db.execute("select grain.track('log', content => 'body')")
    db.execute("insert into log values (1, 1, 'Monday.'), (2, 2, 'Tuesday.')")
    db.execute("update log set day = 2 where id = 1")
    keys = db.execute("select key from grain.document order by 1").fetchall()
    assert keys == [("[1, 2]",), ("[2, 2]",)]
    db.execute("truncate log_2")
    assert counts(db)[0] == 2
    assert db.execute("select * from grain.reconcile('log')").fetchone() == (0, 2)
    assert counts(db) == (0, 0, 0)
    with pytest.raises(psycopg.Error, match="cannot be tracked"):
        db.execute("select grain.track('log_1', content => 'body')")


def test_reconcile_sees_what_no_trigger_saw(article: Connection) -> None:
    put(article, "One.")
    put(article, "Two.", key=2)
    article.execute("set session_replication_role = replica")
    article.execute("delete from article where id = 1")
    article.execute("update article set body = 'Two, changed.' where id = 2")
    article.execute("insert into article (id, org_id, body) values (3, '7', 'Three.')")
    article.execute("reset session_replication_role")
    assert article.execute("select * from grain.reconcile('article')").fetchone() == (2, 1)
    found = article.execute("select content from grain.chunk order by 1").fetchall()
    assert found == [("Three.",), ("Two, changed.",)]
    assert article.execute("select * from grain.reconcile('article')").fetchone() == (0, 0)


def test_writes_under_an_empty_search_path(article: Connection) -> None:
    article.execute("set search_path = ''")
    article.execute("insert into public.article (id, org_id, body) values (1, '42', 'Alpha.')")
    assert value(article, "select count(*) from grain.search('alpha', tenant => '42')") == 1


def test_queued_mode_leaves_the_splitting_to_a_worker(db: Connection) -> None:
    db.execute("create table page (id int primary key, body text)")
    db.execute("insert into page values (1, 'One.')")
    db.execute("select grain.track('page', content => 'body', mode => 'queued')")
    db.execute("insert into page values (2, 'Two.')")
    db.execute("update page set body = 'Two, again.' where id = 2")
    assert counts(db) == (0, 0, 2)
    jobs = db.execute("select tenant_id, job_id, key from grain.claim('w')").fetchall()
    assert [job[2] for job in jobs] == ["2", "1"]
    db.execute("update page set body = 'Two, at last.' where id = 2")
    assert value(db, "select count(*) from grain.job where kind = 'chunk'") == 3
    for tenant, job, _ in jobs:
        assert value(db, "select grain.complete_chunk('w', %s, %s)", tenant, job)
    assert value(db, "select count(*) from grain.job where kind = 'chunk'") == 1
    for tenant, job, *_ in db.execute(
        "select tenant_id, job_id from grain.claim('w', kinds => '{chunk}')"
    ).fetchall():
        assert value(db, "select grain.complete_chunk('w', %s, %s)", tenant, job)
    assert db.execute("select content from grain.chunk order by 1").fetchall() == [
        ("One.",),
        ("Two, at last.",),
    ]
    db.execute("delete from page where id = 2")
    assert counts(db) == (1, 1, 1)


def test_a_chunk_job_finds_its_row_by_its_index(db: Connection) -> None:
    db.execute("create table pair (a int, b text, org text, body text, primary key (a, b))")
    db.execute("select grain.track('pair', content => 'body', tenant => 'org', mode => 'queued')")
    db.execute(
        "insert into pair select i, 'key ' || i, 'org', 'Text ' || i from generate_series(1, 500) i"
    )
    db.execute("analyze pair")
    plan = db.execute(
        "select grain._key_sql(s, 'pair'::regclass, 't') from grain.source as s"
    ).fetchone()
    assert plan is not None
    explained = db.execute(
        f"explain select from pair as t where {plan[0].replace('$1', '%s')}",  # type: ignore[arg-type]
        ['[7, "key 7"]', '[7, "key 7"]'],
    ).fetchall()
    assert any("Index" in row[0] for row in explained)
    for tenant, job in db.execute(
        "select tenant_id, job_id from grain.claim('w', max_items => 500)"
    ).fetchall():
        db.execute("select grain.complete_chunk('w', %s, %s)", [tenant, job])
    assert counts(db) == (500, 500, 500)


def test_two_writers_of_one_text_do_not_wait_and_ask_once(
    article: Connection, connect: Connect
) -> None:
    first, second = connect(), connect()
    first.execute("begin")
    second.execute("begin")
    second.execute("set local lock_timeout = '2s'")
    first.execute("insert into article (id, org_id, body) values (1, '42', 'Shared words.')")
    second.execute("insert into article (id, org_id, body) values (2, '42', 'Shared words.')")
    first.execute("commit")
    second.execute("commit")
    claimed = article.execute("select tenant_id, job_id from grain.claim('w')").fetchall()
    assert len(claimed) == 1
    article.execute(
        "select grain.complete('w', %s, %s, array['[1,2,3]'::halfvec])",
        [[claimed[0][0]], [claimed[0][1]]],
    )
    assert article.execute("select * from grain.claim('w')").fetchall() == []
    assert counts(article) == (2, 2, 0)


def test_two_writers_of_one_document_leave_one_truth(article: Connection, connect: Connect) -> None:
    put(article, "Zero.")
    first, second = connect(), connect()
    first.execute("begin")
    first.execute("update article set body = 'First.' where id = 1")
    waiting = threading.Thread(
        target=second.execute, args=["update article set body = 'Second.' where id = 1"]
    )
    waiting.start()
    first.execute("commit")
    waiting.join()
    assert article.execute("select content from grain.chunk").fetchall() == [("Second.",)]
    assert counts(article) == (1, 1, 1)


def test_a_late_vector_is_never_wrong(article: Connection) -> None:
    put(article, "Old words.")
    tenant, job = article.execute("select tenant_id, job_id from grain.claim('w')").fetchone() or (
        0,
        0,
    )
    put(article, "New words.")
    done = value(
        article, "select grain.complete('w', %s, %s, array['[1,2,3]'::halfvec])", [tenant], [job]
    )
    assert done == 0
    assert value(article, "select count(*) from grain.embedding") == 0
    inputs = article.execute("select input from grain.claim('w')").fetchall()
    assert inputs == [("New words.",)]


def test_a_document_that_the_splitter_cannot_cut_is_saved_and_says_why(article: Connection) -> None:
    article.execute("delete from grain.vocabulary")
    fresh = psycopg.connect(article.info.dsn, autocommit=True)
    put(fresh, "word " * 500)
    assert value(fresh, "select count(*) from article") == 1
    assert counts(fresh)[1] > 1
    assert value(fresh, "select distinct error is not null from grain.document")
    assert value(fresh, "select count(*) from grain.errors where kind = 'split'") == 1
    fresh.close()


def test_a_thousand_rows_in_one_statement_use_no_subtransactions(article: Connection) -> None:
    article.execute(
        "insert into article (id, org_id, body)"
        " select i, 'org ' || i % 7, 'Document number ' || i from generate_series(1, 1000) as i"
    )
    assert counts(article) == (1000, 1000, 1000)
    bodies = article.execute(
        "select proname from pg_proc where pronamespace = 'grain'::regnamespace"
        " and proname in ('_on_row', '_put_document', '_write_chunks', '_queue_missing')"
        " and prosrc ~* '\\mexception when\\M'"
    ).fetchall()
    assert bodies == []


def test_untracking_needs_no_table(article: Connection) -> None:
    put(article, "Alpha.")
    article.execute("drop table article")
    article.execute("select grain.untrack('public.article')")
    assert counts(article) == (0, 0, 0)
