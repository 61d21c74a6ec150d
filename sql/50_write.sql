-- Writing: what a change of a tracked table does to documents, chunks, vectors and jobs.

create or replace function grain.content_hash(prefix text, context text, content text)
returns bytea
language sql
immutable
parallel safe
return sha256(convert_to(
    char_length(coalesce(prefix, '')) || ':' || char_length(coalesce(context, '')) || ':'
    || coalesce(prefix, '') || coalesce(context, '') || content, 'UTF8'
));

comment on function grain.content_hash(text, text, text) is
'The digest that a vector is addressed by: of the exact embedded text, and of where its parts begin.';

create or replace function grain._read_sql(source record, row_name text)
returns text
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    key text := case
        when cardinality(source.key_columns) = 1 then format('%s.%I::text', row_name, source.key_columns[1])
        else (
            select format('jsonb_build_array(%s)::text', string_agg(format('%s.%I', row_name, c), ', '))
            from unnest(source.key_columns) as c
        )
    end;
begin
    return (
        select string_agg(
            coalesce(
                c.expression,
                case when c.name is not null then format('%s.%I::text', row_name, c.name) end,
                'null::text'
            ) || ' as ' || c.alias, ', '
        )
        from (
            values
            (null, source.tenant_column, 'tenant'),
            (key, null, 'key'),
            (null, source.content_column, 'content'),
            (null, source.path_column, 'path'),
            (null, source.title_column, 'title'),
            (null, source.format_column, 'format')
        ) as c (expression, name, alias)
    );
end;
$$;

comment on function grain._read_sql(record, text) is
'SQL that reads tenant, key, content, path, title and format, as text, off a row of a source.';

create or replace function grain._key_sql(source record, relation regclass, row_name text)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select string_agg(
            format(
                '%s.%I = %s::%s', row_name, k.name,
                case
                    when cardinality(source.key_columns) = 1 then '$1'
                    else format('($1::jsonb ->> %s)', k.place - 1)
                end,
                format_type(a.atttypid, a.atttypmod)
            ), ' and '
        )
        from unnest(source.key_columns) with ordinality as k (name, place)
        inner join pg_attribute as a on a.attrelid = relation and a.attname = k.name
    );
end;
$$;

comment on function grain._key_sql(record, regclass, text) is
'SQL that finds the row of a document''s key ($1), by the columns'' own types and so by their index.';

create or replace function grain._row_tenant(source_name text, tenant_column text, value text)
returns uuid
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if tenant_column is null then
        return grain._default_tenant();
    end if;
    if coalesce(value, '') = '' then
        raise exception 'a row of % names no tenant', source_name
            using errcode = case when value is null then '23502' else '22023' end,
                detail = format('Its column "%s" is %s, which no tenant is called.', tenant_column,
                    case when value is null then 'null' else 'empty' end),
                hint = format('alter table %s alter column %I set not null;  -- and give the row its tenant',
                    source_name, tenant_column);
    end if;
    return grain.tenant_uuid(value);
end;
$$;

comment on function grain._row_tenant(text, text, text) is
'The tenant that a row belongs to; a row that names none is refused.';

create or replace function grain._put_document(
    source_id bigint,
    tenant uuid,
    key text,
    content text,
    path text,
    title text,
    format text,
    priority smallint
)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    hash bytea := sha256(convert_to(concat(
        coalesce(char_length(format), -1), ':', coalesce(char_length(path), -1), ':',
        coalesce(char_length(title), -1), ':', format, path, title, content
    ), 'UTF8'));
    document uuid;
    generation record;
    failed text;
begin
    insert into grain.document as d (tenant_id, source_id, key, path, title, format, body_hash)
    values (
        _put_document.tenant, _put_document.source_id, _put_document.key, _put_document.path,
        _put_document.title, _put_document.format, hash
    )
    on conflict on constraint document_key_is_unique do update
    set
        path = excluded.path,
        title = excluded.title,
        format = excluded.format,
        body_hash = excluded.body_hash,
        updated_at = excluded.updated_at
    where d.body_hash <> excluded.body_hash
    returning d.document_id into document;
    if document is null then
        return false;
    end if;
    for generation in
        select g.generation_id, g.model_id, r.*, s.language
        from grain.generation as g
        inner join grain.rule as r on r.rule_id = g.rule_id
        inner join grain.source as s on s.source_id = g.source_id
        where g.source_id = _put_document.source_id and g.state <> 'retired'
        order by g.generation_id
    loop
        failed := coalesce(failed, grain._write_chunks(
            generation, tenant, document, content, path, title, format, priority
        ));
    end loop;
    update grain.document as d
    set error = failed
    where d.tenant_id = _put_document.tenant and d.document_id = document
        and d.error is distinct from failed;
    return true;
