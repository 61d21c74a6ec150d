-- Judging: labelled questions, what each leg of a search finds of their answers, and how far the
-- vector index is to be trusted.

create or replace function grain._occurrences(content text, quote text)
returns table (span_start integer, span_end integer)
language plpython3u
stable
strict
parallel safe
cost 1000
rows 1
as $$
import importlib

plpy.execute("select grain._bundle()")
yield from importlib.import_module("@bundle_key@.judging").occurrences(content, quote)
$$;

comment on function grain._occurrences(text, text) is
'Where a quote stands in a text, letter by letter; if nowhere, then with any run of blanks for any other.';

create or replace function grain._bootstrap(figures double precision[], width integer)
returns table (measure integer, mean double precision, low double precision, high double precision)
language plpython3u
stable
strict
parallel safe
cost 100000
rows 75
as $$
import importlib

plpy.execute("select grain._bundle()")
yield from importlib.import_module("@bundle_key@.judging").bootstrap(figures, width)
$$;

comment on function grain._bootstrap(double precision[], integer) is
'Means with their 95 % bootstrap intervals, of 1,000 samples and always the same ones. figures holds question after question, width measures each. Besides them it returns empty rows (measure is null), at which the server can be interrupted: drop them.';

create or replace function grain._document_text(tenant uuid, document uuid)
returns text
language plpgsql
stable
parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
    source record;
    relation regclass;
    fresh record;
begin
    select s.*, d.key into source
    from grain.document as d
    inner join grain.source as s on s.source_id = d.source_id
    where d.tenant_id = _document_text.tenant and d.document_id = _document_text.document;
    relation := grain._table(source.source_id, source.name);
    if relation is null then
        return null;
    end if;
    perform grain._check_readable(relation);
    for fresh in
        execute format(
            'select %s from %s as t where %s', grain._read_sql(source, 't'), relation,
            grain._key_sql(source, relation, 't')
        ) using source.key
    loop
        if grain._row_tenant(source.name, source.tenant_column, fresh.tenant) = tenant then
            return coalesce(fresh.content, '');
        end if;
    end loop;
    return null;
end;
$$;

comment on function grain._document_text(uuid, uuid) is
'The text of a document as it stands in its table; null where its row is gone.';

create or replace function grain._find_document(
    tenant uuid, document uuid, path text, source text, key text
)
returns uuid
language plpgsql
stable
parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
    tracked bigint;
    named text;
    found_one uuid[];
begin
    if num_nonnulls(document, path, key) <> 1 or (key is not null and source is null) then
        raise exception 'the document is named in one way'
            using errcode = '22023',
                detail = 'By its path, by its id, or by its source and key.',
                hint = 'path => ''manual/pump.md'', or document => ''...'', or source => ''public.article'', key => ''7''';
    end if;
    if source is not null then
        select s.source_id into tracked from grain._source(_find_document.source) as s;
    end if;
    found_one := array(
        select d.document_id
        from grain.document as d
        where d.tenant_id = _find_document.tenant
            and d.document_id = coalesce(_find_document.document, d.document_id)
            and (_find_document.path is null or d.path = _find_document.path)
            and (_find_document.key is null or d.key = _find_document.key)
            and (tracked is null or d.source_id = tracked)
        order by d.document_id
        limit 10
    );
    named := coalesce(path, document::text, source || '/' || key);
    if cardinality(found_one) = 0 then
        raise exception 'there is no document "%"', named
            using errcode = '42704',
                detail = 'This tenant has none of that name.',
                hint = 'select path, document_id from grain.document;';
    elsif cardinality(found_one) > 1 then
        raise exception 'several documents are called "%"', named
            using errcode = '22023',
                detail = format('Their ids are %s.', array_to_string(found_one, ', ')),
                hint = format('document => %L', found_one[1]);
    end if;
    return found_one[1];
end;
$$;

comment on function grain._find_document(uuid, uuid, text, text, text) is
'The one document of a tenant that has this path, id, or key in a source.';

