"""Two doors, one artifact: fresh equals upgraded, and a dump restores."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from pg_grain import artifact
from pg_grain.database import Connection
from pg_grain.errors import UserError
from pg_grain.install import install

from conftest import ROOT, drop_database, embed_all, make_database, value


@pytest.fixture
def empty(server_dsn: str) -> Iterator[str]:
    """DSN of a database without pg_grain."""
    name = f"grain_empty_{uuid4().hex[:12]}"
    yield make_database(server_dsn, name)
    drop_database(server_dsn, name)


@pytest.fixture(scope="session")
def extension_folder(server_dsn: str) -> Path:
    """Where the server looks for extensions; the tests run on the server's own machine."""
    major = 15
    with psycopg.connect(server_dsn) as connection:
        major = connection.info.server_version // 10000
    return Path(f"/usr/share/postgresql/{major}/extension")


def unfrozen(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """A snapshot with the functions as their files have them."""
    return [
        tuple(part and re.sub(r"(?m)^# cpython-.*\n", "", part) for part in row) for row in rows
    ]


def snapshot(connection: Connection) -> list[tuple[str, ...]]:
    """Everything that the catalog says of the schema grain, in words."""
    queries = [
        # functions: signature, body, properties, owner, rights, comment
        "select 'function', p.oid::regprocedure::text, pg_get_functiondef(p.oid),"
        " p.proowner::regrole::text, array(select a::text from unnest(p.proacl) a order by 1)::text,"
        " obj_description(p.oid, 'pg_proc') from pg_proc p where pronamespace = 'grain'::regnamespace",
        "select 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text,"
        " pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attstorage, col_description(c.oid, a.attnum)"
        " from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
        " left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum"
        " where relnamespace = 'grain'::regnamespace and relkind in ('r', 'p', 'v')",
        "select 'relation', c.relname, c.relkind, c.relowner::regrole::text, c.relrowsecurity::text,"
        " c.reloptions::text, array(select a::text from unnest(c.relacl) a order by 1)::text,"
        " obj_description(c.oid, 'pg_class'), case relkind when 'v' then pg_get_viewdef(c.oid) end"
        " from pg_class c where relnamespace = 'grain'::regnamespace and relkind in ('r', 'p', 'v', 'i', 'I')",
        "select 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index i"
        " join pg_class c on c.oid = i.indrelid where relnamespace = 'grain'::regnamespace",
        "select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)"
        " from pg_constraint where connamespace = 'grain'::regnamespace",
        "select 'policy', polrelid::regclass::text, polname, pg_get_expr(polqual, polrelid), polroles::regrole[]::text"
        " from pg_policy p join pg_class c on c.oid = polrelid where relnamespace = 'grain'::regnamespace",
        "select 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid) from pg_trigger t"
        " join pg_class c on c.oid = tgrelid where relnamespace = 'grain'::regnamespace and not tgisinternal",
        "select 'row', to_jsonb(r) - 'created_at' ->> 'name', (to_jsonb(r) - 'created_at')::text from grain.rule r",
        "select 'row', to_jsonb(m) - 'created_at' ->> 'name', (to_jsonb(m) - 'created_at')::text from grain.model m",
        "select 'row', name from grain.migration",
    ]
    rows: list[tuple[str, ...]] = []
    with connection.transaction():
        connection.execute("set local search_path = ''")
        for query in queries:
            rows += connection.execute(query).fetchall()  # type: ignore[arg-type]
    return sorted(rows, key=repr)


@pytest.fixture
def extension(server_dsn: str, extension_folder: Path) -> Iterator[Path]:
    """The extension, written where the server finds it, and taken away again.

    All tests of a server share that place, so one has it at a time.
    """
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(hashtext('extension folder'))")
        written = artifact.write_extension(extension_folder)
        yield extension_folder
        for path in [*written, *extension_folder.glob("pg_grain--*.sql")]:
            path.unlink(missing_ok=True)


def create_extension(connection: Connection, version: str = artifact.VERSION) -> None:
    connection.execute(f"create extension pg_grain version '{version}' cascade")  # type: ignore[arg-type]
    connection.execute("select grain.install()")


def test_both_doors_lead_to_the_same_place(empty: str, dsn: str, extension: Path) -> None:
    with psycopg.connect(empty, autocommit=True) as one:
        create_extension(one)
        by_extension = snapshot(one)
        assert value(one, "select count(*) from grain.self_test() where not holds") == 0
    with psycopg.connect(dsn, autocommit=True) as two:
        two.execute("delete from grain.model where name = 'tiny'")
        two.execute("update grain.model set is_default = true where provider = 'local'")
        assert snapshot(two) == by_extension


def test_the_extension_owns_functions_only(empty: str, extension: Path) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        create_extension(connection)
        owned = connection.execute(
            "select distinct classid::regclass::text from pg_depend where deptype = 'e'"
            " and refobjid = (select oid from pg_extension where extname = 'pg_grain')"
        ).fetchall()
        assert owned == [("pg_proc",)]


def test_a_second_run_changes_nothing(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        before = snapshot(connection)
        said = install(connection)
        assert said.endswith(f": 0 of {len(artifact.migrations())} migrations applied")
        assert snapshot(connection) == before


@pytest.mark.parametrize("first", range(1, len(artifact.migrations())))
def test_upgraded_over_a_connection_equals_fresh(empty: str, dsn: str, first: int) -> None:
    """From a state in which only the first migrations were there, with views and functions as now."""
    with psycopg.connect(dsn, autocommit=True) as fresh:
        fresh.execute("delete from grain.model where name = 'tiny'")
        fresh.execute("update grain.model set is_default = true where provider = 'local'")
        expected = snapshot(fresh)
    with psycopg.connect(empty, autocommit=True) as connection:
        install_old(connection, first)
        install(connection)
        assert snapshot(connection) == expected


def install_old(connection: Connection, first: int) -> None:
    """Install the functions with only the first so many migrations."""
    real = artifact.script
    try:
        artifact.script = lambda: real("0.0.1", first)  # type: ignore[assignment]
        install(connection)
    finally:
        artifact.script = real  # type: ignore[assignment]


@pytest.mark.parametrize("first", range(1, len(artifact.migrations())))
def test_upgraded_extension_equals_fresh(empty: str, dsn: str, extension: Path, first: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as fresh:
        fresh.execute("delete from grain.model where name = 'tiny'")
        fresh.execute("update grain.model set is_default = true where provider = 'local'")
        expected = snapshot(fresh)
    artifact.write_extension(extension, version="0.0.1", first_migrations=first)
    artifact.write_extension(extension, upgrades_from=["0.0.1"])
    with psycopg.connect(empty, autocommit=True) as connection:
        create_extension(connection, "0.0.1")
        assert value(connection, "select grain.version()") == "0.0.1"
        connection.execute("alter extension pg_grain update")
        connection.execute("select grain.install()")
        assert snapshot(connection) == expected


def test_the_doors_cannot_be_crossed(empty: str, dsn: str, extension: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as over_connection:
        with pytest.raises(psycopg.Error, match="was installed here over a connection") as caught:
            over_connection.execute("create extension pg_grain cascade")
        assert caught.value.sqlstate == "GR001"
        assert "pg-grain install" in (caught.value.diag.message_hint or "")
    with psycopg.connect(empty, autocommit=True) as by_extension:
        create_extension(by_extension)
        with pytest.raises(psycopg.Error, match="was installed here as an extension") as caught:
            install(by_extension)
        assert "alter extension pg_grain update" in (caught.value.diag.message_hint or "")


@pytest.mark.parametrize("door", ["extension", "connection"])
def test_a_filled_database_is_dumped_and_restored(
    server_dsn: str, empty: str, extension: Path, vocabulary: bytes, door: str, tmp_path: Path
) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        if door == "extension":
            create_extension(connection)
        else:
            install(connection)
        connection.execute("select grain.add_tokenizer('cl100k_base', %s)", [vocabulary])
        connection.execute("select grain.create_model('tiny', dimensions => 3)")
        connection.execute(
            "create table article (id int primary key, org text not null, body text)"
        )
        connection.execute("create table page (id int primary key, body text)")
        connection.execute("select grain.track('article', content => 'body', tenant => 'org')")
        connection.execute("select grain.track('page', content => 'body')")
        connection.execute(
            "insert into article select i, 'org ' || i % 5, 'Text number ' || i from generate_series(1, 40) i"
        )
        connection.execute("insert into page select i, 'Page ' || i from generate_series(1, 20) i")
        embed_all(connection)
        connection.execute("insert into page values (99, 'A page that waits for its vector.')")
        connection.execute("select * from grain.build_index('article', min_rows => 1)")
        tables = ["model", "rule", "source", "generation", "document", "chunk", "embedding", "job"]
        filled = {t: dumped(connection, t) for t in tables}
        before = snapshot(connection)
    target = f"grain_restored_{uuid4().hex[:12]}"
    restored = make_database(server_dsn, target)
    try:
        archive = tmp_path / "grain.dump"
        run("pg_dump", "--format=custom", f"--file={archive}", f"--dbname={empty}")
        run("pg_restore", "--single-transaction", f"--dbname={restored}", str(archive))
        with psycopg.connect(restored, autocommit=True) as connection:
            assert {t: dumped(connection, t) for t in tables} == filled
            # An extension's functions come from its files: what install() compiled is in no dump.
            assert unfrozen(snapshot(connection)) == unfrozen(before)
            connection.execute("select grain.install()")
            assert snapshot(connection) == before
            assert value(connection, "select count(*) from grain.self_test() where not holds") == 0
            connection.execute("insert into page values (100, 'A page written after the restore.')")
            assert value(connection, "select count(*) from grain.job") == 2
            assert value(connection, "select key from grain.search('restore')") == "100"
            assert connection.execute("select * from grain.reconcile('page')").fetchone() == (0, 0)
            connection.execute("select grain.install()")
    finally:
        drop_database(server_dsn, target)


def dumped(connection: Connection, table: str) -> list[tuple[str, ...]]:
    """The rows of a table of ours, as text."""
    query = sql.SQL("select t::text from {} as t order by 1").format(sql.Identifier("grain", table))
    return connection.execute(query).fetchall()


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr


@pytest.mark.parametrize("schema", ["public", "ext", "Odd Schema"])
def test_pgvector_may_live_in_any_schema(empty: str, vocabulary: bytes, schema: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        quoted = sql.Identifier(schema)
        connection.execute(sql.SQL("create schema if not exists {}").format(quoted))
        for name in ("vector", "pg_trgm", "btree_gin"):
            connection.execute(
                sql.SQL("create extension {} schema {}").format(sql.Identifier(name), quoted)
            )
        install(connection)
        connection.execute("select grain.add_tokenizer('cl100k_base', %s)", [vocabulary])
        connection.execute("select grain.create_model('tiny', dimensions => 3)")
        connection.execute("create table page (id int primary key, path text, body text)")
        connection.execute("select grain.track('page', content => 'body', path => 'path')")
        connection.execute("set search_path = ''")
        connection.execute("insert into public.page values (1, 'a.md', 'Alpha.')")
        jobs = connection.execute("select tenant_id, job_id from grain.claim('w')").fetchall()
        connection.execute(
            sql.SQL("select grain.complete('w', %s, %s, array['[1,2,3]'::{}.halfvec])").format(
                quoted
            ),
            [[jobs[0][0]], [jobs[0][1]]],
        )
        assert (
            value(connection, "select dense_rank from grain.search(query_embedding => '[1,2,3]')")
            == 1
        )
        assert connection.execute(
            "select built from grain.build_index('public.page', min_rows => 1)"
        ).fetchall() == [(True,)]


def test_an_ordinary_user_is_told_who_may_install(empty: str, server_dsn: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("create role plain login")
        try:
            connection.execute("set role plain")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("create extension plpython3u")
            with pytest.raises(UserError, match="is no superuser") as caught:
                install(connection)
            assert "untrusted" in caught.value.detail
            assert caught.value.hint
        finally:
            connection.execute("reset role")
            connection.execute("drop role plain")


def test_an_old_pgvector_is_named_with_its_fault(dsn: str) -> None:
    warned: list[tuple[str | None, str | None]] = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.add_notice_handler(
            lambda said: warned.append((said.message_detail, said.message_hint))
        )
        for version, said in (
            ("0.8.0", "faults"),
            ("0.8.3", "faults"),
            ("0.8.4", None),
            ("0.10.0", None),
        ):
            warned.clear()
            connection.execute(
                "update pg_extension set extversion = %s where extname = 'vector'", [version]
            )
            connection.execute("select grain.install()")
            assert bool(warned) == bool(said), version
            for detail, hint in warned:
                assert "CVE-2026-3172" in (detail or "")
                assert "0.8.4" in (hint or "")
        connection.execute("update pg_extension set extversion = '0.7.4' where extname = 'vector'")
        with pytest.raises(psycopg.Error, match=r"pgvector 0\.7\.4 is too old") as caught:
            connection.execute("select grain.install()")
        assert caught.value.diag.message_hint


def test_another_encoding_is_refused(server_dsn: str) -> None:
    name = f"grain_latin_{uuid4().hex[:12]}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(
            f"create database {name} encoding 'LATIN1' template template0 locale 'C'"  # type: ignore[arg-type]
        )
    try:
        with (
            psycopg.connect(server_dsn, dbname=name, autocommit=True) as connection,
            pytest.raises(UserError, match="not encoded in UTF8"),
        ):
            install(connection)
    finally:
        drop_database(server_dsn, name)


def test_every_object_says_what_it_is(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        mute = connection.execute(
            "select p.oid::regprocedure::text from pg_proc p where pronamespace = 'grain'::regnamespace"
            " and obj_description(p.oid, 'pg_proc') is null"
            " union all select c.relname from pg_class c where relnamespace = 'grain'::regnamespace"
            " and relkind in ('r', 'p', 'v') and obj_description(c.oid, 'pg_class') is null"
            " union all select c.relname || '.' || attname from pg_class c join pg_attribute a on attrelid = c.oid"
            " where relnamespace = 'grain'::regnamespace and relkind in ('r', 'p', 'v') and attnum > 0"
            " and not attisdropped and col_description(c.oid, attnum) is null"
        ).fetchall()
        assert mute == []


def test_every_function_pins_what_it_needs(dsn: str) -> None:
    """Those that touch partitions plan anew each time; definers pin their search_path."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        loose = connection.execute(
            "select p.oid::regprocedure::text from pg_proc p join pg_language l on l.oid = prolang"
            " where pronamespace = 'grain'::regnamespace and lanname = 'plpgsql'"
            " and proname <> 'install' and prosrc ~ 'grain\\.(chunk|embedding)\\M as'"
            " and not coalesce('plan_cache_mode=force_custom_plan' = any(proconfig), false)"
        ).fetchall()
        assert loose == []


def test_no_function_names_a_row_type(dsn: str) -> None:
    for path in sorted(artifact.room("sql").glob("*.sql")):
        assert not re.search(r"returns setof grain\.|%rowtype", path.read_text("utf-8")), path.name


def test_two_databases_of_a_server_are_installed_at_once(server_dsn: str, db: Connection) -> None:
    prefix = f"grain_test_{uuid4().hex[:8]}_"
    made = (ROOT / "sql" / "10_roles.sql").read_text().split("$$;")[0] + "$$;"
    made = made.replace("'grain_", f"'{prefix}")
    roles = [f"{prefix}{name}" for name in ("owner", "reader", "writer", "worker", "admin")]
    try:
        with psycopg.connect(server_dsn) as first, ThreadPoolExecutor(1) as pool:
            first.execute(made)  # type: ignore[arg-type]
            second = pool.submit(db.execute, made)  # type: ignore[arg-type]
            while not value(first, "select pg_blocking_pids(%s)", db.info.backend_pid):
                assert not second.done()
            first.commit()
            second.result(timeout=60)
        assert value(db, "select pg_has_role(%s, %s, 'member')", roles[4], roles[1])
    finally:
        for role in roles:
            db.execute(f"drop role if exists {role}")  # type: ignore[arg-type]
