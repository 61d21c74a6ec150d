-- Declaring: rules, models, and the tables that are tracked.

create or replace function grain._refuse_update()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception 'a row of % is never updated', tg_table_name
        using errcode = '55000',
            detail = 'Chunks were made by it as it stands.',
            hint = 'Make a new one under another name: select grain.create_rule(...);';
end;
$$;

comment on function grain._refuse_update() is 'Keeps what is immutable as it was.';

create or replace function grain.create_rule(
    name text,
    splitter text default 'prose',
    size integer default 400,
    overlap integer default 0,
    unit text default 'tokens',
    prefix text default '',
    tokenizer text default 'cl100k_base',
    options jsonb default '{}',
    reason text default null
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    twin text;
    made bigint;
begin
    perform grain._check_sizes(size, overlap);
    if coalesce(reason, '') !~ '[^[:space:]]' then
        raise exception 'the rule "%" has no reason', name
            using errcode = '22023',
                detail = 'A grain is decided once and lived with: whoever meets it later wants to know why.',
                hint = format('select grain.create_rule(%L, ..., reason => ''why this grain'');', name);
    end if;
    if splitter is null
        or splitter not in ('prose', 'window', 'token', 'recursive', 'sentence', 'semantic', 'whole') then
        raise exception 'there is no splitter "%"', splitter
            using errcode = '22023',
                hint = 'The splitters are prose, window, token, recursive, sentence, semantic and whole.';
    end if;
    if unit is null or unit not in ('tokens', 'characters', 'words', 'bytes') then
        raise exception 'there is no unit "%"', unit
            using errcode = '22023', hint = 'The units are tokens, characters, words and bytes.';
    end if;
    perform grain._check_options(splitter, unit, size, options);
    select r.name into twin
    from grain.rule as r
    where r.name = create_rule.name
        or (r.splitter, r.unit, r.size, r.overlap, r.prefix, r.tokenizer, r.options)
        = (
            create_rule.splitter, create_rule.unit, create_rule.size, create_rule.overlap,
            create_rule.prefix, create_rule.tokenizer, create_rule.options
        )
    order by r.name = create_rule.name desc
    limit 1;
    if found then
        raise exception 'the rule is there already, under the name "%"', twin
            using errcode = '42710',
                detail = 'A rule is never changed, and two rules of one content would cut alike.',
                hint = format('Use rule => %L, or give the new rule another name and content.', twin);
    end if;
    insert into grain.rule (name, splitter, unit, size, overlap, prefix, tokenizer, options, reason)
    values (
        create_rule.name, create_rule.splitter, create_rule.unit, create_rule.size,
        create_rule.overlap, create_rule.prefix, create_rule.tokenizer, create_rule.options,
        create_rule.reason
    )
    returning rule_id into made;
    return made;
end;
$$;

comment on function grain.create_rule(
    text, text, integer, integer, text, text, text, jsonb, text
) is
'Stores a chunk rule and returns its id. A rule is immutable and says why it is as it is.';

create or replace function grain._check_options(splitter text, unit text, size integer, options jsonb)
returns void
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    known constant jsonb := '{
        "close": ["sentence"],
        "expand": ["prose", "window", "token", "recursive", "sentence", "semantic", "whole"],
        "min_size": ["prose"],
        "separators": ["recursive"]
    }';
    option text;
