"""The artifact: one re-runnable script of functions, made of sql/, plpython/ and migrations/.

The same text is the extension's script, for a fresh install and for every upgrade, and what
`pg-grain install` sends over a connection. Nothing of it is committed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version as distribution_version
from pathlib import Path

VERSION = distribution_version("pg-grain")
REQUIRES = ("plpython3u", "vector", "pg_trgm", "btree_gin")

CONTROL = """\
comment = 'Passages of documents, kept searchable by tables, triggers and one search function'
default_version = '{version}'
requires = '{requires}'
schema = grain
relocatable = false
superuser = true
"""

EXTENSION_GUARD = """\
\\echo Use "CREATE EXTENSION pg_grain" to load this file. \\quit

do $guard$
begin
    if exists (
        select from pg_catalog.pg_proc as p
        where p.pronamespace = 'grain'::regnamespace and not exists (
            select from pg_catalog.pg_depend as d
            where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
        )
    ) then
        raise exception 'pg_grain was installed here over a connection'
            using errcode = 'GR001',
                detail = 'Its functions belong to no extension, and none can take them over.',
                hint = 'In a shell: pg-grain install  -- upgrades it where it stands';
    end if;
end;
$guard$;
"""

CONNECTION_GUARD = """\
do $guard$
begin
    if exists (select from pg_catalog.pg_extension where extname = 'pg_grain') then
        raise exception 'pg_grain was installed here as an extension'
            using errcode = 'GR001',
                detail = 'Its functions belong to the extension.',
                hint = 'alter extension pg_grain update; select grain.install();';
    end if;
end;
$guard$;
"""


def room(name: str) -> Path:
    """The folder of that name: inside the installed package, else beside it in the repository."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def modules() -> dict[str, str]:
    """The modules of plpython/ and its packages: their text by their dotted names."""
    folder = room("plpython")
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted(folder.rglob("*.py"))
        if path.stem != "__init__"
    }


def migrations(first: int | None = None) -> list[tuple[str, str]]:
    """(name, text) of the migrations in their order; only the `first` so many when given."""
    paths = sorted(room("migrations").glob("*.sql"))[:first]
    return [(path.stem, path.read_text("utf-8")) for path in paths]


def script(version: str = VERSION, first_migrations: int | None = None) -> str:
    """The functions, as one script that may be run again. It needs the schema grain to be there."""
    bundle = modules()
    key = "pg_grain_" + hashlib.sha256(repr(bundle).encode()).hexdigest()[:16]
    steps = migrations(first_migrations)
    views = "\n".join(path.read_text("utf-8") for path in sorted(room("sql").glob("views/*.sql")))
    values = {
        "@bundle_key@": key,
        "@bundle_names@": repr(tuple(bundle)),
        "@bundle_modules@": repr(bundle),
        "@migration_names@": _array([name for name, _ in steps], "name"),
        "@migration_bodies@": _array([text for _, text in steps], "migration"),
        "@views@": _quoted(views, "views"),
        "@version@": version,
    }
    parts = []
    for path in sorted(room("sql").glob("*.sql")):
        text = path.read_text("utf-8")
        for name, value in values.items():
            text = text.replace(name, value)
        parts.append(text)
    return "\n".join(parts)


def write_extension(
    folder: Path,
    version: str = VERSION,
    upgrades_from: Sequence[str] = (),
    first_migrations: int | None = None,
) -> list[Path]:
    """Write the control file, the script and the upgrade scripts; return their paths."""
    text = EXTENSION_GUARD + script(version, first_migrations)
    files = {
        "pg_grain.control": CONTROL.format(version=version, requires=", ".join(REQUIRES)),
        f"pg_grain--{version}.sql": text,
    }
    for old in upgrades_from:
        files[f"pg_grain--{old}--{version}.sql"] = text
    written = []
    for name, content in files.items():
        path = folder / name
        path.write_text(content, "utf-8")
        written.append(path)
    return written


def _array(items: Sequence[str], tag: str) -> str:
    return "array[" + ", ".join(_quoted(item, tag) for item in items) + "]::text[]"


def _quoted(text: str, tag: str) -> str:
    if f"${tag}$" in text:
        raise ValueError(f"the text holds its own quote ${tag}$")
    return f"${tag}${text}${tag}$"
