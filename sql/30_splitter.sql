-- Splitting and counting: pure PL/Python, and the wrappers that callers see.
-- @bundle_key@, @bundle_names@ and @bundle_modules@ are filled in when the artifact is built: the
-- modules of plpython/ as text.

create or replace function grain._module_text(module text)
returns text
language plpython3u
immutable
parallel safe
as $source$
return @bundle_modules@.get(module)
$source$;

comment on function grain._module_text(text) is 'The text of a Python module.';

create or replace function grain._frozen()
returns void
language plpython3u
immutable
parallel safe
as $$
pass
$$;

comment on function grain._frozen() is
'Holds the compiled form of the Python modules, which _freeze() writes and _bundle() reads as text: parsed as a program it would be the longest part of a session''s first call.';

create or replace function grain._bundle()
returns void
language plpython3u
volatile
parallel safe
as $bundle$
import gc
import importlib
import sys
import types

NAMES = @bundle_names@
PACKAGES = {name.rpartition(".")[0] for name in NAMES} - {""}


class Bundle:
    """Finds and loads the modules, each when it is first imported."""

    frozen = {}

    @staticmethod
    def find_spec(name, path, target=None):
        package, _, module = name.partition(".")
        if package == "@bundle_key@" and (module in NAMES or module in PACKAGES):
            return type(sys.__spec__)(
                name, Bundle, origin="grain/" + module + ".py", is_package=module in PACKAGES
            )
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        name = module.__name__.partition(".")[2]
        if name not in PACKAGES:
            exec(Bundle.code(name, module.__spec__.origin), module.__dict__)

    @staticmethod
    def code(name, origin):
        if name in Bundle.frozen:
            import binascii
            import marshal
            import zlib

            return marshal.loads(zlib.decompress(binascii.a2b_base64(Bundle.frozen[name])))
        plan = plpy.prepare("select grain._module_text($1) as text", ["text"])
        return compile(plpy.execute(plan, [name])[0]["text"], origin, "exec")


if "@bundle_key@" not in sys.modules:
    package = types.ModuleType("@bundle_key@")
    package.__path__ = []
    # Lines of "# Python's tag, module, code".
    for line in plpy.execute(
        "select prosrc from pg_catalog.pg_proc where oid = 'grain._frozen()'::regprocedure"
    )[0]["prosrc"].splitlines():
        if line.startswith("# " + sys.implementation.cache_tag + " "):
            _, _, module, code = line.split(" ")
            Bundle.frozen[module] = code
    sys.modules["@bundle_key@"] = package
    sys.meta_path.append(Bundle)
    # Nothing here is garbage: looking for it would cost a third of the time.
    gc.disable()
    try:
        importlib.import_module("@bundle_key@.rows")
    finally:
        gc.enable()
$bundle$;

comment on function grain._bundle() is
'Imports the Python modules into the session, as a package named by the digest of their text: once.';

create or replace function grain._freeze()
returns void
language plpython3u
volatile
parallel unsafe
as $freeze$
import binascii
import marshal
import re
import sys
import zlib

plan = plpy.prepare("select grain._module_text($1) as text", ["text"])
lines = []
for name in @bundle_names@:
    text = plpy.execute(plan, [name])[0]["text"]
    # Without docstrings, which nobody reads there.
    code = compile(text, "grain/" + name + ".py", "exec", optimize=2)
    # Format 2 of marshal has no references, which would differ from one time to the next.
    packed = binascii.b2a_base64(zlib.compress(marshal.dumps(code, 2)), newline=False).decode()
    lines.append(" ".join(("#", sys.implementation.cache_tag, name, packed)))
definition = plpy.execute("select pg_get_functiondef('grain._frozen()'::regprocedure) as text")[0]["text"]
head, quote, _ = re.split(r"(?<=AS )(\$\w*\$)", definition, maxsplit=1)
plpy.execute("\n".join((head + quote, *lines, "pass", quote)))
$freeze$;

comment on function grain._freeze() is
'Puts beside the Python modules what this server''s Python compiles them to, which takes most of the time of a session''s first call. Another Python than this reads the text.';

create or replace function grain._vocabulary(tokenizer text)
returns boolean
language plpython3u
volatile
parallel safe
as $$
import sys

