"""The wall: no tenant sees another's rows, by any function, view, table or error."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from pg_grain.database import Connection

from conftest import MakeRole, embed_all, value

DEFAULT = UUID(int=0)


@pytest.fixture
def two(article: Connection) -> Iterator[Connection]:
    """Two tenants with one document each; the connection acts as grain_reader."""
    article.execute(
        "insert into article values (1, 'a', 'a.md', 'A', 'zebra of a'), (2, 'b', 'b.md', 'B', 'zebra of b')"
    )
    embed_all(article)
    article.execute("insert into article values (3, 'b', 'c.md', 'C', 'yak of b')")
    article.execute("select from grain.claim('w')")
    article.execute(
        "select grain.fail('w', array_agg(tenant_id), array_agg(job_id), 'record-permanent', 'secret of b')"
        " from grain.job"
    )
    article.execute("set role grain_reader")
    yield article


def test_a_uuid_is_itself_and_any_other_text_is_hashed(db: Connection) -> None:
    canonical = "7b4a5c0e-0000-4000-8000-00000000abcd"
    spellings = [
        canonical,
        canonical.upper(),
        "{" + canonical + "}",
        " " + canonical,
        "42",
        " 42",
        "42 ",
    ]
    mapped = [value(db, "select grain.tenant_uuid(%s)", text) for text in spellings]
    assert mapped[0] == UUID(canonical)
    assert len(set(mapped)) == len(spellings)
    assert mapped[4] == UUID(value(db, "select encode(substring(sha256('42'), 1, 16), 'hex')"))
    with pytest.raises(psycopg.Error, match="the tenant is empty"):
        db.execute("select grain.tenant_uuid('')")


def test_a_reader_sees_its_tenant_in_every_relation(two: Connection) -> None:
    relations = [
        row[0]
        for row in two.execute(
            "select c.oid::regclass::text from pg_class c where relnamespace = 'grain'::regnamespace"
            " and relkind in ('r', 'v', 'p') and has_table_privilege(oid, 'select')"
        )
    ]
    assert {"grain.document", "grain.chunk", "grain.embedding", "grain.job"} <= set(relations)
    two.execute("set grain.tenant_id = 'a'")
    for relation in relations:
        said = two.execute(f"select t::text from {relation} as t").fetchall()
        shown = " ".join(str(row[0]) for row in said)
        for foreign in ("of b", "b.md", "c.md", value(two, "select grain.tenant_uuid('b')::text")):
            assert foreign not in shown, relation
    assert value(two, "select count(*) from grain.chunk") == 1
    assert value(two, "select count(*) from grain.errors") == 0
    two.execute("set grain.tenant_id = 'b'")
    assert value(two, "select count(*) from grain.chunk") == 2
    assert value(two, "select count(*) from grain.errors") == 1


def test_an_unset_tenant_is_the_default_one_and_never_all(two: Connection) -> None:
    assert value(two, "select count(*) from grain.chunk") == 0
    assert value(two, "select count(*) from grain.search('zebra')") == 0


def test_an_empty_tenant_is_refused(two: Connection) -> None:
    two.execute("set grain.tenant_id = ''")
    assert value(two, "select count(*) from grain.chunk") == 0
    with pytest.raises(psycopg.Error, match=r"grain\.tenant_id is empty") as caught:
        two.execute("select * from grain.search('zebra')")
    assert caught.value.sqlstate == "22023"
    two.execute("reset grain.tenant_id")
    with pytest.raises(psycopg.Error, match="the tenant is empty"):
        two.execute("select * from grain.search('zebra', tenant => '')")


def test_a_tenant_lasts_for_the_transaction(two: Connection) -> None:
    def seen() -> list[str]:
        return [
            row[0] for row in two.execute("select content from grain.search('zebra')").fetchall()
        ]

    with two.transaction():
        two.execute("select grain.use_tenant('a')")
        assert seen() == ["zebra of a"]
    assert seen() == []
    with pytest.raises(ZeroDivisionError), two.transaction():
        two.execute("select grain.use_tenant('b')")
        assert len(seen()) == 1
        raise ZeroDivisionError
    assert two.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    with two.transaction():
        two.execute("select grain.use_tenant('a')")
        assert seen() == ["zebra of a"]


def test_a_tenant_of_the_session_and_of_the_call(two: Connection) -> None:
    assert value(two, "select content from grain.search('zebra', tenant => 'b')") == "zebra of b"
    two.execute("set grain.tenant_id = 'a'")
    assert value(two, "select content from grain.search('zebra')") == "zebra of a"
    assert value(two, "select content from grain.search('zebra', tenant => 'a')") == "zebra of a"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may not leave its tenant"):
        two.execute("select * from grain.search('zebra', tenant => 'b')")


def test_every_leg_has_the_tenant_predicate(two: Connection) -> None:
    two.execute("set grain.tenant_id = 'a'")
    for call in (
        "'zebra', mode => 'lexical'",
        "'.md', mode => 'path'",
        "query_embedding => '[1,2,3]', mode => 'dense'",
        "'zebra', query_embedding => '[1,2,3]', expand => 'section'",
        "'zebra', path => '.md'",
    ):
        rows = two.execute(f"select content from grain.search({call}, k => 100)").fetchall()
        assert rows == [("zebra of a",)], call


def test_an_admin_sees_all_tenants(two: Connection, make_role: MakeRole) -> None:
    two.execute("reset role")
    two.execute(f"set role {make_role('grain_admin')}")
    assert value(two, "select count(distinct tenant_id) from grain.chunk") == 2
    two.execute("set grain.tenant_id = 'a'")
    assert value(two, "select content from grain.search('zebra', tenant => 'b')") == "zebra of b"


def test_a_role_may_be_given_one_function_alone(two: Connection, make_role: MakeRole) -> None:
    two.execute("reset role")
    web = make_role()
    two.execute(f"grant usage on schema grain to {web}")  # type: ignore[arg-type]
    two.execute(f"grant execute on function grain.search to {web}")  # type: ignore[arg-type]
    two.execute(f"set role {web}")  # type: ignore[arg-type]
    assert value(two, "select content from grain.search('zebra', tenant => 'a')") == "zebra of a"
    for forbidden in ("select from grain.chunk", "select grain.version()"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            two.execute(forbidden)  # type: ignore[arg-type]


def test_a_reader_writes_nothing(two: Connection) -> None:
    for statement in (
        "delete from grain.chunk",
        "insert into grain.vocabulary values ('x', 'y')",
        "update grain.source set name = 'x'",
        "select from grain.chunk_1",
        "select * from grain.vocabulary",
        "select * from grain.claim('w')",
        "select grain.create_model('m', dimensions => 3)",
        "select * from grain._split('x', 'window', 'bytes', 1, 0, '', '', '{}', null, null, null)",
        "select grain._bundle()",
        "select grain._put_document(1, grain._default_tenant(), 'k', 'c', null, null, null, 0::smallint)",
        "select grain.install()",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            two.execute(statement)  # type: ignore[arg-type]


def test_the_walls_stand(two: Connection) -> None:
    two.execute("reset role")
    fallen = two.execute("select wall, detail from grain.self_test() where not holds").fetchall()
    assert fallen == []


def test_the_self_test_sees_a_hole(db: Connection) -> None:
    db.execute("alter table grain.chunk disable row level security")
    db.execute("grant insert on grain.document to public")
    db.execute("grant execute on function grain._bundle() to public")
    fallen = db.execute("select detail from grain.self_test() where not holds").fetchall()
    assert len(fallen) >= 4
    assert any("chunk" in row[0] for row in fallen)


def test_settings_of_search_do_not_reach_the_caller(two: Connection) -> None:
    with two.transaction():
        before = two.execute("select name, setting from pg_settings order by 1").fetchall()
        two.execute(
            "select * from grain.search('zebra', query_embedding => '[1,2,3]', tenant => 'a')"
        )
        assert two.execute("select name, setting from pg_settings order by 1").fetchall() == before