end;
$$;

comment on function grain._put_document(bigint, uuid, text, text, text, text, text, smallint) is
'Makes a document''s chunks true in every generation of its source; false when it had not changed.';

create or replace function grain._write_chunks(
    generation record,
    tenant uuid,
    document uuid,
    body text,
    path text,
    title text,
    format text,
    priority smallint
)
returns text
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set client_min_messages = warning
as $$
declare
    configuration regconfig := generation.language::regconfig;
    this_generation bigint := generation.generation_id;
    before bytea[] := array(
        select c.content_hash from grain.chunk as c
        where c.tenant_id = _write_chunks.tenant
            and c.document_id = _write_chunks.document
            and c.generation_id = this_generation
    );
    texts bytea[];
    failed text;
begin
    -- Rows that stand as they stood are left alone, which is most of them after an edit.
    with piece as materialized (
        select p.*, grain.content_hash(p.prefix, null, p.content) as content_hash
        from grain._split(
            body, generation.splitter, generation.unit, generation.size, generation.overlap,
            generation.prefix, generation.tokenizer, generation.options::text, format, path, title
        ) as p
        where p.ordinal is not null
    ),

    written as (
        insert into grain.chunk as c (
            tenant_id, generation_id, document_id, ordinal, section_path, section, span_start,
            span_end, first_line, last_line, lead, repeats, prefix, content, token_count, content_hash, tsv
        )
        select
            tenant, this_generation, document, p.ordinal, p.section_path, p.section, p.span_start,
            p.span_end, p.first_line, p.last_line, p.lead, p.repeats, p.prefix, p.content,
            p.token_count, p.content_hash,
            grain._lexemes(
                configuration, concat_ws(' ', title, array_to_string(p.section_path, ' ')), p.content
            )
        from piece as p
        on conflict on constraint chunk_pkey do update
        set
            section_path = excluded.section_path,
            section = excluded.section,
            span_start = excluded.span_start,
            span_end = excluded.span_end,
            first_line = excluded.first_line,
            last_line = excluded.last_line,
            lead = excluded.lead,
            repeats = excluded.repeats,
            prefix = excluded.prefix,
            context = null,
            content = excluded.content,
            token_count = excluded.token_count,
            content_hash = excluded.content_hash,
            tsv = excluded.tsv,
            updated_at = excluded.updated_at
        where (
            c.content_hash, c.section_path, c.section, c.span_start, c.span_end, c.first_line,
            c.last_line, c.lead, c.repeats, c.token_count, c.tsv
        ) is distinct from (
            excluded.content_hash, excluded.section_path, excluded.section, excluded.span_start,
            excluded.span_end, excluded.first_line, excluded.last_line, excluded.lead,
            excluded.repeats, excluded.token_count, excluded.tsv
        )
    ),

    cut as (
        delete from grain.chunk as c
        where c.tenant_id = tenant
            and c.document_id = document
            and c.generation_id = this_generation
            and c.ordinal >= (select count(*) from piece)
    )

    select max(p.error), coalesce(array_agg(distinct p.content_hash), '{}') into failed, texts from piece as p;

    perform grain._copy_vectors(tenant, this_generation, generation.model_id, texts);
    perform grain._queue_missing(tenant, this_generation, generation.model_id, texts, priority);
    before := array(select b from unnest(before) as b where b <> all(texts));
    if before <> '{}' then
        perform grain._drop_jobs(tenant, generation.model_id, before);
    end if;
    return failed;
end;
$$;

comment on function grain._write_chunks(record, uuid, uuid, text, text, text, text, smallint) is
'Replaces the chunks of a document in one generation that differ, and queues the texts that have no vector. Returns why the splitter failed, if it did.';