key = "@bundle_key@:" + tokenizer
if key not in GD:
    plpy.execute("select grain._bundle()")
    plan = plpy.prepare("select data from grain.vocabulary where name = $1", ["text"])
    rows = plpy.execute(plan, [tokenizer])
    if not rows:
        return False
    GD[key] = sys.modules["@bundle_key@.tokens"].load(rows[0]["data"])
return True
$$;

comment on function grain._vocabulary(text) is
'Keeps a vocabulary in the session; false where it is not installed.';

-- Its columns have changed, which "or replace" cannot do. ("if exists" would speak on every install.)
do $$
declare
    former constant regprocedure
    := to_regprocedure('grain._split(text, text, text, integer, integer, text, text, text, text, text, text)');
begin
    if former is not null then
        execute format('drop function %s', former);
    end if;
end
$$;

create or replace function grain._split(
    content text,
    splitter text,
    unit text,
    size integer,
    overlap integer,
    prefix text,
    tokenizer text,
    options text,
    format text,
    path text,
    title text
)
returns table (
    ordinal integer,
    section_path text[],
    section integer,
    span_start integer,
    span_end integer,
    first_line integer,
    last_line integer,
    token_count integer,
    lead text,
    repeats integer,
    prefix text,
    content text,
    error text
)
language plpython3u
stable
parallel safe
cost 10000
rows 20
as $$
import sys

if "@bundle_key@" not in sys.modules:
    plpy.execute("select grain._bundle()")
counter = None
if tokenizer is not None:
    counter = GD.get("@bundle_key@:" + tokenizer)
    if counter is None and plpy.execute(
        plpy.prepare("select grain._vocabulary($1) as here", ["text"]), [tokenizer]
    )[0]["here"]:
        counter = GD["@bundle_key@:" + tokenizer]
yield from sys.modules["@bundle_key@.rows"].rows(
    content or "", splitter, unit, size, overlap, prefix or "", options,
    format, path or "", title or "", None if counter is None else counter.count,
)
$$;

comment on function grain._split(
    text, text, text, integer, integer, text, text, text, text, text, text
) is
'Cuts a text. Besides the pieces it returns empty rows (ordinal is null), at which the server can be interrupted: drop them.';

create or replace function grain._counts(content text, tokenizer text)
returns setof integer
language plpython3u
stable
strict
parallel safe
cost 1000
rows 1
as $$
counter = GD.get("@bundle_key@:" + tokenizer)
if counter is None:
    if not plpy.execute(
        plpy.prepare("select grain._vocabulary($1) as here", ["text"]), [tokenizer]
    )[0]["here"]:
        return
    counter = GD["@bundle_key@:" + tokenizer]
yield from counter.counts(content)
$$;

comment on function grain._counts(text, text) is
'Tokens of a text by an installed vocabulary, as counts to be added up, between which the server can be interrupted; none where it is not installed.';

create or replace function grain._has_vocabulary(tokenizer text)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (select from grain.vocabulary as v where v.name = _has_vocabulary.tokenizer);
end;
$$;

comment on function grain._has_vocabulary(text) is 'Whether a vocabulary is installed.';

create or replace function grain._tokenizer_is_missing(tokenizer text)
returns void
language plpgsql
volatile
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception 'the vocabulary of tokenizer "%" is not installed', tokenizer
        using errcode = 'GR002',
            detail = 'Tokens are counted exactly, inside the database, from a vocabulary that is brought in once.',
            hint = 'In a shell: pg-grain tokenizer add ' || tokenizer;
end;
$$;

comment on function grain._tokenizer_is_missing(text) is 'Says that a vocabulary has to be brought in.';

create or replace function grain.count_tokens(content text, tokenizer text default 'cl100k_base')
returns integer
language plpgsql
stable
strict
parallel safe
cost 1000
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    counted integer;
begin
    case tokenizer
        when 'characters' then return char_length(content);
        when 'bytes' then return octet_length(convert_to(content, 'UTF8'));
        when 'words' then return (
            select count(*) from regexp_matches(content, '[^[:space:]]+', 'g')
        );
        else
            select sum(c) into counted from grain._counts(content, tokenizer) as c;
            if counted is null then
                perform grain._tokenizer_is_missing(tokenizer);
            end if;
            return counted;
    end case;
end;
$$;