create or replace function grain.add_question(
    query text,
    path text default null,
    quote text default null,
    span int4range default null,
    document uuid default null,
    source text default null,
    key text default null,
    tenant text default null
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid := grain._tenant(tenant);
    this_document uuid;
    content text;
    places int4range[];
    label record;
    made bigint;
begin
    if coalesce(query, '') !~ '[^[:space:]]' then
        raise exception 'the question is blank'
            using errcode = '22023', hint = 'select grain.add_question(''where is the boiler?'', path => ''...'', quote => ''...'');';
    end if;
    if num_nonnulls(nullif(btrim(quote, E' \t\r\n'), ''), span) <> 1 then
        raise exception 'the answer is named in one way'
            using errcode = '22023',
                detail = 'By a quote from the document, or by its span in characters.',
                hint = 'quote => ''The boiler is in the cellar.'', or span => ''[120,148)''';
    end if;
    this_document := grain._find_document(this_tenant, document, path, source, key);
    content := grain._document_text(this_tenant, this_document);
    if quote is null then
        if not coalesce(span <@ int4range(0, char_length(content)), false) or isempty(span) then
            raise exception 'the span % is not in the document', span
                using errcode = '22023',
                    detail = format('Its text has %s characters, counted from 0.', coalesce(char_length(content), 0)),
                    hint = 'span => ''[120,148)''  -- from character 120 up to, not including, 148';
        end if;
        places := array[span];
    else
        places := array(
            select int4range(o.span_start, o.span_end) from grain._occurrences(content, quote) as o
            order by o.span_start
        );
        if cardinality(places) = 0 then
            raise exception 'the quote is not in the document'
                using errcode = '22023',
                    detail = 'Blanks may differ; letters, case and punctuation may not.',
                    hint = format(
                        'select content, span from grain.search(%L) where document_id = %L;',
                        query, this_document
                    );
        elsif cardinality(places) > 1 then
            raise exception 'the quote stands in the document % times', cardinality(places)
                using errcode = '22023',
                    detail = format('Its places are %s.', array_to_string(places[:5], ', ')
                        || case when cardinality(places) > 5 then ', ...' else '' end),
                    hint = format('Quote more of it, or choose one: span => %L', places[1]);
        end if;
    end if;
    insert into grain.question as q (tenant_id, query, document_id, span_start, span_end, quote)
    values (
        this_tenant, add_question.query, this_document, lower(places[1]), upper(places[1]),
        substr(content, lower(places[1]) + 1, upper(places[1]) - lower(places[1]))
    )
    on conflict on constraint question_label_is_unique do update set quote = excluded.quote
    returning q.question_id into made;
    return made;
end;
$$;

comment on function grain.add_question(text, text, text, int4range, uuid, text, text, text) is
'Labels a span of a document as the answer to a query, and returns the label''s id. The document is named by path, id (document => ''...''), or source and key; the answer by a quote that stands in it once, or by its span in characters. A query may be labelled again, with a further answer. Saying the same twice changes nothing.';

create or replace function grain.drop_question(question bigint, tenant text default null)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid := grain._tenant(tenant);
begin
    delete from grain.question as q
    where q.tenant_id = this_tenant and q.question_id = drop_question.question;
    return found;
end;
$$;

comment on function grain.drop_question(bigint, text) is
'Takes one label back; false where there is none of that id. Evaluations keep their figures.';

create or replace function grain._labels(tenant uuid, source_id bigint default null)
returns table (
    question_id bigint,
    query text,
    document_id uuid,
    span int4range,
    quote text,
    state text
)
language plpgsql
stable
parallel restricted
rows 500
set search_path = pg_catalog, pg_temp
as $$
declare
    content text;
begin
    for document_id in
        select distinct q.document_id
        from grain.question as q
        inner join grain.document as d
            on d.tenant_id = _labels.tenant and d.document_id = q.document_id
        where q.tenant_id = _labels.tenant
            and (_labels.source_id is null or d.source_id = _labels.source_id)
        order by q.document_id
    loop
        content := grain._document_text(tenant, document_id);
        return query
        select
            q.question_id, q.query, q.document_id,
            case when h.here then int4range(q.span_start, q.span_end) else near.span end,
            q.quote,
            case when h.here then 'stands' when near.span is null then 'stale' else 'moved' end
        from grain.question as q
        cross join lateral (
            select substr(content, q.span_start + 1, q.span_end - q.span_start) is not distinct from q.quote as here
        ) as h
        left join lateral (
            select int4range(o.span_start, o.span_end) as span
            from grain._occurrences(content, q.quote) as o
            where not h.here
            order by abs(o.span_start - q.span_start), o.span_start
            limit 1
        ) as near on true
        where q.tenant_id = _labels.tenant and q.document_id = _labels.document_id;
    end loop;
end;
$$;

comment on function grain._labels(uuid, bigint) is
'The labels of a tenant where their quotes stand now: where they stood, moved to the nearest place with the same text, or stale because the text is gone.';

create or replace function grain.questions(tenant text default null)
returns table (
    question_id bigint,
    query text,
    source text,
    key text,
    path text,
    span int4range,
    quote text,
    state text
)
language plpgsql
stable
parallel restricted
rows 500
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid := grain._tenant(tenant);
begin
    return query
    select l.question_id, l.query, s.name, d.key, d.path, l.span, l.quote, l.state
    from grain._labels(this_tenant) as l
    inner join grain.document as d on d.tenant_id = this_tenant and d.document_id = l.document_id
    inner join grain.source as s on s.source_id = d.source_id
    order by l.question_id;
end;
$$;

comment on function grain.questions(text) is
'The labelled questions of a tenant. state: the answer stands where it was labelled; it has moved, and span is the nearest place of its quote in the document as it is now; or it is stale, since the document no longer has its quote.';

create or replace function grain._judge(
    hit_documents uuid[],
    hit_spans int4range[],
    gold_documents uuid[],
    gold_spans int4range[],
    k integer
)
returns table (
    recall double precision,
    "precision" double precision, -- noqa: RF06
    ndcg double precision,
    mrr double precision,
    iou double precision
)
language plpgsql
immutable
parallel safe
rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    with hit as (
        select h.document, h.span, h.place
        from unnest(hit_documents, hit_spans) with ordinality as h (document, span, place)
        where h.place <= k
    ),

    -- Answers that overlap or touch are one.
    gold as (
        select g.document, range_agg(g.span) as spans
        from unnest(gold_documents, gold_spans) as g (document, span)
        group by g.document
    ),

    first_found as (
        select min(h.place) as place
        from gold as g
        cross join lateral unnest(g.spans) as answer (span)
        left join hit as h on h.document = g.document and h.span && answer.span
        group by g.document, answer.span
    ),

    gain as (
        select
            (select min(f.place) from first_found as f) as first_place,
            (
                select coalesce(sum(1 / ln(1 + f.place)), 0)
                from (select distinct o.place from first_found as o where o.place is not null) as f
            ) as reached,
            (
                select sum(1 / ln(1 + i))
                from generate_series(1, least(k, (select count(*) from first_found))) as i
            ) as ideal
    ),

    size as (
        select
            (select coalesce(sum(upper(h.span) - lower(h.span)), 0) from hit as h) as returned,
            (
                select sum(upper(answer.span) - lower(answer.span))
                from gold as g
                cross join lateral unnest(g.spans) as answer (span)
            ) as wanted,
            (
                select coalesce(sum(upper(part.span) - lower(part.span)), 0)
                from gold as g
                inner join (
                    select h.document, range_agg(h.span) as spans from hit as h group by h.document
                ) as covered on covered.document = g.document
                cross join lateral unnest(g.spans * covered.spans) as part (span)
            ) as both_have
    )

    select
        s.both_have::double precision / s.wanted,
        coalesce(s.both_have::double precision / nullif(s.returned, 0), 0),
        least(g.reached / g.ideal, 1),
        coalesce(1.0::double precision / g.first_place, 0),
        s.both_have::double precision / (s.returned + s.wanted - s.both_have)
    from size as s
    cross join gain as g;
end;
$$;

comment on function grain._judge(uuid[], int4range[], uuid[], int4range[], integer) is
'How well the first k of a ranking cover the gold; the columns of judgement say what each measure is. Gold spans that overlap or touch are one, and there must be one at least.';

create or replace function grain._rankings(
    tenant uuid,
    query text,
    generation bigint,
    model_ids bigint[],
    embeddings text[],
    cutoffs integer[],
    max_tokens integer
)
returns table (leg text, k integer, documents uuid[], spans int4range[])
language plpgsql
stable
parallel safe
rows 15
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
    -- Each k by itself, as a search for k would have it: the pools are wider for a larger k, and
    -- passages merge as more hits are taken.
    return query
    with hit as materialized (
        select
            p.pool, h.document_id, h.ordinal, int4range(c.span_start, c.span_end) as span,
            h.path_rank, h.lexical_rank, h.dense_rank,
            row_number() over (
                partition by p.pool
                order by h.score desc, h.dense_rank nulls last, h.lexical_rank nulls last,
                h.document_id, h.ordinal
            ) as fused_rank
        from (select distinct grain._pool(n) as pool from unnest(cutoffs) as n) as p
        cross join lateral grain._hits(
            tenant, query, array[generation], model_ids, embeddings, null, 'hybrid', p.pool
        ) as h
        inner join grain.chunk as c
            on c.tenant_id = tenant
                and c.generation_id = generation
                and c.document_id = h.document_id
                and c.ordinal = h.ordinal
    ),

    ranked as (
        select
            l.leg, h.pool, h.document_id, h.span,
            row_number() over (
                partition by l.leg, h.pool order by l.rank, h.document_id, h.ordinal
            ) as place
        from hit as h
        cross join lateral (
            values
            ('path', h.path_rank),
            ('lexical', h.lexical_rank),
            ('dense', h.dense_rank),
            ('fused', h.fused_rank)
        ) as l (leg, rank)
        where l.rank is not null
    )

    select
        l.leg, n.k,
        coalesce(array_agg(r.document_id order by r.place) filter (where r.place is not null), '{}'),
        coalesce(array_agg(r.span order by r.place) filter (where r.place is not null), '{}')
    from unnest(cutoffs) as n (k)
    cross join unnest(array['path', 'lexical', 'dense', 'fused']) as l (leg)
    left join ranked as r on r.leg = l.leg and r.pool = grain._pool(n.k) and r.place <= n.k
    where l.leg <> 'dense' or cardinality(model_ids) > 0
    group by l.leg, n.k
    union all
    select
        'expanded', n.k,
        coalesce(array_agg(p.document_id order by p.rank) filter (where p.rank is not null), '{}'),
        coalesce(array_agg(p.span order by p.rank) filter (where p.rank is not null), '{}')
    from unnest(cutoffs) as n (k)
    left join lateral grain._passages(
        tenant, query, array[generation], model_ids, embeddings, n.k, null, null, 1, max_tokens, 'hybrid', null
    ) as p on true
    group by n.k;
end;
$$;

comment on function grain._rankings(uuid, text, bigint, bigint[], text[], integer[], integer) is
'What each leg returns for a query, for each k: path, lexical and dense by their own ranks, fused as search(expand => ''none''), expanded as search().';

create or replace function grain._judged_generation(tenant uuid, source text, generation bigint)
returns table (generation_id bigint, source_id bigint, source_name text, rule text, model text)
language plpgsql
stable
parallel restricted
rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
    tracked bigint[];
begin
    if num_nonnulls(source, generation) > 1 then
        raise exception 'a source or a generation is judged, not both'
            using errcode = '22023',
                detail = 'Of a source the live generation is judged.',
                hint = format('select * from grain.evaluate(generation => %s);', generation);
    elsif source is not null then
        tracked := array(select s.source_id from grain._source(_judged_generation.source) as s);
    elsif generation is null then
        tracked := array(
            select distinct d.source_id
            from grain.question as q
            inner join grain.document as d
                on d.tenant_id = _judged_generation.tenant and d.document_id = q.document_id
            where q.tenant_id = _judged_generation.tenant
            order by d.source_id
        );
        if cardinality(tracked) > 1 then
            raise exception 'there are questions for several sources'
                using errcode = '22023',
                    detail = (
                        select format('They are %s.', string_agg(s.name, ', ' order by s.source_id))
                        from grain.source as s where s.source_id = any(tracked)
                    ),
                    hint = (
                        select format('select * from grain.evaluate(%L);', s.name)
                        from grain.source as s where s.source_id = tracked[1]
                    );
        elsif cardinality(tracked) = 0 then
            perform grain._no_questions();
        end if;
    end if;
    return query
    select g.generation_id, s.source_id, s.name, r.name, m.name
    from grain.generation as g
    inner join grain.source as s on s.source_id = g.source_id
    inner join grain.rule as r on r.rule_id = g.rule_id
    inner join grain.model as m on m.model_id = g.model_id
    where g.generation_id = _judged_generation.generation
        or (s.source_id = any(tracked) and g.generation_id = s.live_generation_id);
    if not found then
        raise exception 'there is no generation %', coalesce(generation::text, 'of ' || source || ' that is live')
            using errcode = '42704', hint = 'select * from grain.progress;';
    end if;
end;
$$;

comment on function grain._judged_generation(uuid, text, bigint) is
'What evaluate() is to judge: a generation, the live one of a source, or that of the only source which the tenant has questions for.';

create or replace function grain._no_questions()
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception 'there are no questions to ask'
        using errcode = '55000',
            detail = 'This tenant has labelled none of the source''s documents.',
            hint = 'select grain.add_question(''where is the boiler?'', path => ''manual/house.md'', quote => ''The boiler is in the cellar.'');';
end;
$$;

comment on function grain._no_questions() is 'Says that nothing was labelled.';

create or replace function grain._evaluate(
    source_name text,
    generation bigint,
    cutoffs integer[],
    token_cap integer,
    tenant_name text
)
returns table (
    evaluation bigint,
    leg text,
    k integer,
    questions integer,
    stale integer,
    recall numeric,
    recall_95 numrange,
    "precision" numeric, -- noqa: RF06
    precision_95 numrange,
    ndcg numeric,
    ndcg_95 numrange,
    mrr numeric,
    mrr_95 numrange,
    iou numeric,
    iou_95 numrange
)
language plpgsql
volatile
parallel unsafe
rows 15
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    tenant uuid := grain._tenant(tenant_name);
    wanted integer[] := array(select distinct n from unnest(cutoffs) as n order by n);
    judged record;
    question record;
    vectors record;
    made bigint;
    asked integer := 0;
    left_out integer := 0;
    why text;
begin
    if cutoffs is null or cardinality(wanted) not between 1 and 20 or not 1 <= all(wanted) or not 1000 >= all(wanted)
        or array_position(wanted, null) is not null
    then
        raise exception 'k holds 1 to 20 numbers between 1 and 1000' using errcode = '22023', hint = 'k => array[5, 10, 20]';
    end if;
    if token_cap < 1 then
        raise exception 'max_tokens is at least 1' using errcode = '22023', hint = 'max_tokens => 4000';
    end if;
    select j.* into judged from grain._judged_generation(tenant, source_name, generation) as j;
    insert into grain.evaluation as e (
        tenant_id, generation_id, source, rule, model, k, max_tokens, questions, stale
    )
    values (
        tenant, judged.generation_id, judged.source_name, judged.rule, judged.model, wanted, token_cap, 0, 0
    )
    returning e.evaluation_id into made;
    for question in
        select
            min(l.question_id) as question_id, l.query, bool_or(l.state = 'stale') as is_stale,
            array_agg(l.document_id) as documents, array_agg(l.span) as spans
        from grain._labels(tenant, judged.source_id) as l
        group by l.query
        order by min(l.question_id)
    loop
        if question.is_stale then
            left_out := left_out + 1;
            continue;
        end if;
        -- What cannot be asked once is not asked again, and the whole run does without.
        if why is null then
            select v.* into vectors
            from grain._query_vectors(tenant, question.query, null, array[judged.generation_id]) as v;
            if vectors.degraded is not null and asked > 0 then
                raise exception 'the model "%" gave no embedding for question %', judged.model, question.question_id
                    using errcode = 'GR003',
                        detail = vectors.degraded || '. Averages over questions with and without a vector would not compare.',
                        hint = 'Run it again when the model answers: nothing was stored.';
            end if;
            why := vectors.degraded;
        end if;
        asked := asked + 1;
        insert into grain.judgement (
            tenant_id, evaluation_id, question_id, leg, k, recall, precision, ndcg, mrr, iou
        )
        select tenant, made, question.question_id, r.leg, r.k, j.recall, j.precision, j.ndcg, j.mrr, j.iou
        from grain._rankings(
            tenant, question.query, judged.generation_id, vectors.model_ids, vectors.embeddings, wanted, token_cap
        ) as r
        cross join lateral grain._judge(r.documents, r.spans, question.documents, question.spans, r.k) as j;
    end loop;
    if left_out > 0 then
        raise notice '% of % questions are stale and were left out', left_out, left_out + asked
            using detail = 'The quote of a label is no longer in its document.',
                hint = 'select * from grain.questions() where state = ''stale'';';
    end if;
    if asked = 0 then
        perform grain._no_questions();
    end if;
    if why is not null then
        raise notice 'the dense leg was skipped: %', why;
    end if;
    update grain.evaluation as e
    set questions = asked, stale = left_out, degraded = why
    where e.tenant_id = tenant and e.evaluation_id = made;
    return query
    select r.* from grain._report(tenant, made) as r;
end;
$$;

comment on function grain._evaluate(text, bigint, integer[], integer, text) is
'evaluate() under other parameter names, since PL/pgSQL cannot name a parameter and a column alike.';

create or replace function grain.evaluate(
    source text default null,
    generation bigint default null,
    k integer[] default '{5,10,20}',
    max_tokens integer default null,
    tenant text default null
)
returns table (
    evaluation bigint,
    leg text,
    k integer,
    questions integer,
    stale integer,
    recall numeric,
    recall_95 numrange,
    "precision" numeric, -- noqa: RF06
    precision_95 numrange,
    ndcg numeric,
    ndcg_95 numrange,
    mrr numeric,
    mrr_95 numrange,
    iou numeric,
    iou_95 numrange
)
language sql
volatile
parallel unsafe
rows 15
security definer
set search_path = pg_catalog, pg_temp
as $$
select e.* from grain._evaluate($1, $2, $3, $4, $5) as e;
$$;

comment on function grain.evaluate(text, bigint, integer[], integer, text) is
'Asks a tenant''s questions of a source''s live generation, or of any generation, and stores and returns how well each leg found their answers: the mean over the questions with its 95 % bootstrap interval. Legs: path, lexical and dense by their own ranks; fused, the hits of all three; expanded, the passages that search() returns. Measures: recall, the share of the gold characters covered by the first k; precision, the share of the returned characters that are gold; ndcg, with a gain for each hit that overlaps a gold span not found before; mrr, 1/rank of the first hit that overlaps gold; iou, gold found divided by returned plus gold missed. Queries are embedded as search() does it; where no model answers, the dense leg is skipped. Questions with a stale label are left out and counted.';

create or replace function grain._report(tenant uuid, evaluation_id bigint)
returns table (
    evaluation bigint,
    leg text,
    k integer,
    questions integer,
    stale integer,
    recall numeric,
    recall_95 numrange,
    "precision" numeric, -- noqa: RF06
    precision_95 numrange,
    ndcg numeric,
    ndcg_95 numrange,
    mrr numeric,
    mrr_95 numrange,
    iou numeric,
    iou_95 numrange
)
language plpgsql
stable
parallel safe
rows 15
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    with asked as materialized (
        select j.*, dense_rank() over (order by array_position(grain._legs(), j.leg), j.k) as place
        from grain.judgement as j
        where j.tenant_id = _report.tenant and j.evaluation_id = _report.evaluation_id
    ),

    measured as materialized (
        select b.measure / 5 + 1 as place, b.measure % 5 as measure, b.mean, b.low, b.high
        from (
            select
                array_agg(m.value order by a.question_id, a.place, m.number) as figures,
                (5 * max(a.place))::integer as width
            from asked as a
            cross join lateral unnest(array[a.recall, a.precision, a.ndcg, a.mrr, a.iou])
            with ordinality as m (value, number)
        ) as f
        cross join lateral grain._bootstrap(f.figures, f.width) as b
        where b.measure is not null
    ),

    tabled as (
        select
            m.place,
            array_agg(round(m.mean::numeric, 3) order by m.measure) as mean,
            array_agg(
                numrange(round(m.low::numeric, 3), round(m.high::numeric, 3), '[]') order by m.measure
            ) as interval_95
        from measured as m
        group by m.place
    )

    select
        e.evaluation_id, l.leg, n.k, coalesce(a.questions, 0)::integer, e.stale,
        t.mean[1], t.interval_95[1], t.mean[2], t.interval_95[2], t.mean[3], t.interval_95[3],
        t.mean[4], t.interval_95[4], t.mean[5], t.interval_95[5]
    from grain.evaluation as e
    cross join unnest(grain._legs()) with ordinality as l (leg, number)
    cross join unnest(e.k) as n (k)
    left join (
        select o.leg, o.k, o.place, count(*) as questions
        from asked as o
        group by o.leg, o.k, o.place
    ) as a on a.leg = l.leg and a.k = n.k
    left join tabled as t on t.place = a.place
    where e.tenant_id = _report.tenant and e.evaluation_id = _report.evaluation_id
    order by l.number, n.k;
end;
$$;

comment on function grain._report(uuid, bigint) is 'The table of one evaluation, from what each question got.';

create or replace function grain._legs()
returns text[]
language sql
immutable
parallel safe
return array['path', 'lexical', 'dense', 'fused', 'expanded'];

comment on function grain._legs() is 'The legs of a search, in the order in which they are told.';

create or replace function grain.report(id bigint, tenant text default null)
returns table (
    evaluation bigint,
    leg text,
    k integer,
    questions integer,
    stale integer,
    recall numeric,
    recall_95 numrange,
    "precision" numeric, -- noqa: RF06
    precision_95 numrange,
    ndcg numeric,
    ndcg_95 numrange,
    mrr numeric,
    mrr_95 numrange,
    iou numeric,
    iou_95 numrange
)
language plpgsql
stable
parallel restricted
rows 15
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid := grain._tenant(tenant);
begin
    return query
    select r.* from grain._report(this_tenant, grain._evaluation(this_tenant, id, false)) as r;
end;
$$;

comment on function grain.report(bigint, text) is 'The table that evaluate() returned, again. A leg that was skipped has no figures.';

create or replace function grain._evaluation(tenant uuid, id bigint, is_generation boolean)
returns bigint
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    found_one bigint;
begin
    select e.evaluation_id into found_one
    from grain.evaluation as e
    where e.tenant_id = tenant
        and case when is_generation then e.generation_id else e.evaluation_id end = id
    order by e.evaluation_id desc
    limit 1;
    if not found then
        raise exception 'there is no evaluation %', case when is_generation then 'of generation ' else '' end || coalesce(id::text, 'null')
            using errcode = '42704',
                detail = 'This tenant has none of that number.',
                hint = 'select evaluation_id, generation_id, rule, model, created_at from grain.evaluation order by 1;';
    end if;
    return found_one;
end;
$$;

comment on function grain._evaluation(uuid, bigint, boolean) is
'An evaluation of a tenant by its id, or the last one of a generation.';

create or replace function grain.compare(
    a bigint,
    b bigint,
    generations boolean default false,
    tenant text default null
)
returns table (
    leg text,
    k integer,
    metric text,
    questions integer,
    mean_a numeric,
    mean_b numeric,
    difference numeric,
    difference_95 numrange,
    verdict text,
    gained bigint[],
    lost bigint[]
)
language plpgsql
stable
parallel restricted
rows 75
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid := grain._tenant(tenant);
    one bigint := grain._evaluation(this_tenant, a, generations);
    two bigint := grain._evaluation(this_tenant, b, generations);
    unpaired bigint;
begin
    select count(*) into unpaired
    from (
        select j.question_id from grain.judgement as j
        where j.tenant_id = this_tenant and j.evaluation_id in (one, two)
        group by j.question_id
        having count(distinct j.evaluation_id) < 2
    ) as alone
    where one <> two;
    return query
    with pair as materialized (
        select
            x.question_id, x.leg, x.k,
            array[x.recall, x.precision, x.ndcg, x.mrr, x.iou] as was,
            array[y.recall, y.precision, y.ndcg, y.mrr, y.iou] as became,
            dense_rank() over (order by array_position(grain._legs(), x.leg), x.k) as place
        from grain.judgement as x
        inner join grain.judgement as y
            on y.tenant_id = this_tenant
                and y.evaluation_id = two
                and y.question_id = x.question_id
                and y.leg = x.leg
                and y.k = x.k
        where x.tenant_id = this_tenant and x.evaluation_id = one
    ),

    measured as (
        select
            s.measure / 5 + 1 as place, s.measure % 5 as measure,
            round(s.mean::numeric, 3) as mean, round(s.low::numeric, 3) as low, round(s.high::numeric, 3) as high,
            case when s.low > 0 then 'better' when s.high < 0 then 'worse' else 'no difference shown' end as verdict
        from (
            select
                array_agg(m.became - m.was order by p.question_id, p.place, m.number) as figures,
                (5 * max(p.place))::integer as width
            from pair as p
            cross join lateral unnest(p.was, p.became) with ordinality as m (was, became, number)
        ) as f
        cross join lateral grain._bootstrap(f.figures, f.width) as s
        where s.measure is not null
    ),

    means as (
        select
            p.leg, p.k, p.place, m.number, count(*)::integer as questions,
            round(avg(m.was)::numeric, 3) as mean_a, round(avg(m.became)::numeric, 3) as mean_b,
            -- Found or not is the same for every metric: it is told once, with recall.
            array_agg(p.question_id order by p.question_id)
                filter (where m.number = 1 and m.was = 0 and m.became > 0) as gained,
            array_agg(p.question_id order by p.question_id)
                filter (where m.number = 1 and m.was > 0 and m.became = 0) as lost
        from pair as p
        cross join lateral unnest(p.was, p.became) with ordinality as m (was, became, number)
        group by p.leg, p.k, p.place, m.number
    )

    select
        n.leg, n.k, (array['recall', 'precision', 'ndcg', 'mrr', 'iou'])[n.number], n.questions,
        n.mean_a, n.mean_b, s.mean, numrange(s.low, s.high, '[]'), s.verdict, n.gained, n.lost
    from means as n
    inner join measured as s on s.place = n.place and s.measure = n.number - 1
    order by n.place, n.number;
    if not found then
        raise exception 'the evaluations % and % have no question in common', one, two
            using errcode = '55000',
                detail = 'A leg of a question is compared with the same leg at the same k.',
                hint = format('select * from grain.evaluation where evaluation_id in (%s, %s);', one, two);
    end if;
    if unpaired > 0 then
        raise notice '% questions are in one of the two only and were left out', unpaired;
    end if;
end;
$$;

comment on function grain.compare(bigint, bigint, boolean, text) is
'What b has gained over a, two evaluations of one tenant (or, with generations => true, the last evaluations of two generations): the mean difference over the questions that both were asked, with its 95 % bootstrap interval. The verdict is better or worse only where the interval excludes 0; of many comparisons, one in twenty shows a difference by chance. gained and lost are the questions of which one found something within k and the other nothing.';

create or replace function grain.ann_recall(
    generation bigint,
    k integer default 10,
    tenant text default null,
    sample integer default 100
)
returns table (route text, asked integer, recall numeric, short integer)
language plpgsql
stable
parallel unsafe
rows 1
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    this_tenant uuid := grain._tenant(tenant);
    vectors name := grain._vector_schema();
    width integer;
    probe record;
    nearest double precision[];
    reached integer;
    right_ones integer;
    all_right bigint := 0;
    all_wanted bigint := 0;
begin
    if k is null or k not between 1 and 1000 then
        raise exception 'k is between 1 and 1000' using errcode = '22023', hint = 'k => 10';
    end if;
    if sample is null or sample not between 1 and 10000 then
        raise exception 'sample is between 1 and 10000' using errcode = '22023', hint = 'sample => 100';
    end if;
    select m.dimensions into width
    from grain.generation as g
    inner join grain.model as m on m.model_id = g.model_id
    where g.generation_id = ann_recall.generation;
    if not found then
        raise exception 'there is no generation %', generation
            using errcode = '42704', hint = 'select * from grain.progress;';
    end if;
    route := grain._vector_route(this_tenant, generation);
    asked := 0;
    short := 0;
    if route = 'exact' then
        recall := 1;
        return next;
        return;
    end if;
    -- A digest is as good as a random number, and the same vectors are asked each time.
    for probe in
        execute
            'select e.content_hash, e.embedding::text as embedding from grain.embedding as e'
            ' where e.tenant_id = $1 and e.generation_id = $2 order by e.content_hash limit $3'
        using this_tenant, generation, sample
    loop
        execute format(
            'select array_agg(n.distance order by n.distance) from ('
            ' select (e.embedding::%1$I.halfvec(%2$s) operator(%1$I.<=>) $1::%1$I.halfvec(%2$s)) + 0 as distance'
            ' from grain.embedding as e'
            ' where e.tenant_id = $2 and e.generation_id = $3 and e.content_hash <> $4'
            ' order by 1 limit $5) as n', vectors, width
        ) into nearest using probe.embedding, this_tenant, generation, probe.content_hash, k;
        select count(*), count(*) filter (where f.distance <= nearest[cardinality(nearest)])
        into reached, right_ones
        from (
            select v.distance
            from grain._vector_leg(
                this_tenant, generation, probe.embedding, width, null, grain._pool(k)
            ) as v
            where v.content_hash <> probe.content_hash
            order by v.distance
            limit k
        ) as f;
        asked := asked + 1;
        short := short + (reached < cardinality(nearest))::integer;
        all_right := all_right + right_ones;
        all_wanted := all_wanted + cardinality(nearest);
    end loop;
    recall := round(all_right::numeric / all_wanted, 4);
    return next;
end;
$$;

comment on function grain.ann_recall(bigint, integer, text, integer) is
'How much the vector index misses: for a sample of a tenant''s stored vectors, the share of their k nearest (themselves aside) that the dense leg of a search finds, against an exact scan under the same tenant predicate; short counts the answers with fewer than k. Where the tenant has few vectors, or no index was built, search scans exactly: route says so, recall is 1 and nothing is asked.';

create or replace function grain.explain_question(
    question bigint,
    k integer default 10,
    generation bigint default null,
    max_tokens integer default null,
    tenant text default null
)
returns table (
    query text,
    path text,
    span int4range,
    outcome text,
    detail text,
    ordinals integer[],
    path_rank integer,
    lexical_rank integer,
    dense_rank integer,
    fused_rank integer,
    passage_rank integer
)
language plpgsql
volatile
parallel unsafe
rows 1
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    this_tenant uuid := grain._tenant(explain_question.tenant);
    label record;
    judged record;
    vectors record;
begin
    if k is null or k not between 1 and 1000 then
        raise exception 'k is between 1 and 1000' using errcode = '22023', hint = 'k => 10';
    end if;
    select q.query, d.source_id, s.live_generation_id into label
    from grain.question as q
    inner join grain.document as d on d.tenant_id = this_tenant and d.document_id = q.document_id
    inner join grain.source as s on s.source_id = d.source_id
    where q.tenant_id = this_tenant and q.question_id = explain_question.question;
    if not found then
        raise exception 'there is no question %', explain_question.question
            using errcode = '42704',
                detail = 'This tenant has none of that number.',
                hint = 'select * from grain.questions();';
    end if;
    select j.* into judged
    from grain._judged_generation(
        this_tenant, null, coalesce(explain_question.generation, label.live_generation_id)
    ) as j;
    if judged.source_id <> label.source_id then
        raise exception 'generation % is of another source', judged.generation_id
            using errcode = '22023',
                detail = format('The question''s answer is in %s.', (
                    select s.name from grain.source as s where s.source_id = label.source_id
                )),
                hint = format('select * from grain.explain_question(%s);', explain_question.question);
    end if;
    select v.* into vectors
    from grain._query_vectors(this_tenant, label.query, null, array[judged.generation_id]) as v;
    if vectors.degraded is not null then
        raise notice 'the dense leg was skipped: %', vectors.degraded;
    end if;
    return query
    with hit as materialized (
        select
            h.document_id, h.ordinal, h.path_rank, h.lexical_rank, h.dense_rank,
            row_number() over (
                order by h.score desc, h.dense_rank nulls last, h.lexical_rank nulls last,
                h.document_id, h.ordinal
            )::integer as fused_rank
        from grain._hits(
            this_tenant, label.query, array[judged.generation_id], vectors.model_ids, vectors.embeddings,
            null, 'hybrid', grain._pool(explain_question.k)
        ) as h
    ),

    passage as materialized (
        select p.document_id, p.span, p.rank, p.token_count
        from grain._passages(
            this_tenant, label.query, array[judged.generation_id], vectors.model_ids, vectors.embeddings,
            explain_question.k, null, null, 1, null, 'hybrid', null
        ) as p
    ),

    kept as materialized (
        select p.rank
        from grain._passages(
            this_tenant, label.query, array[judged.generation_id], vectors.model_ids, vectors.embeddings,
            explain_question.k, null, null, 1, explain_question.max_tokens, 'hybrid', null
        ) as p
        where explain_question.max_tokens is not null
    ),

    traced as (
        select
            l.question_id, l.query, coalesce(d.path, judged.source_name || '/' || d.key) as path, l.span, l.state,
            c.ordinals, c.path_rank, c.lexical_rank, c.dense_rank, c.fused_rank, p.rank as passage_rank,
            explain_question.max_tokens is null or p.rank in (select kept.rank from kept) as is_kept
        from grain._labels(this_tenant, label.source_id) as l
        inner join grain.document as d on d.tenant_id = this_tenant and d.document_id = l.document_id
        cross join lateral (
            select
                array_agg(o.ordinal order by o.ordinal) as ordinals, min(h.path_rank) as path_rank,
                min(h.lexical_rank) as lexical_rank, min(h.dense_rank) as dense_rank,
                min(h.fused_rank) as fused_rank
            from grain.chunk as o
            left join hit as h on h.document_id = o.document_id and h.ordinal = o.ordinal
            where o.tenant_id = this_tenant
                and o.generation_id = judged.generation_id
                and o.document_id = l.document_id
                and int4range(o.span_start, o.span_end) && l.span
        ) as c
        cross join lateral (
            select min(w.rank) as rank from passage as w
            where w.document_id = l.document_id and w.span && l.span
        ) as p
        where l.query = label.query
    ),

    told as (
        select
            t.*,
            case
                when t.state = 'stale' then 'stale'
                when t.passage_rank is not null and t.is_kept then 'found'
                when t.passage_rank is not null then 'cut by the cap'
                when t.ordinals is null then 'in no chunk'
                when t.fused_rank is null then 'in no pool'
                else 'ranked too low'
            end as outcome
        from traced as t
    )

    select
        t.query, t.path, t.span, t.outcome,
        case t.outcome
            when 'stale' then 'The document no longer has the quote: label it anew.'
            when 'found' then format('It is in passage %s.', t.passage_rank)
            when 'cut by the cap' then format(
                'It is in passage %s, and the passages before it fill max_tokens => %s.',
                t.passage_rank, explain_question.max_tokens
            )
            when 'in no chunk' then 'No chunk overlaps it: it is a heading, hidden by the format, or not yet cut.'
            when 'in no pool' then format(
                'No leg has its chunk among its first %s%s.', grain._pool(explain_question.k),
                case when vectors.degraded is not null then ', and the dense leg was skipped' else '' end
            )
            else format('Its best chunk is hit %s; k => %s passages end before it.', t.fused_rank, explain_question.k)
        end,
        t.ordinals, t.path_rank, t.lexical_rank, t.dense_rank, t.fused_rank, t.passage_rank
    from told as t
    order by t.question_id;
end;
$$;

comment on function grain.explain_question(bigint, integer, bigint, integer, text) is
'Where a search for k passages loses an answer: one row for each label of the question. outcome: found; in no chunk; in no pool, when it is in a chunk that no leg brings up; ranked too low; cut by the cap (max_tokens); or stale. ordinals are the chunks that overlap the answer; the ranks are the best of theirs.';
