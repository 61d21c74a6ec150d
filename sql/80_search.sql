-- Search: three legs under one tenant predicate, fused by rank, widened to what stands around.

create or replace function grain._like_literal(literal text)
returns text
language sql
immutable
strict
parallel safe
return replace(replace(replace(literal, '\', '\\'), '%', '\%'), '_', '\_');

comment on function grain._like_literal(text) is 'A text as a LIKE pattern that matches itself and nothing else.';

create or replace function grain._any_word(configuration regconfig, query text)
returns tsquery
language plpgsql
immutable
strict
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select string_agg(
            '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | '
        )::tsquery
        from unnest(tsvector_to_array(to_tsvector(configuration, grain._words(query)))) as lexeme
    );
end;
$$;

comment on function grain._any_word(regconfig, text) is
'A query for any of the words of a text; null where it has none. Any text is safe.';

create or replace function grain._pool(k integer)
returns integer
language sql
immutable
parallel safe
return greatest(100, 4 * k);

comment on function grain._pool(integer) is 'How many hits each leg gives to a search for k passages.';

create or replace function grain._vector_route(tenant uuid, generation bigint)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
    return case
        when not grain._has_vector_index(grain._leaf(tenant, generation)) then 'exact'
        when (
            select count(*) <= 5000
            from (
                select from grain.embedding as e
                where e.tenant_id = _vector_route.tenant and e.generation_id = _vector_route.generation
                limit 5001
            ) as bounded
        ) then 'exact'
        else 'hnsw'
    end;
end;
$$;

comment on function grain._vector_route(uuid, bigint) is 'The route that the dense leg takes without a path filter: exact or hnsw.';

create or replace function grain._vector_leg(
    tenant uuid,
    generation bigint,
    query_embedding text,
    width integer,
    path_pattern text,
    pool integer
)
returns table (content_hash bytea, distance double precision)
language plpgsql
stable
parallel unsafe
rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    vectors name := grain._vector_schema();
    before_scan text := current_setting('hnsw.iterative_scan', true);
    before_ef text := current_setting('hnsw.ef_search', true);
    bare text := format('e.embedding::%1$I.halfvec(%2$s) operator(%1$I.<=>) $1::%1$I.halfvec(%2$s)', vectors, width);
begin
    if path_pattern is not null then
        -- The filter first, and exactly: what an index scan would drop behind it is never missed.
        return query execute format(
            'with kept as materialized ('
            ' select distinct c.content_hash from grain.document as d'
            ' inner join grain.chunk as c'
            ' on c.tenant_id = $2 and c.generation_id = $3 and c.document_id = d.document_id'
            ' where d.tenant_id = $2 and d.path like $4)'
            ' select e.content_hash, %1$s as distance from kept'
            ' inner join grain.embedding as e'
            ' on e.tenant_id = $2 and e.generation_id = $3 and e.content_hash = kept.content_hash'
            ' order by (%1$s) + 0 limit $5', bare
        ) using query_embedding, tenant, generation, path_pattern, pool;
        return;
    end if;
    if grain._vector_route(tenant, generation) = 'exact' then
        -- Adding nothing to the distance keeps the planner from the approximate index.
        bare := '(' || bare || ') + 0';
    else
        perform set_config('hnsw.iterative_scan', 'strict_order', true);
        perform set_config('hnsw.ef_search', least(1000, greatest(40, pool))::text, true);
    end if;
    return query execute format(
        'select e.content_hash, %s as distance from grain.embedding as e'
        ' where e.tenant_id = $2 and e.generation_id = $3 order by %s limit $4', bare, bare
    ) using query_embedding, tenant, generation, pool;
    if before_scan is not null then
        perform set_config('hnsw.iterative_scan', before_scan, true);
        perform set_config('hnsw.ef_search', before_ef, true);
    end if;
end;
$$;

comment on function grain._vector_leg(uuid, bigint, text, integer, text, integer) is
'The texts nearest to a vector in one generation: exactly where the tenant has few or a filter is strict, else by the index.';

create or replace function grain._leaf(tenant uuid, generation bigint)
returns regclass
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    part regclass := ('grain.embedding_' || generation)::regclass;
    leaf regclass;
begin
    select i.inhrelid::regclass into leaf
    from pg_inherits as i
    inner join pg_class as c on c.oid = i.inhrelid
    where i.inhparent = part
        and satisfies_hash_partition(
            part, (select count(*)::integer from pg_inherits as n where n.inhparent = part),
            substring(c.relname from '_([0-9]+)$')::integer, tenant
        );
    return coalesce(leaf, part);
end;
$$;

comment on function grain._leaf(uuid, bigint) is 'The table that holds a tenant''s vectors in a generation.';

create or replace function grain._has_vector_index(leaf regclass)
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select from pg_index as i
        inner join pg_class as c on c.oid = i.indexrelid
        inner join pg_am as a on a.oid = c.relam
        where i.indrelid = leaf and i.indisvalid and a.amname = 'hnsw'
    );
end;
$$;

comment on function grain._has_vector_index(regclass) is 'Whether a leaf has a vector index that can be used.';

create or replace function grain._hits(
    tenant uuid,
    query text,
    generations bigint[],
    model_ids bigint[],
    embeddings text[],
    path_filter text,
    mode text,
    pool integer
)
returns table (
    document_id uuid,
    generation_id bigint,
    ordinal integer,
    score double precision,
    dense_rank integer,
    lexical_rank integer,
    path_rank integer
)
language plpgsql
stable
parallel unsafe
rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    pattern text := '%' || grain._like_literal(nullif(path_filter, '')) || '%';
    named text := '%' || grain._like_literal(nullif(btrim(query, E' \t\r\n'), '')) || '%';
    near_generation bigint[] := '{}';
    near_hash bytea[] := '{}';
    near_rank integer[] := '{}';
    word_generation bigint[] := '{}';
    word_query tsquery[] := '{}';
    g record;
begin
    for g in
        select gen.generation_id, gen.model_id, m.dimensions, s.language::regconfig as configuration
        from grain.generation as gen
        inner join grain.source as s on s.source_id = gen.source_id
        inner join grain.model as m on m.model_id = gen.model_id
        where gen.generation_id = any(generations)
    loop
        if mode in ('hybrid', 'lexical') then
            word_generation := word_generation || g.generation_id;
            word_query := word_query || grain._any_word(g.configuration, query);
        end if;
    end loop;
    if mode in ('hybrid', 'dense') then
        -- Distances of one model compare; those of two do not, so each model ranks its own.
        select
            coalesce(array_agg(near.generation_id), '{}'),
            coalesce(array_agg(near.content_hash), '{}'),
            coalesce(array_agg(near.place), '{}')
        into near_generation, near_hash, near_rank
        from (
            select
                gen.generation_id, v.content_hash,
                dense_rank() over (partition by gen.model_id order by v.distance, v.content_hash)::integer as place
            from unnest(model_ids, embeddings) as given (model_id, embedding)
            inner join grain.generation as gen
                on gen.model_id = given.model_id and gen.generation_id = any(generations)
            inner join grain.model as m on m.model_id = gen.model_id
            cross join lateral grain._vector_leg(
                tenant, gen.generation_id, given.embedding, m.dimensions, pattern, pool
            ) as v
        ) as near
        where near.place <= pool;
    end if;
    return query
    with dense as (
        select c.document_id, n.generation_id, c.ordinal, n.content_hash, n.place
        from unnest(near_generation, near_hash, near_rank) as n (generation_id, content_hash, place)
        cross join lateral (
            select o.document_id, o.ordinal
            from grain.chunk as o
            where o.tenant_id = tenant
                and o.generation_id = n.generation_id
                and o.generation_id = any(generations)
                and o.content_hash = n.content_hash
                and (pattern is null or exists (
                    select from grain.document as d
                    where d.tenant_id = tenant and d.document_id = o.document_id and d.path like pattern
                ))
            limit pool
        ) as c
    ),

    lexical as (
        select
            l.document_id, l.generation_id, l.ordinal, l.content_hash,
            row_number() over (order by l.weight desc, l.document_id, l.ordinal)::integer as place
        from (
            select
                c.document_id, c.generation_id, c.ordinal, c.content_hash,
                ts_rank(array[0.1, 0.1, 0.1, 0.1]::real[], c.tsv, w.words, 1) as weight
            from unnest(word_generation, word_query) as w (generation_id, words)
            inner join grain.chunk as c
                on c.generation_id = w.generation_id and c.tsv @@ w.words
            where c.tenant_id = tenant
                and c.generation_id = any(generations)
                and (pattern is null or exists (
                    select from grain.document as d
                    where d.tenant_id = tenant and d.document_id = c.document_id and d.path like pattern
                ))
            order by weight desc, c.document_id, c.ordinal
            limit pool
        ) as l
    ),

    path as (
        select
            c.document_id, c.generation_id, c.ordinal, c.content_hash,
            row_number() over (order by c.ordinal, char_length(d.path), d.path)::integer as place
        from grain.document as d
        inner join grain.chunk as c
            on c.tenant_id = tenant
                and c.document_id = d.document_id
                and c.generation_id = any(generations)
        where d.tenant_id = tenant
            and mode in ('hybrid', 'path')
            and d.path like coalesce(named, pattern)
            and (pattern is null or d.path like pattern)
        order by c.ordinal, char_length(d.path), d.path
        limit pool
    ),

    fused as (
        select
            h.document_id, h.generation_id, h.ordinal, h.content_hash,
            sum(1.0::double precision / (60 + h.place)) as score,
            min(h.place) filter (where h.leg = 'dense') as dense_rank,
            min(h.place) filter (where h.leg = 'lexical') as lexical_rank,
            min(h.place) filter (where h.leg = 'path') as path_rank
        from (
            select 'dense' as leg, dense.* from dense
            union all
            select 'lexical', lexical.* from lexical
            union all
            select 'path', path.* from path
        ) as h
        group by h.document_id, h.generation_id, h.ordinal, h.content_hash
    ),

    -- Boilerplate that stands in a hundred documents takes one place; its copies come after.
    spread as (
        select
            f.*,
            f.score / row_number() over (
                partition by f.content_hash order by f.score desc, f.document_id, f.ordinal
            ) as final_score
        from fused as f
    )

    select
        s.document_id, s.generation_id, s.ordinal, s.final_score,
        s.dense_rank, s.lexical_rank, s.path_rank
    from spread as s
    order by
        s.final_score desc, s.dense_rank nulls last, s.lexical_rank nulls last,
        s.document_id, s.ordinal;
end;
$$;

comment on function grain._hits(uuid, text, bigint[], bigint[], text[], text, text, integer) is
'The chunks that any leg finds, with the rank that each leg gave them, fused by reciprocal rank: 1/(60 + rank), a leg that misses adds nothing.';

create or replace function grain._passages(
    tenant uuid,
    query text,
    generations bigint[],
    model_ids bigint[],
    embeddings text[],
    k integer,
    path_filter text,
    expand text,
    neighbours integer,
    max_tokens integer,
    mode text,
    why_degraded text
)
returns table (
    rank integer,
    score double precision,
    document_id uuid,
    source text,
    key text,
    path text,
    title text,
    section_path text[],
    first_ordinal integer,
    last_ordinal integer,
    span int4range,
    lines int4range,
    citation text,
    content text,
    token_count integer,
    dense_rank integer,
    lexical_rank integer,
    path_rank integer,
    updated_at timestamptz,
    degraded text
)
language plpgsql
stable
parallel unsafe
rows 10
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    with recursive hit as materialized (
        select
            h.*,
            row_number() over (
                order by h.score desc, h.dense_rank nulls last, h.lexical_rank nulls last,
                h.document_id, h.ordinal
            )::integer as place
        from grain._hits(
            tenant, query, generations, model_ids, embeddings, path_filter, mode, grain._pool(k)
        ) as h
    ),

    -- How far each hit reaches: to itself, its neighbours, or the section around it.
    reach as materialized (
        select
            h.*,
            case w.expand
                when 'none' then h.ordinal
                when 'section' then coalesce(s.first_ordinal, h.ordinal)
                else h.ordinal - neighbours
            end as low,
            case w.expand
                when 'none' then h.ordinal
                when 'section' then coalesce(s.last_ordinal, h.ordinal)
                else h.ordinal + neighbours
            end as high
        from hit as h
        cross join lateral (
            select coalesce(_passages.expand, r.options ->> 'expand', 'neighbours') as expand
            from grain.generation as g
            inner join grain.rule as r on r.rule_id = g.rule_id
            where g.generation_id = h.generation_id
        ) as w
        left join lateral (
            select min(c.ordinal) as first_ordinal, max(c.ordinal) as last_ordinal
            from grain.chunk as c
            where w.expand = 'section'
                and c.tenant_id = tenant
                and c.generation_id = h.generation_id
                and c.generation_id = any(generations)
                and c.document_id = h.document_id
                and c.ordinal between h.ordinal - 8 and h.ordinal + 8
                and c.section = (
                    select o.section from grain.chunk as o
                    where o.tenant_id = tenant
                        and o.generation_id = h.generation_id
                        and o.generation_id = any(generations)
                        and o.document_id = h.document_id
                        and o.ordinal = h.ordinal
                )
        ) as s on true
    ),

    -- Hits whose reaches touch make one passage; more hits are taken until there are k passages.
    taken (hits, passages) as (
        select 0, 0
        union all
        select
            t.hits + k - t.passages,
            (
                select count(*)::integer
                from (
                    select
                        r.low > max(r.high) over (
                            partition by r.document_id, r.generation_id order by r.low, r.high
                            rows between unbounded preceding and 1 preceding
                        ) + (r.high > r.low)::integer as apart
                    from reach as r
                    where r.place <= t.hits + k - t.passages
                ) as islands
                where apart is not false
            )
        from taken as t
        where t.passages < k and t.hits < (select count(*) from hit)
    ),

    island as (
        select
            r.*,
            sum(r.apart::integer) over (
                partition by r.document_id, r.generation_id order by r.low, r.high, r.place
            ) as island
        from (
            select
                r.*,
                coalesce(r.low > max(r.high) over (
                    partition by r.document_id, r.generation_id order by r.low, r.high, r.place
                    rows between unbounded preceding and 1 preceding
                ) + (r.high > r.low)::integer, true) as apart
            from reach as r
            where r.place <= (select max(t.hits) from taken as t)
        ) as r
    ),

    passage as (
        select
            i.document_id, i.generation_id, min(i.low) as low, max(i.high) as high,
            min(i.place) as place, max(i.score) as score,
            (array_agg(i.ordinal order by i.place))[1] as ordinal,
            min(i.dense_rank) as dense_rank, min(i.lexical_rank) as lexical_rank,
            min(i.path_rank) as path_rank
        from island as i
        group by i.document_id, i.generation_id, i.island
        order by place
        limit k
    ),

    -- The source's own text again: what neighbours share is said once, what stood between returns.
    joined as (
        select
            p.place,
            min(c.ordinal) as first_ordinal,
            max(c.ordinal) as last_ordinal,
            min(c.span_start) as span_start,
            max(c.span_end) as span_end,
            min(c.first_line) as first_line,
            max(c.last_line) as last_line,
            sum(c.token_count)::integer as token_count,
            string_agg(
                case
                    when c.is_first then c.content
                    else c.lead || substr(c.content, c.repeats + 1)
                end, '' order by c.ordinal
            ) as content
        from passage as p
        cross join lateral (
            select o.*, row_number() over (order by o.ordinal) = 1 as is_first
            from grain.chunk as o
            where o.tenant_id = tenant
                and o.generation_id = p.generation_id
                and o.generation_id = any(generations)
                and o.document_id = p.document_id
                and o.ordinal between p.low and p.high
        ) as c
        group by p.place
    ),

    answer as (
        select
            row_number() over (order by p.place)::integer as rank,
            p.score, p.document_id, src.name as source, d.key, d.path, d.title, h.section_path,
            j.first_ordinal, j.last_ordinal,
            int4range(j.span_start, j.span_end) as span,
            int4range(j.first_line, j.last_line, '[]') as lines,
            concat(
                coalesce(d.path, d.title, src.name || '/' || d.key),
                '#' || nullif(array_to_string(h.section_path, ' > '), ''),
                ' L', j.first_line, '-L' || nullif(j.last_line, j.first_line)
            ) as citation,
            j.content,
            j.token_count,
            p.dense_rank, p.lexical_rank, p.path_rank, d.updated_at,
            sum(coalesce(j.token_count, octet_length(j.content))) over (order by p.place) as spent
        from passage as p
        inner join joined as j on j.place = p.place
        inner join grain.chunk as h
            on h.tenant_id = tenant
                and h.generation_id = p.generation_id
                and h.generation_id = any(generations)
                and h.document_id = p.document_id
                and h.ordinal = p.ordinal
        inner join grain.document as d on d.tenant_id = tenant and d.document_id = p.document_id
        inner join grain.source as src on src.source_id = d.source_id
    )

    select
        a.rank, a.score, a.document_id, a.source, a.key, a.path, a.title, a.section_path,
        a.first_ordinal, a.last_ordinal, a.span, a.lines, a.citation, a.content, a.token_count,
        a.dense_rank, a.lexical_rank, a.path_rank, a.updated_at, why_degraded
    from answer as a
    where max_tokens is null or a.spent <= max_tokens or a.rank = 1
    order by a.rank;
end;
$$;

comment on function grain._passages(
    uuid, text, bigint[], bigint[], text[], integer, text, text, integer, integer, text, text
) is
'What search() answers, from one snapshot: hits, widened, merged where they touch, cut at k and at max_tokens.';

create or replace function grain._query_vectors(
    tenant uuid,
    query text,
    query_embedding vector,
    generations bigint[],
    out model_ids bigint[],
    out embeddings text[],
    out degraded text
)
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    vectors name := grain._vector_schema();
    width integer;
    norm double precision;
    answer record;
    m record;
    why text;
begin
    model_ids := '{}';
    embeddings := '{}';
    if generations = '{}' then
        return;
    elsif query_embedding is not null then
        execute format('select %1$I.vector_dims($1), %1$I.vector_norm($1)', vectors)
        into width, norm using query_embedding;
        if norm = 0 then
            raise exception 'the query vector is zero'
                using errcode = '22023',
                    detail = 'A zero vector has no direction, hence no cosine.',
                    hint = 'Leave query_embedding out, and the query is embedded here.';
        end if;
        select array_agg(distinct g.model_id) into model_ids
        from grain.generation as g
        inner join grain.model as mo on mo.model_id = g.model_id
        where g.generation_id = any(generations) and mo.dimensions = width;
        if model_ids is null then
            raise exception 'the query vector has % dimensions, which no model searched here has', width
                using errcode = '22023',
                    detail = (
                        select 'The models are: ' || string_agg(
                            distinct format('%s (%s)', mo.name, mo.dimensions), ', '
                        ) || '.'
                        from grain.generation as g
                        inner join grain.model as mo on mo.model_id = g.model_id
                        where g.generation_id = any(generations)
                    ),
                    hint = 'Make the vector with the model of the source, or leave query_embedding out.';
        elsif cardinality(model_ids) > 1 then
            raise exception 'two models have % dimensions, and the query vector is of one of them', width
                using errcode = '22023',
                    detail = 'Vectors of two models do not compare.',
                    hint = 'Name the source: grain.search(..., source => ''public.article'')';
        end if;
        embeddings := array[query_embedding::text];
        return;
    end if;
    if coalesce(query, '') !~ '[^[:space:]]' then
        return;
    end if;
    for m in
        select g.model_id, mo.name, mo.provider
        from grain.generation as g
        inner join grain.model as mo on mo.model_id = g.model_id
        where g.generation_id = any(generations)
            and exists (
                select from grain.embedding as e
                where e.tenant_id = tenant and e.generation_id = g.generation_id
            )
        group by g.model_id, mo.name, mo.provider
    loop
        select a.* into answer from grain._embed_by(m.model_id, query, interval '10 seconds') as a;
        if answer.error is null then
            model_ids := model_ids || m.model_id;
            embeddings := embeddings || answer.vector;
        else
            why := concat_ws('; ', why, format('model %s: %s', m.name, answer.error)
                || case when m.provider = 'local' then ' (start it: pg-grain serve)' else '' end);
        end if;
    end loop;
    if why is not null then
        degraded := 'lexical only: ' || why;
    elsif model_ids = '{}' then
        degraded := 'lexical only: no chunk has a vector yet (pg-grain work)';
    end if;
end;
$$;

comment on function grain._query_vectors(uuid, text, vector, bigint[]) is
'The query as a vector, by each model that is searched: the one given, or made here; or why there is none.';

create or replace function grain._find(
    query_text text,
    query_embedding vector,
    k integer,
    source_name text,
    path_filter text,
    expand text,
    neighbours integer,
    max_tokens integer,
    mode text,
    tenant_name text
)
returns table (
    rank integer,
    score double precision,
    document_id uuid,
    source text,
    key text,
    path text,
    title text,
    section_path text[],
    first_ordinal integer,
    last_ordinal integer,
    span int4range,
    lines int4range,
    citation text,
    content text,
    token_count integer,
    dense_rank integer,
    lexical_rank integer,
    path_rank integer,
    updated_at timestamptz,
    degraded text
)
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    tenant uuid := grain._tenant(tenant_name);
    generations bigint[];
    made record;
begin
    if k is null or k not between 1 and 1000 then
        raise exception 'k is between 1 and 1000' using errcode = '22023', hint = 'k => 10';
    end if;
    if mode is null or mode not in ('hybrid', 'dense', 'lexical', 'path') then
        raise exception 'there is no mode "%"', mode
            using errcode = '22023', hint = 'mode => ''hybrid'', ''dense'', ''lexical'' or ''path''';
    end if;
    if expand not in ('none', 'neighbours', 'section') then
        raise exception 'a hit cannot be widened to "%"', expand
            using errcode = '22023', hint = 'expand => ''none'', ''neighbours'' or ''section''';
    end if;
    if neighbours is null or neighbours not between 0 and 100 then
        raise exception 'neighbours is between 0 and 100' using errcode = '22023', hint = 'neighbours => 1';
    end if;
    if max_tokens < 1 then
        raise exception 'max_tokens is at least 1' using errcode = '22023', hint = 'max_tokens => 4000';
    end if;
    if source_name is null then
        generations := array(
            select s.live_generation_id from grain.source as s where s.live_generation_id is not null
        );
    else
        generations := array(
            select s.live_generation_id from grain.source as s
            where s.source_id = (select o.source_id from grain._source(source_name) as o)
        );
    end if;
    if mode in ('lexical', 'path') then
        select '{}'::bigint[] as model_ids, '{}'::text[] as embeddings, null::text as degraded into made;
    else
        select v.* into made from grain._query_vectors(tenant, query_text, query_embedding, generations) as v;
    end if;
    return query
    select p.*
    from grain._passages(
        tenant, query_text, generations, made.model_ids, made.embeddings, k, path_filter, expand,
        neighbours, max_tokens, mode, made.degraded
    ) as p;
    if not found and made.degraded is not null then
        raise notice 'nothing was found; %', made.degraded;
    end if;
end;
$$;

comment on function grain._find(
    text, vector, integer, text, text, text, integer, integer, text, text
) is
'search() under other parameter names, since PL/pgSQL cannot name a parameter and a column alike.';

create or replace function grain.search(
    query text default null,
    query_embedding vector default null,
    k integer default 10,
    source text default null,
    path text default null,
    expand text default null,
    neighbours integer default 1,
    max_tokens integer default null,
    mode text default 'hybrid',
    tenant text default null
)
returns table (
    rank integer,
    score double precision,
    document_id uuid,
    source text,
    key text,
    path text,
    title text,
    section_path text[],
    first_ordinal integer,
    last_ordinal integer,
    span int4range,
    lines int4range,
    citation text,
    content text,
    token_count integer,
    dense_rank integer,
    lexical_rank integer,
    path_rank integer,
    updated_at timestamptz,
    degraded text
)
language sql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $$
select f.* from grain._find($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as f;
$$;

comment on function grain.search(
    text, vector, integer, text, text, text, integer, integer, text, text
) is
'The k best passages for a query, of one tenant. Three legs (path, words, vectors) are fused by reciprocal rank; each hit is widened (expand => ''none'', ''neighbours'' or ''section''; by default as the rule says, else to its neighbours), and hits that touch become one passage. path keeps to documents whose path holds that text. Without query_embedding the query is embedded here; where that fails the answer is lexical and degraded says why.';