comment on function grain.count_tokens(text, text) is
'Tokens of a text, exactly as tiktoken counts them (special tokens as plain text). ''characters'', ''words'' and ''bytes'' need no vocabulary.';

create or replace function grain.split_text(
    content text,
    chunk_size integer default 1000,
    overlap integer default 200
)
returns text[]
language plpgsql
immutable
parallel safe
cost 1000
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform grain._check_sizes(chunk_size, overlap);
    return (
        select coalesce(array_agg(w.content order by w.ordinal), '{}')
        from grain._split(
            split_text.content, 'window', 'characters', chunk_size, overlap, '', null, '{}', 'text', null, null
        ) as w
        where w.ordinal is not null
    );
end;
$$;

comment on function grain.split_text(text, integer, integer) is
'Sliding windows of chunk_size characters, each repeating the last overlap characters of the one before; no window is only overlap.';

create or replace function grain._check_sizes(size integer, overlap integer)
returns void
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if size is null or overlap is null or size < 1 or size > 100000 or overlap < 0 or overlap >= size then
        raise exception 'size % with overlap % makes no chunks', coalesce(size::text, 'null'), coalesce(overlap::text, 'null')
            using errcode = '22023',
                detail = 'The size is between 1 and 100000, the overlap at least 0 and below the size.',
                hint = 'A size of 1000 with an overlap of 200 is the textbook''s window.';
    end if;
end;
$$;

comment on function grain._check_sizes(integer, integer) is 'Refuses sizes that could not progress.';

create or replace function grain._rule(rule text)
returns record
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    found_rule record;
begin
    select r.* into found_rule from grain.rule as r where r.name = _rule.rule;
    if not found then
        raise exception 'there is no rule "%"', rule
            using errcode = '42704',
                detail = 'The rules are: ' || (select string_agg(r.name, ', ' order by r.rule_id) from grain.rule as r) || '.',
                hint = 'select grain.create_rule(''my_rule'', splitter => ''prose'', size => 300, reason => ''why this grain'');';
    end if;
    return found_rule;
end;
$$;

comment on function grain._rule(text) is 'The rule of that name.';

create or replace function grain._chunk(body text, rule_name text, body_format text)
returns table (
    ordinal integer,
    section_path text[],
    span int4range,
    lines int4range,
    token_count integer,
    content text
)
language plpgsql
stable
parallel safe
cost 10000
rows 20
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    rule record := grain._rule(rule_name);
begin
    if rule.unit = 'tokens' and not grain._has_vocabulary(rule.tokenizer) then
        perform grain._tokenizer_is_missing(rule.tokenizer);
    end if;
    return query
    select
        piece.ordinal,
        piece.section_path,
        int4range(piece.span_start, piece.span_end),
        int4range(piece.first_line, piece.last_line, '[]'),
        piece.token_count,
        piece.content
    from grain._split(
        body, rule.splitter, rule.unit, rule.size, rule.overlap, rule.prefix, rule.tokenizer,
        rule.options::text, body_format, null, null
    ) as piece
    where piece.ordinal is not null;
end;
$$;

comment on function grain._chunk(text, text, text) is
'What chunk() answers; apart from it because PL/pgSQL cannot name a parameter and a column alike.';

create or replace function grain.chunk(
    content text,
    rule text default 'prose',
    format text default null
)
returns table (
    ordinal integer,
    section_path text[],
    span int4range,
    lines int4range,
    token_count integer,
    content text
)
language sql
stable
parallel safe
cost 10000
rows 20
security definer
set search_path = pg_catalog, pg_temp
as $$
select piece.* from grain._chunk($1, $2, $3) as piece;
$$;

comment on function grain.chunk(text, text, text) is
'How a rule cuts a text; writes nothing. span is [start, end) in characters from 0, lines is [first, last + 1).';

create or replace function grain.add_tokenizer(name text, data bytea)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into grain.vocabulary as v (name, data) values (add_tokenizer.name, add_tokenizer.data)
    on conflict on constraint vocabulary_pkey do update
    set data = excluded.data, added_at = excluded.added_at
    where v.data <> excluded.data;
end;
$$;

comment on function grain.add_tokenizer(text, bytea) is
'Brings in a packed vocabulary; `pg-grain tokenizer add` calls it.';