create or replace function grain._copy_vectors(tenant uuid, generation bigint, model bigint, texts bytea[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
declare
    others bigint[] := array(
        select g.generation_id from grain.generation as g
        where g.model_id = model and g.generation_id <> generation
    );
begin
    if others = '{}' then
        return;
    end if;
    insert into grain.embedding (tenant_id, generation_id, content_hash, embedding)
    select distinct on (known.content_hash) tenant, generation, known.content_hash, known.embedding
    from grain.embedding as known
    where known.tenant_id = tenant
        and known.generation_id = any(others)
        and known.content_hash = any(texts)
    order by known.content_hash
    on conflict do nothing;
end;
$$;

comment on function grain._copy_vectors(uuid, bigint, bigint, bytea[]) is
'Copies the vectors of these texts that this tenant has from the same model in another generation.';

create or replace function grain._queue_missing(
    tenant uuid, generation bigint, model bigint, texts bytea[], priority smallint
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
begin
    -- Guarded by a look, not by a unique index: that would make writers of one text wait for each
    -- other, and two of them in opposite order deadlock. claim() takes the first of equal jobs.
    -- One probe a text, whatever the statistics say of tables that were empty a moment ago.
    insert into grain.job (tenant_id, kind, model_id, content_hash, priority)
    select tenant, 'embed', model, missing.content_hash, _queue_missing.priority
    from unnest(texts) as missing (content_hash)
    where not exists (
        select from grain.embedding as e
        where e.tenant_id = tenant and e.generation_id = generation
            and e.content_hash = missing.content_hash
    )
    and not exists (
        select from grain.job as j
        where j.tenant_id = tenant and j.kind = 'embed' and j.model_id = model
            and j.content_hash = missing.content_hash
    );
end;
$$;

comment on function grain._queue_missing(uuid, bigint, bigint, bytea[], smallint) is
'One embed job for each of these texts that has neither vector nor job.';

create or replace function grain._drop_jobs(tenant uuid, model bigint, hashes bytea[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
begin
    delete from grain.job as j
    where j.tenant_id = tenant and j.kind = 'embed' and j.model_id = model
        and j.content_hash = any(hashes)
        and not exists (
            select from grain.chunk as c
            inner join grain.generation as g on g.generation_id = c.generation_id
            where c.tenant_id = tenant and c.content_hash = j.content_hash and g.model_id = model
        );
end;
$$;

comment on function grain._drop_jobs(uuid, bigint, bytea[]) is
'Drops the embed jobs of texts that are no longer in any chunk.';

create or replace function grain._drop_idle_jobs()
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    dropped bigint;
begin
    delete from grain.job as j
    where j.kind = 'embed' and not exists (
        select from grain.chunk as c
        inner join grain.generation as g on g.generation_id = c.generation_id
        where c.tenant_id = j.tenant_id and c.content_hash = j.content_hash and g.model_id = j.model_id
    );
    get diagnostics dropped = row_count;
    return dropped;
end;
$$;

comment on function grain._drop_idle_jobs() is 'Drops every embed job whose text is in no chunk.';

create or replace function grain._retract(source_id bigint, tenant uuid, key text)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    document uuid;
    texts bytea[];
    model bigint;
begin
    select d.document_id into document
    from grain.document as d
    where d.tenant_id = _retract.tenant and d.source_id = _retract.source_id
        and d.key = _retract.key
    for update;
    if document is not null then
        texts := array(
            select distinct c.content_hash from grain.chunk as c
            where c.tenant_id = _retract.tenant and c.document_id = document
        );
        delete from grain.document as d
        where d.tenant_id = _retract.tenant and d.document_id = document;
        for model in
            select distinct g.model_id from grain.generation as g where g.source_id = _retract.source_id
        loop
            perform grain._drop_jobs(tenant, model, texts);
        end loop;
    end if;
    delete from grain.job as j
    where j.tenant_id = _retract.tenant and j.kind = 'chunk'
        and j.source_id = _retract.source_id and j.key = _retract.key;
end;
$$;

comment on function grain._retract(bigint, uuid, text) is
'Takes a document back: its row, its chunks and its jobs. Its vectors stay until the sweep, in case the text returns.';

create or replace function grain._queue_chunk(source_id bigint, tenant uuid, key text, priority smallint)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    -- Unique among the jobs that nobody holds: an edit made while the job is leased queues another.
    insert into grain.job as j (tenant_id, kind, source_id, key, priority)
    values (_queue_chunk.tenant, 'chunk', _queue_chunk.source_id, _queue_chunk.key, _queue_chunk.priority)
    on conflict (tenant_id, source_id, key) where kind = 'chunk' and lease_until is null do update
    set priority = greatest(j.priority, excluded.priority), run_at = least(j.run_at, excluded.run_at);
end;
$$;

comment on function grain._queue_chunk(bigint, uuid, text, smallint) is 'Queues the cutting of one document.';

create or replace function grain._check_origin(source_name text, owner text, relation oid)
returns void
language plpgsql
stable
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    root oid := coalesce(pg_partition_root(relation), relation);
begin
    -- Whoever may create a trigger can forge its argument: the table must be the source's own, by
    -- its name or, after a rename, by its owner.
    if to_regclass(source_name) is not distinct from root or (
        to_regclass(source_name) is null
        and owner = (select pg_get_userbyid(c.relowner) from pg_class as c where c.oid = root)
    ) then
        return;
    end if;
    raise exception 'the table % is not the source that its trigger names', root::regclass
        using errcode = '42501',
            detail = 'A trigger of grain fires for the table that was tracked, and for no other.',
            hint = format('select grain.track(%L, content => ...);', root::regclass);
end;
$$;

comment on function grain._check_origin(text, text, oid) is
'Refuses a trigger that claims to speak for another table.';

create or replace function grain._check_readable(relation regclass)
returns void
language plpgsql
stable
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Row-level security hides rows without a word: what cannot be seen would be taken for gone.
    if row_security_active(relation) and (
        not exists (
            select from pg_policy as p
            where p.polrelid = relation and p.polname = 'grain_reads'
                and pg_get_expr(p.polqual, p.polrelid) = 'true'
                and 'grain_owner'::regrole = any(p.polroles)
        )
        or exists (
            select from pg_policy as p
            where p.polrelid = relation and not p.polpermissive and p.polcmd in ('r', '*')
                and p.polroles && array['grain_owner'::regrole::oid, 0::oid]
        )
    ) then
        raise exception 'row-level security may hide rows of % from grain_owner', relation
            using errcode = '42501',
                detail = 'A row that is hidden would be taken for one that is gone.',
                hint = format('create policy grain_reads on %s for select to grain_owner using (true);', relation);
    end if;
end;
$$;

comment on function grain._check_readable(regclass) is
'Refuses to read a table of which grain_owner might not see every row.';

create or replace function grain._retract_if_gone(source record, relation regclass, old_row anyelement)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    stale record;
    still_there boolean;
begin
    perform grain._check_readable(relation);
    execute 'select ' || grain._read_sql(source, '($1)') into stale using old_row;
    -- Keys may have been swapped among rows of one statement: the table itself says who is gone.
    execute format(
        'select exists (select from %s as t where %s)', relation,
        (
            select string_agg(format('t.%1$I = ($1).%1$I', c), ' and ')
            from unnest(source.key_columns || source.tenant_column) as c
            where c is not null
        )
    ) into still_there using old_row;
    if not still_there and stale.tenant is distinct from '' then
        perform grain._retract(
            source.source_id, grain._row_tenant(source.name, source.tenant_column, stale.tenant), stale.key
        );
    end if;
end;
$$;

comment on function grain._retract_if_gone(record, regclass, anyelement) is
'Retracts the document of an old row, unless another row has its key by now.';

create or replace function grain._take_up(source record, fresh record, priority smallint)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    tenant uuid := grain._row_tenant(source.name, source.tenant_column, fresh.tenant);
begin
    if source.mode = 'inline' then
        perform grain._put_document(
            source.source_id, tenant, fresh.key, fresh.content, fresh.path, fresh.title, fresh.format, priority
        );
    else
        perform grain._queue_chunk(source.source_id, tenant, fresh.key, priority);
    end if;
end;
$$;

comment on function grain._take_up(record, record, smallint) is
'Cuts a row of a source at once, or queues it, as the source''s mode has it.';

create or replace function grain._on_row()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    source record;
    root regclass := coalesce(pg_partition_root(tg_relid), tg_relid);
    fresh record;
begin
    select s.* into source from grain.source as s where s.source_id = tg_argv[0]::bigint;
    if not found then
        raise exception 'the table % is no longer a source', root
            using errcode = '55000',
                detail = 'Its triggers stayed behind when it was untracked.',
                hint = format(
                    'drop trigger grain_insert on %1$s; drop trigger grain_update on %1$s; '
                    'drop trigger grain_delete on %1$s; drop trigger grain_truncate on %1$s;', root
                );
    end if;
    perform grain._check_origin(source.name, source.owner, root);
    if tg_op <> 'DELETE' then
        execute 'select ' || grain._read_sql(source, '($1)') into fresh using new;
        perform grain._take_up(source, fresh, 0::smallint);
    end if;
    if tg_op <> 'INSERT' then
        perform grain._retract_if_gone(source, root, old);
    end if;
    return null;
end;
$$;

comment on function grain._on_row() is
'Trigger of a tracked table: keeps chunks and jobs true to each row. Its argument is the source''s id.';

create or replace function grain._on_truncate()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    source record;
begin
    select s.* into source from grain.source as s where s.source_id = tg_argv[0]::bigint;
    if found then
        perform grain._check_origin(source.name, source.owner, tg_relid);
        perform grain._retract_all(source.source_id);
    end if;
    return null;
end;
$$;

comment on function grain._on_truncate() is 'Trigger of a tracked table: TRUNCATE retracts every document of it.';

create or replace function grain._retract_all(source_id bigint)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    tenant uuid;
begin
    for tenant in select distinct d.tenant_id from grain.document as d where d.source_id = _retract_all.source_id loop
        delete from grain.document as d
        where d.tenant_id = tenant and d.source_id = _retract_all.source_id;
    end loop;
    delete from grain.job as j where j.source_id = _retract_all.source_id;
    perform grain._drop_idle_jobs();
end;
$$;

comment on function grain._retract_all(bigint) is 'Takes every document of a source back.';

create or replace function grain._backfill(source_id bigint, backfill boolean)
returns text
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    source record;
    fresh record;
    documents bigint := 0;
    chunks bigint;
begin
    perform grain._must_own(_backfill.source_id);
    select s.*, r.name as rule, m.name as model into source
    from grain.source as s
    inner join grain.generation as g on g.generation_id = s.live_generation_id
    inner join grain.rule as r on r.rule_id = g.rule_id
    inner join grain.model as m on m.model_id = g.model_id
    where s.source_id = _backfill.source_id;
    if backfill then
        perform grain._check_readable(source.name);
        for fresh in execute format('select %s from %s as t', grain._read_sql(source, 't'), source.name) loop
            documents := documents + 1;
            perform grain._take_up(source, fresh, -10::smallint);
        end loop;
    end if;
    execute format('select count(*) from grain.%I', 'chunk_' || source.live_generation_id) into chunks;
    return format(
        '%s: tracked by rule %s and model %s, %s documents, %s chunks', source.name, source.rule,
        source.model, documents, chunks
    );
end;
$$;

comment on function grain._backfill(bigint, boolean) is 'Takes up the rows that a newly tracked table has already.';

create or replace function grain._name(relation regclass)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select format('%I.%I', n.nspname, c.relname)
        from pg_class as c
        inner join pg_namespace as n on n.oid = c.relnamespace
        where c.oid = relation
    );
end;
$$;

comment on function grain._name(regclass) is 'The name of a table with its schema, both quoted where they need it.';

create or replace function grain.reconcile(source text)
returns table (written bigint, retracted bigint)
language plpgsql
volatile
parallel unsafe
security definer
rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
    tracked record;
    relation regclass;
    fresh record;
    stale record;
begin
    select s.* into tracked
    from grain.source as s
    where s.source_id = (select o.source_id from grain._source(reconcile.source) as o);
    perform grain._must_own(tracked.source_id);
    relation := grain._table(tracked.source_id, tracked.name);
    if relation is null then
        raise exception 'the table % is gone', tracked.name
            using errcode = '42P01',
                detail = 'It was dropped; its chunks are still there.',
                hint = format('select grain.untrack(%L);', tracked.name);
    end if;
    perform grain._check_readable(relation);
    update grain.source as s set name = grain._name(relation)
    where s.source_id = tracked.source_id and s.name <> grain._name(relation);
    written := 0;
    retracted := 0;
    for fresh in execute format('select %s from %s as t', grain._read_sql(tracked, 't'), relation) loop
        if grain._put_document(
            tracked.source_id, grain._row_tenant(tracked.name, tracked.tenant_column, fresh.tenant),
            fresh.key, fresh.content, fresh.path, fresh.title, fresh.format, 0::smallint
        ) then
            written := written + 1;
        end if;
    end loop;
    for stale in execute format(
        'select d.tenant_id, d.key from grain.document as d where d.source_id = $1 and not exists ('
        'select from (select %s from %s as t) as r where r.key = d.key '
        'and grain._row_tenant(%L, %L, r.tenant) = d.tenant_id)',
        grain._read_sql(tracked, 't'), relation, tracked.name, tracked.tenant_column
    ) using tracked.source_id loop
        perform grain._retract(tracked.source_id, stale.tenant_id, stale.key);
        retracted := retracted + 1;
    end loop;
    return next;
end;
$$;

comment on function grain.reconcile(text) is
'Makes documents and chunks true to the table where no trigger saw a change: rows that came by replication, with session_replication_role = replica, by TRUNCATE or DETACH of a partition, or by a restore.';