begin
    if splitter = 'token' and unit <> 'tokens' then
        raise exception 'the splitter "token" counts in tokens'
            using errcode = '22023', hint = 'splitter => ''window'' slides a window of any unit.';
    end if;
    if options is null or jsonb_typeof(options) <> 'object' then
        raise exception 'options is no JSON object'
            using errcode = '22023', hint = 'options => ''{"expand": "section"}''';
    end if;
    for option in select jsonb_object_keys(options) loop
        if not coalesce(known -> option @> to_jsonb(splitter), false) then
            raise exception 'the splitter "%" has no option "%"', splitter, option
                using errcode = '22023',
                    hint = 'Its options are: ' || (
                        select string_agg(k.key, ', ' order by k.key)
                        from jsonb_each(known) as k
                        where k.value @> to_jsonb(splitter)
                    ) || '.';
        end if;
    end loop;
    if options ? 'min_size' and not coalesce(
        jsonb_typeof(options -> 'min_size') = 'number'
        and options ->> 'min_size' ~ '^[0-9]{1,6}$'
        and (options ->> 'min_size')::integer < size, false
    ) then
        raise exception 'min_size is a whole number below the size'
            using errcode = '22023', hint = format('options => ''{"min_size": %s}''', size / 8);
    end if;
    if options ? 'separators' and (
        jsonb_typeof(options -> 'separators') <> 'array'
        or exists (
            select from jsonb_array_elements(options -> 'separators') as s
            where jsonb_typeof(s.value) <> 'string' or char_length(s.value #>> '{}') > 256
        )
    ) then
        raise exception 'separators is an array of strings of at most 256 characters'
            using errcode = '22023', hint = $h$options => '{"separators": ["\n\n", "\n", " ", ""]}'$h$;
    end if;
    if options ? 'close' and not coalesce(
        jsonb_typeof(options -> 'close') = 'number' and (options ->> 'close')::numeric between 0 and 1, false
    ) then
        raise exception 'close is a share of the size, from 0 to 1'
            using errcode = '22023', hint = $h$options => '{"close": 0.33}'$h$;
    end if;
    if options ? 'expand' and not coalesce(options ->> 'expand' in ('section', 'neighbours', 'none'), false) then
        raise exception 'expand is none, neighbours or section'
            using errcode = '22023', hint = 'options => ''{"expand": "section"}''';
    end if;
end;
$$;

comment on function grain._check_options(text, text, integer, jsonb) is
'Refuses options that a splitter does not have.';

create or replace function grain.create_model(
    name text,
    dimensions integer default null,
    provider text default 'openai',
    endpoint text default null,
    api_key_env text default 'OPENAI_API_KEY',
    tokenizer text default 'cl100k_base',
    max_input_tokens integer default 8192,
    distance text default 'cosine',
    price numeric default null,
    is_default boolean default true
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    native integer := case create_model.name
        when 'text-embedding-3-large' then 3072
        when 'text-embedding-3-small' then 1536
        when 'text-embedding-ada-002' then 1536
    end;
    width integer := coalesce(create_model.dimensions, native);
    made bigint;
begin
    if width is null or width not between 1 and 4000 then
        raise exception 'the model "%" needs its dimensions', name
            using errcode = '22023',
                detail = 'Vectors of 1 to 4000 dimensions can be stored and indexed.',
                hint = format('select grain.create_model(%L, dimensions => 1024);', name);
    end if;
    if native < width then
        raise exception 'the model "%" has % dimensions at the most', name, native
            using errcode = '22023', hint = format('select grain.create_model(%L, dimensions => %s);', name, native);
    end if;
    if api_key_env !~ '^[A-Z][A-Z0-9_]*_API_KEY$' then
        raise exception 'api_key_env takes the name of an environment variable'
            using errcode = '22023',
                detail = 'Keys are named, never stored; the name is in capitals and ends in _API_KEY.',
                hint = 'api_key_env => ''OPENAI_API_KEY''';
    end if;
    perform grain._check_endpoint(endpoint);
    if exists (select from grain.model as m where m.name = create_model.name) then
        raise exception 'the model "%" is there already', name
            using errcode = '42710',
                hint = format('select * from grain.model where name = %L;', name);
    end if;
    if create_model.is_default then
        update grain.model as m set is_default = false where m.is_default;
    end if;
    insert into grain.model (
        name, provider, endpoint, api_key_env, dimensions, send_dimensions, tokenizer,
        max_input_tokens, distance, price, is_default
    )
    values (
        create_model.name, create_model.provider, create_model.endpoint,
        create_model.api_key_env, width, width < coalesce(native, width), create_model.tokenizer,
        create_model.max_input_tokens, create_model.distance, create_model.price,
        create_model.is_default
    )
    returning model_id into made;
    return made;
end;
$$;

comment on function grain.create_model(
    text, integer, text, text, text, text, integer, text, numeric, boolean
) is
'Declares an embedding model and returns its id; tables tracked from now on use it, unless is_default => false. The API key is named (an environment variable), never stored.';

create or replace function grain.set_endpoint(model text, endpoint text)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform grain._check_endpoint(endpoint);
    update grain.model as m set endpoint = set_endpoint.endpoint where m.name = set_endpoint.model;
    if not found then
        raise exception 'there is no model "%"', model
            using errcode = '42704', hint = 'select name from grain.model;';
    end if;
end;
$$;

comment on function grain.set_endpoint(text, text) is
'Says where a model is asked from now on; its vectors stay. null means OPENAI_BASE_URL, else the provider''s own.';

create or replace function grain._check_endpoint(endpoint text)
returns void
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if endpoint !~ '^https?://[^[:space:]]+$' then
        raise exception 'the endpoint is no http or https address'
            using errcode = '22023', hint = 'endpoint => ''https://api.example.com/v1''';
    end if;
end;
$$;

comment on function grain._check_endpoint(text) is 'Refuses what is no address.';

create or replace function grain._relation(source text)
returns regclass
language plpgsql
stable
parallel safe
as $$
declare
    relation regclass := to_regclass(source);
    name text := relation::text;
    kind "char" := (select c.relkind from pg_catalog.pg_class as c where c.oid = relation);
    problem text;
begin
    if relation is null then
        raise exception 'there is no table "%"', source
            using errcode = '42P01',
                detail = 'The table is named as in a query: with its schema, and in double quotes where its name needs them.',
                hint = 'select grain.track(''public.article'', content => ''body'');';
    end if;
    problem := case
        when kind in ('v', 'm') then 'it is a view, and no row trigger fires on a view'
        when kind = 'f' then 'it is a foreign table: its rows change where no trigger of this database sees it'
        when kind not in ('r', 'p') then 'it is not a table'
        when (select c.relpersistence = 't' from pg_catalog.pg_class as c where c.oid = relation)
            then 'it is a temporary table, which other sessions cannot read'
        when (select c.relispartition from pg_catalog.pg_class as c where c.oid = relation)
            then 'it is a partition: track the partitioned table itself'
        when kind = 'r' and exists (select from pg_catalog.pg_inherits as i where i.inhparent = relation)
            then 'it has inheritance children, whose rows its triggers do not see'
        when kind = 'r' and exists (select from pg_catalog.pg_inherits as i where i.inhrelid = relation)
            then 'it is an inheritance child'
    end;
    if problem is not null then
        raise exception 'the table % cannot be tracked', name
            using errcode = '42809',
                detail = upper(left(problem, 1)) || substr(problem, 2) || '.',
                hint = case
                    when kind in ('v', 'm') then 'Track the table below the view.'
                    else 'Track an ordinary or a partitioned table.'
                end;
    end if;
    return relation;
end;
$$;

comment on function grain._relation(text) is
'The table of that name, refused where triggers could not keep its chunks true.';

create or replace function grain._key_columns(relation regclass, key text)
returns text[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    named text[];
begin
    if key is null then
        select array_agg(a.attname::text order by k.place)
        into named
        from pg_index as i
        cross join lateral unnest(i.indkey::smallint[]) with ordinality as k (attnum, place)
        inner join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where i.indrelid = relation and i.indisprimary;
        if named is null then
            raise exception 'the table % has no primary key', relation
                using errcode = '42P10',
                    detail = 'A document needs a name that stays its own.',
                    hint = format('alter table %s add primary key (...);  -- or name unique columns: key => ''id''', relation);
        end if;
    elsif exists (
        select from pg_attribute as a
        where a.attrelid = relation and a.attname = key and a.attnum > 0 and not a.attisdropped
    ) then
        named := array[key];
    else
        -- As in an array literal: names apart by commas, in double quotes where they hold one.
        named := ('{' || key || '}')::text[];
    end if;
    return named;
end;
$$;

comment on function grain._key_columns(regclass, text) is
'The key''s columns: those named, else the primary key''s.';

create or replace function grain._check_columns(relation regclass, key_columns text[], content text, others text[])
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    missing text;
begin
    select c into missing
    from unnest(key_columns || content || others) as c
    where c is not null and not exists (
        select from pg_attribute as a
        where a.attrelid = relation and a.attname = c and a.attnum > 0 and not a.attisdropped
    )
    limit 1;
    if found then
        raise exception 'the table % has no column "%"', relation, missing
            using errcode = '42703',
                detail = 'Its columns are: ' || (
                    select string_agg(a.attname, ', ' order by a.attnum) from pg_attribute as a
                    where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
                ) || '.',
                hint = 'Columns are named as they are stored, without quotes.';
    end if;
    if not exists (
        select from pg_index as i
        where i.indrelid = relation and i.indisunique and i.indisvalid
            and i.indpred is null and i.indexprs is null
            and (
                select array_agg(a.attname::text)
                from unnest(i.indkey::smallint[]) with ordinality as k (attnum, place)
                inner join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.attnum
                where k.place <= i.indnkeyatts
            ) <@ (key_columns || others[1])
    ) then
        raise exception 'the key of % is not unique', relation
            using errcode = '42P10',
                detail = format('No unique index covers (%s).', array_to_string(key_columns || others[1], ', ')),
                hint = (
                    select format('create unique index on %s (%s);', relation, string_agg(quote_ident(c), ', '))
                    from unnest(key_columns || others[1]) as c where c is not null
                );
    end if;
end;
$$;

comment on function grain._check_columns(regclass, text[], text, text[]) is
'Refuses columns that are not there, and a key that does not name one row.';

create or replace function grain.track(
    source text,
    content text,
    key text default null,
    tenant text default null,
    path text default null,
    title text default null,
    format text default null,
    rule text default 'prose',
    model text default null,
    mode text default 'inline',
    language text default null,
    backfill boolean default true,
    tenant_partitions integer default null
)
returns text
language plpgsql
volatile
parallel unsafe
as $$
declare
    relation regclass := grain._relation(track.source);
    owner name := (
        select pg_catalog.pg_get_userbyid(c.relowner) from pg_catalog.pg_class as c where c.oid = relation
    );
    space name := (
        select n.nspname from pg_catalog.pg_class as c
        inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where c.oid = relation
    );
    table_name text := grain._name(relation);
    keys text[] := grain._key_columns(relation, track.key);
    mapped text[];
    changed text;
    made_source bigint;
begin
    perform grain._check_columns(
        relation, keys, track.content, array[track.tenant, track.path, track.title, track.format]
    );
    if not pg_catalog.pg_has_role(current_user, owner, 'usage') then
        raise exception 'must be owner of table %', relation
            using errcode = '42501',
                detail = 'Tracking adds triggers and lets grain_owner read the table.',
                hint = pg_catalog.format('set role %I;', owner);
    end if;

    -- The worker re-reads rows as grain_owner, which sees what it is given and no more.
    if not pg_catalog.has_schema_privilege('grain_owner', space, 'usage') then
        execute pg_catalog.format('grant usage on schema %I to grain_owner', space);
    end if;
    execute pg_catalog.format('grant select on %s to grain_owner', table_name);
    if (select c.relrowsecurity from pg_catalog.pg_class as c where c.oid = relation)
        and not exists (
            select from pg_catalog.pg_policy as p where p.polrelid = relation and p.polname = 'grain_reads'
        )
    then
        execute pg_catalog.format(
            'create policy grain_reads on %s for select to grain_owner using (true)', table_name
        );
    end if;
    if not pg_catalog.has_schema_privilege('grain_owner', space, 'usage') then
        raise exception 'grain_owner may not use schema %', space
            using errcode = '42501',
                detail = 'The worker re-reads rows of the table as grain_owner.',
                hint = pg_catalog.format('As the owner of the schema: grant usage on schema %I to grain_owner;', space);
    end if;

    made_source := grain._declare_source(
        table_name, owner, keys, track.content, track.tenant, track.path, track.title,
        track.format, track.rule, track.model, track.mode, track.language, track.tenant_partitions
    );

    -- Not UPDATE OF: that misses what a BEFORE trigger changed. As text in the C collation: a column
    -- whose type knows no equality, or calls two spellings equal, is compared character by character.
    mapped := keys || track.content
        || array_remove(array[track.tenant, track.path, track.title, track.format], null);
    select string_agg(
        pg_catalog.format('(old.%1$I)::text collate "C" is distinct from (new.%1$I)::text collate "C"', c), ' or '
    ) into changed
    from unnest(mapped) as c;
    execute pg_catalog.format(
        'create trigger grain_insert after insert on %s for each row execute function grain._on_row(%L)',
        table_name, made_source
    );
    execute pg_catalog.format(
        'create trigger grain_update after update on %s for each row when (%s) execute function grain._on_row(%L)',
        table_name, changed, made_source
    );
    execute pg_catalog.format(
        'create trigger grain_delete after delete on %s for each row execute function grain._on_row(%L)',
        table_name, made_source
    );
    execute pg_catalog.format(
        'create trigger grain_truncate after truncate on %s for each statement execute function grain._on_truncate(%L)',
        table_name, made_source
    );
    return grain._backfill(made_source, track.backfill);
end;
$$;

comment on function grain.track(
    text, text, text, text, text, text, text, text, text, text, text, boolean, integer
) is
'Tracks a table: from now on its rows are chunked, embedded and found by search(). content, key, tenant, path, title and format name columns; key is the primary key where it is not named. Says what was done.';

create or replace function grain._declare_source(
    name text,
    owner text,
    key_columns text[],
    content_column text,
    tenant_column text,
    path_column text,
    title_column text,
    format_column text,
    rule_name text,
    model_name text,
    mode text,
    language text,
    tenant_partitions integer
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    rule record := grain._rule(rule_name);
    model record;
    configuration regconfig;
    made_source bigint;
    made_generation bigint;
begin
    if exists (select from grain.source as s where s.name = _declare_source.name) then
        raise exception 'the table % is tracked already', name
            using errcode = '42710',
                detail = 'One table is one source.',
                hint = format('select grain.untrack(%L);  -- and track it anew', name);
    end if;
    if mode is null or mode not in ('inline', 'queued') then
        raise exception 'there is no mode "%"', mode
            using errcode = '22023', hint = 'mode => ''inline'' splits in the trigger, mode => ''queued'' in a worker.';
    end if;
    if rule.unit = 'tokens' and not grain._has_vocabulary(rule.tokenizer) then
        perform grain._tokenizer_is_missing(rule.tokenizer);
    end if;
    select m.* into model from grain.model as m
    where case when model_name is null then m.is_default else m.name = model_name end;
    if not found then
        raise exception 'there is no model "%"', coalesce(model_name, 'default')
            using errcode = '42704',
                detail = 'The models are: ' || (select string_agg(m.name, ', ' order by m.model_id) from grain.model as m) || '.',
                hint = format('select grain.create_model(%L, dimensions => 1536);', coalesce(model_name, 'text-embedding-3-small'));
    end if;
    if rule.unit = 'tokens' and rule.tokenizer = model.tokenizer and rule.size > model.max_input_tokens then
        raise exception 'the rule "%" makes chunks that the model "%" cannot read', rule.name, model.name
            using errcode = '22023',
                detail = format('The rule''s size is %s tokens, the model reads %s.', rule.size, model.max_input_tokens),
                hint = 'Choose a rule of a smaller size.';
    end if;
    begin
        configuration := coalesce(language::regconfig, get_current_ts_config());
    exception when undefined_object or invalid_name or syntax_error then
        raise exception 'there is no text-search configuration "%"', language
            using errcode = '42704', hint = 'select cfgname from pg_ts_config;  -- such as language => ''english''';
    end;
    insert into grain.source (
        name, owner, key_columns, content_column, tenant_column, path_column, title_column,
        format_column, mode, language, tenant_partitions
    )
    select
        _declare_source.name, _declare_source.owner, _declare_source.key_columns,
        _declare_source.content_column, _declare_source.tenant_column,
        _declare_source.path_column, _declare_source.title_column, _declare_source.format_column,
        _declare_source.mode, format('%I.%I', n.nspname, c.cfgname),
        coalesce(
            _declare_source.tenant_partitions,
            case when _declare_source.tenant_column is null then 1 else 4 end
        )
    from pg_ts_config as c
    inner join pg_namespace as n on n.oid = c.cfgnamespace
    where c.oid = configuration
    returning source_id into made_source;
    perform grain._must_own(made_source);
    made_generation := grain._make_generation(made_source, rule.rule_id, model.model_id);
    update grain.generation as g
    set state = 'live', ready_at = g.created_at, live_at = g.created_at
    where g.generation_id = made_generation;
    update grain.source as s set live_generation_id = made_generation where s.source_id = made_source;
    return made_source;
end;
$$;

comment on function grain._declare_source(
    text, text, text[], text, text, text, text, text, text, text, text, text, integer
) is
'Registers a source with its first generation, which is live at once: the definer half of track().';

create or replace function grain._vector_schema()
returns name
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select n.nspname from pg_extension as e
        inner join pg_namespace as n on n.oid = e.extnamespace
        where e.extname = 'vector'
    );
end;
$$;

comment on function grain._vector_schema() is 'The schema that pgvector lives in: any.';

create or replace function grain._attach(parent text, leaf text, bound text)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
    for attempt in 1 .. 600 loop
        begin
            execute format('alter table grain.%I attach partition grain.%I %s', parent, leaf, bound);
            return;
        exception when lock_not_available then
            -- Readers and writers queue behind a lock that waits: ask briefly, and ask again.
            perform pg_sleep(0.05 + 0.1 * random());
        end;
    end loop;
    raise exception 'the lock on grain.% could not be had within a minute', parent
        using errcode = '55P03',
            detail = 'A transaction that has written documents is open.',
            hint = 'select * from pg_stat_activity where state <> ''idle'' order by xact_start;';
end;
$$;

comment on function grain._attach(text, text, text) is
'Attaches a partition without making anybody wait longer than the lock timeout.';

create or replace function grain._make_generation(source bigint, rule bigint, model bigint)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    made bigint;
    leaf text;
    width integer := (select m.dimensions from grain.model as m where m.model_id = _make_generation.model);
    leaves integer := (
        select s.tenant_partitions from grain.source as s where s.source_id = _make_generation.source
    );
begin
    insert into grain.generation (source_id, rule_id, model_id)
    values (_make_generation.source, _make_generation.rule, _make_generation.model)
    returning generation_id into made;

    -- CREATE ... PARTITION OF would lock every reader of the parent out; ATTACH does not.
    execute format(
        'create table grain.%I (like grain.chunk including all, '
        'constraint chunk_generation check (generation_id = %s))', 'chunk_' || made, made
    );
    execute format('alter table grain.%I enable row level security', 'chunk_' || made);
    perform grain._attach('chunk', 'chunk_' || made, format('for values in (%s)', made));

    leaf := 'embedding_' || made;
    if leaves = 1 then
        perform grain._make_embedding_leaf(leaf, made, width);
    else
        execute format(
            'create table grain.%I (like grain.embedding including all, '
            'constraint embedding_generation check (generation_id = %s)) '
            'partition by hash (tenant_id)', leaf, made
        );
        execute format('alter table grain.%I enable row level security', leaf);
        for remainder in 0 .. leaves - 1 loop
            perform grain._make_embedding_leaf(leaf || '_' || remainder, made, width);
            perform grain._attach(
                leaf, leaf || '_' || remainder,
                format('for values with (modulus %s, remainder %s)', leaves, remainder)
            );
        end loop;
    end if;
    perform grain._attach('embedding', leaf, format('for values in (%s)', made));
    return made;
end;
$$;

comment on function grain._make_generation(bigint, bigint, bigint) is
'Makes a generation and its partitions, in state building.';

create or replace function grain._make_embedding_leaf(leaf text, generation bigint, width integer)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    -- A leaf cannot carry the width as a type modifier, since its parent has none.
    execute format(
        'create table grain.%1$I (like grain.embedding including all, '
        'constraint embedding_generation check (generation_id = %2$s), '
        'constraint embedding_has_the_models_width check (%3$I.vector_dims(embedding) = %4$s), '
        'constraint embedding_is_not_zero check (%3$I.l2_norm(embedding) > 0))',
        leaf, generation, grain._vector_schema(), width
    );
    -- Toasted, a vector costs an exact scan four times as much; one that fits a page stays in its row.
    if width <= 3800 then
        execute format('alter table grain.%I alter column embedding set storage plain', leaf);
    end if;
    execute format('alter table grain.%I enable row level security', leaf);
end;
$$;

comment on function grain._make_embedding_leaf(text, bigint, integer) is
'Makes one leaf of embedding, for vectors of one width.';

create or replace function grain._table(source_id bigint, name text)
returns regclass
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    -- A table that was renamed still has its triggers, and they carry the source's id.
    return coalesce(
        (
            select t.tgrelid::regclass
            from pg_trigger as t
            inner join pg_class as c on c.oid = t.tgrelid
            inner join grain.source as s on s.source_id = _table.source_id
            where t.tgname = 'grain_insert'
                and t.tgfoid = 'grain._on_row()'::regprocedure
                and t.tgparentid = 0
                and t.tgargs = convert_to(_table.source_id::text, 'UTF8') || '\x00'::bytea
                and (
                    to_regclass(_table.name) = t.tgrelid
                    or (to_regclass(_table.name) is null and pg_get_userbyid(c.relowner) = s.owner)
                )
            limit 1
        ),
        to_regclass(_table.name)
    );
end;
$$;

comment on function grain._table(bigint, text) is
'The table of a source, under whatever name it has now; null when it is gone.';

create or replace function grain._source(source text)
returns table (source_id bigint, name text)
language plpgsql
stable
parallel safe
security definer
rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
    relation regclass := coalesce(
        to_regclass(_source.source),
        case when cardinality(parse_ident(_source.source)) = 1 then to_regclass('public.' || _source.source) end
    );
begin
    -- By its stored name, or by the name that the table has now.
    return query
    select s.source_id, s.name
    from grain.source as s
    where s.name in (_source.source, 'public.' || _source.source)
        or grain._table(s.source_id, s.name) = relation
    order by s.name = _source.source desc, s.source_id
    limit 1;
    if not found then
        raise exception 'the table "%" is not tracked', _source.source
            using errcode = '42704',
                detail = coalesce(
                    'Tracked are: ' || (
                        select string_agg(s.name, ', ' order by s.source_id) from grain.source as s
                    ) || '.',
                    'No table is tracked yet.'
                ),
                hint = format('select grain.track(%L, content => ''body'');', _source.source);
    end if;
end;
$$;

comment on function grain._source(text) is 'The source of that name, or an error that lists the sources.';

create or replace function grain._must_own(source_id bigint)
returns void
language plpgsql
stable
parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
    source record;
    owner oid;
begin
    select s.* into source from grain.source as s where s.source_id = _must_own.source_id;
    owner := coalesce(
        (
            select c.relowner from pg_class as c
            where c.oid = grain._table(source.source_id, source.name)
        ),
        (select r.oid from pg_roles as r where r.rolname = source.owner)
    );
    if owner is null or not pg_has_role(grain._caller(), owner, 'usage') then
        raise exception 'must be owner of table %', source.name
            using errcode = '42501',
                detail = 'It concerns the rows of every tenant.',
                hint = format('set role %s;', coalesce(owner::regrole::text, 'postgres'));
    end if;
end;
$$;

comment on function grain._must_own(bigint) is
'Refuses a caller who does not own a source''s table.';

create or replace function grain.untrack(source text)
returns text
language plpgsql
volatile
parallel unsafe
as $$
declare
    tracked record;
    relation regclass;
    trigger_name text;
begin
    select s.source_id, s.name into tracked from grain._source(untrack.source) as s;
    relation := grain._table(tracked.source_id, tracked.name);
    if relation is not null then
        foreach trigger_name in array array['grain_insert', 'grain_update', 'grain_delete', 'grain_truncate'] loop
            execute pg_catalog.format('drop trigger if exists %I on %s', trigger_name, relation);
        end loop;
        if exists (
            select from pg_catalog.pg_policy as p where p.polrelid = relation and p.polname = 'grain_reads'
        ) then
            execute pg_catalog.format('drop policy grain_reads on %s', relation);
        end if;
        execute pg_catalog.format('revoke select on %s from grain_owner', relation);
    end if;
    perform grain._forget_source(tracked.source_id);
    return pg_catalog.format('%s: no longer tracked', tracked.name);
end;
$$;

comment on function grain.untrack(text) is
'Ends tracking: drops the triggers, the chunks, the vectors and the jobs. The table itself stays as it is.';

create or replace function grain._forget_source(source bigint)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    generation bigint;
begin
    perform from grain.source as s where s.source_id = _forget_source.source for update;
    perform grain._must_own(_forget_source.source);
    update grain.source as s set live_generation_id = null where s.source_id = _forget_source.source;
    delete from grain.job as j where j.source_id = _forget_source.source;
    for generation in
        select g.generation_id from grain.generation as g where g.source_id = _forget_source.source
    loop
        execute format('drop table grain.%I, grain.%I', 'chunk_' || generation, 'embedding_' || generation);
    end loop;
    delete from grain.source as s where s.source_id = _forget_source.source;
    perform grain._drop_idle_jobs();
end;
$$;

comment on function grain._forget_source(bigint) is 'Drops all that was made of a source.';

create or replace function grain.create_documents(name text default 'documents')
returns text
language plpgsql
volatile
parallel unsafe
as $$
declare
    table_name text := (
        select string_agg(pg_catalog.quote_ident(p), '.') from unnest(pg_catalog.parse_ident(create_documents.name)) as p
    );
begin
    execute pg_catalog.format(
        'create table %s ('
        'id bigint generated always as identity primary key, '
        'tenant_id uuid not null default grain._tenant(), '
        'path text not null, '
        'title text, '
        'format text, '
        'content text not null, '
        'metadata jsonb not null default ''{}'', '
        'updated_at timestamptz not null default pg_catalog.now(), '
        'unique (tenant_id, path))', table_name
    );
    execute pg_catalog.format(
        'comment on table %s is %L', table_name,
        'Documents, tracked by pg_grain: content is chunked, embedded and found by grain.search().'
    );
    return grain.track(
        table_name, content => 'content', key => 'id', tenant => 'tenant_id', path => 'path',
        title => 'title', format => 'format'
    );
end;
$$;

comment on function grain.create_documents(text) is
'Makes a conventional table of documents (path, title, format, content, metadata) and tracks it.';
