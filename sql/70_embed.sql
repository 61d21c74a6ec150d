-- Embedding one text from inside the database: the query of a search.

create or replace function grain._embed(
    content text,
    model text,
    endpoint text,
    api_key_env text,
    dimensions integer,
    send_dimensions boolean,
    timeout double precision
)
returns table (vector text, error text)
language plpython3u
volatile
parallel unsafe
cost 100000
rows 1
as $$
import importlib
import os
import urllib.parse

plpy.execute("select grain._bundle()")
url = endpoint or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
key = os.environ.get(api_key_env) if api_key_env else None
if not key and urllib.parse.urlsplit(url).hostname not in ("localhost", "127.0.0.1", "::1"):
    return [(None, "the server's environment has no %s" % api_key_env)]
exchange = importlib.import_module("@bundle_key@.endpoint").embed(
    content, url, model, dimensions, send_dimensions, key, timeout
)
while True:
    try:
        next(exchange)
    except StopIteration as end:
        return [end.value]
    plpy.execute("select 1")  # where a timeout or a cancel gets through
$$;

comment on function grain._embed(text, text, text, text, integer, boolean, double precision) is
'Asks an endpoint for the vector of a text: the vector as text, or why there is none.';

create or replace function grain._embed_by(
    model_id bigint, content text, timeout interval, out vector text, out error text
)
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    m record;
begin
    select model.* into m from grain.model where model.model_id = _embed_by.model_id;
    select e.vector, e.error into vector, error
    from grain._embed(
        content, m.name, m.endpoint, m.api_key_env, m.dimensions, m.send_dimensions,
        extract(epoch from timeout)
    ) as e;
end;
$$;

comment on function grain._embed_by(bigint, text, interval) is
'The vector of a text by a declared model, as text, or why there is none.';

create or replace function grain.embed(content text, model text default null)
returns vector
language plpgsql
volatile
parallel unsafe
cost 100000
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    m record;
    answer record;
begin
    if coalesce(content, '') !~ '[^[:space:]]' then
        raise exception 'a blank text has no embedding'
            using errcode = '22023', hint = 'select grain.embed(''where is the boiler?'');';
    end if;
    select model.* into m from grain.model
    where case when embed.model is null then model.is_default else model.name = embed.model end;
    if not found then
        raise exception 'there is no model "%"', coalesce(embed.model, 'default')
            using errcode = '42704', hint = 'select name from grain.model;';
    end if;
    select a.* into answer from grain._embed_by(m.model_id, content, interval '30 seconds') as a;
    if answer.error is not null then
        raise exception 'the model "%" gave no embedding', m.name
            using errcode = 'GR003',
                detail = answer.error,
                hint = case
                    when m.provider = 'local' then 'In a shell: pg-grain serve'
                    else 'select * from grain.model;  -- endpoint and api_key_env say whom it asks'
                end;
    end if;
    execute format('select $1::%I.vector as embedding', grain._vector_schema())
    into answer using answer.vector;
    return answer.embedding;
end;
$$;

comment on function grain.embed(text, text) is
'The vector of a text, asked of the model''s endpoint from inside the database. Cancelling and statement_timeout work.';
