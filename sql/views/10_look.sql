-- Views: each runs with the rights of its reader, behind the tenant policies.

create or replace view grain.doc_chunks with (security_invoker = true) as
select
    c.tenant_id,
    c.document_id,
    c.ordinal,
    c.section_path,
    c.content_hash,
    m.name as embedding_model,
    c.updated_at,
    c.content,
    e.embedding
from grain.source as s
inner join grain.generation as g on g.generation_id = s.live_generation_id
inner join grain.model as m on m.model_id = g.model_id
inner join grain.chunk as c on c.generation_id = g.generation_id
left join grain.embedding as e
    on
        e.tenant_id = c.tenant_id
        and e.generation_id = c.generation_id
        and e.content_hash = c.content_hash;

comment on view grain.doc_chunks is
'Chunks with their vectors, as one table: what the live generations hold for the tenant in force.';
comment on column grain.doc_chunks.tenant_id is 'The tenant.';
comment on column grain.doc_chunks.document_id is 'The document.';
comment on column grain.doc_chunks.ordinal is 'The chunk''s place in it, from 0.';
comment on column grain.doc_chunks.section_path is 'The headings that it stands under.';
comment on column grain.doc_chunks.content_hash is 'Digest of the embedded text.';
comment on column grain.doc_chunks.embedding_model is 'The model that embeds it.';
comment on column grain.doc_chunks.updated_at is 'When the chunk was last written.';
comment on column grain.doc_chunks.content is 'Its text.';
comment on column grain.doc_chunks.embedding is 'Its vector; null until the worker has filled it.';

create or replace view grain.embeddings with (security_invoker = true) as
select
    c.document_id || ':' || c.ordinal as id,
    c.document_id,
    c.ordinal as chunk_index,
    c.content as chunk_text,
    e.embedding,
    jsonb_build_object(
        'title', d.title,
        'file_path', d.path,
        'chunk_index', c.ordinal,
        'total_chunks', count(*) over (partition by c.tenant_id, c.generation_id, c.document_id)
    ) as metadata
from grain.source as s
inner join grain.chunk as c on c.generation_id = s.live_generation_id
inner join grain.document as d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
left join grain.embedding as e
    on
        e.tenant_id = c.tenant_id
        and e.generation_id = c.generation_id
        and e.content_hash = c.content_hash;

comment on view grain.embeddings is
'The textbook''s table of embeddings: what the live generations hold for the tenant in force.';
comment on column grain.embeddings.id is 'The document''s id and the chunk''s place in it.';
comment on column grain.embeddings.document_id is 'The document.';
comment on column grain.embeddings.chunk_index is 'The chunk''s place in it, from 0.';
comment on column grain.embeddings.chunk_text is 'Its text.';
comment on column grain.embeddings.embedding is 'Its vector; null until the worker has filled it.';
comment on column grain.embeddings.metadata is 'title, file_path, chunk_index and total_chunks.';

create or replace view grain.status with (security_invoker = true) as
select
    s.name as source,
    d.tenant_id,
    r.name as rule,
    m.name as model,
    s.mode,
    d.documents,
    coalesce(c.chunks, 0) as chunks,
    coalesce(c.embedded, 0) as embedded,
    coalesce(c.chunks, 0) - coalesce(c.embedded, 0) - coalesce(c.failed, 0) as pending,
    coalesce(c.failed, 0) + d.failed as failed,
    d.updated_at as last_change
from grain.source as s
inner join grain.generation as g on g.generation_id = s.live_generation_id
inner join grain.rule as r on r.rule_id = g.rule_id
inner join grain.model as m on m.model_id = g.model_id
left join lateral (
    select
        o.tenant_id,
        count(*) as documents,
        count(o.error) as failed,
        max(o.updated_at) as updated_at
    from grain.document as o
    where o.source_id = s.source_id
    group by o.tenant_id
) as d on true
left join lateral (
    select
        count(*) as chunks,
        count(e.content_hash) as embedded,
        count(*) filter (where e.content_hash is null and exists (
            select from grain.job as j
            where
                j.tenant_id = k.tenant_id and j.kind = 'embed' and j.model_id = g.model_id
                and j.content_hash = k.content_hash and j.run_at = 'infinity'
        )) as failed
    from grain.chunk as k
    left join grain.embedding as e
        on
            e.tenant_id = k.tenant_id
            and e.generation_id = k.generation_id
            and e.content_hash = k.content_hash
    where k.tenant_id = d.tenant_id and k.generation_id = g.generation_id
) as c on true;

comment on view grain.status is 'How far each source is, counted now: documents, chunks, vectors, and what waits or has failed.';
comment on column grain.status.source is 'The tracked table.';
comment on column grain.status.tenant_id is 'The tenant; null while the table has no documents.';
comment on column grain.status.rule is 'The rule of the live generation.';
comment on column grain.status.model is 'The model of the live generation.';
comment on column grain.status.mode is 'inline or queued.';
comment on column grain.status.documents is 'Documents.';
comment on column grain.status.chunks is 'Chunks.';
comment on column grain.status.embedded is 'Chunks that have their vector.';
comment on column grain.status.pending is 'Chunks that wait for it.';
comment on column grain.status.failed is 'Chunks whose job is parked, and documents that their rule''s splitter could not cut.';
comment on column grain.status.last_change is 'When a document last changed.';

create or replace view grain.errors with (security_invoker = true) as
select
    j.tenant_id,
    j.job_id,
    j.kind,
    coalesce(s.name, used.source) as source,
    coalesce(j.key, used.key) as key,
    m.name as model,
    j.attempts,
    j.error_class,
    j.error,
    j.run_at = 'infinity' as parked,
    nullif(j.run_at, 'infinity') as next_try,
    j.created_at
from grain.job as j
left join grain.source as s on s.source_id = j.source_id
left join grain.model as m on m.model_id = j.model_id
left join lateral (
    select
        src.name as source,
        d.key
    from grain.chunk as c
    inner join grain.document as d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
    inner join grain.source as src on src.source_id = d.source_id
    where c.tenant_id = j.tenant_id and c.content_hash = j.content_hash
    limit 1
) as used on true
where j.error is not null
union all
select
    d.tenant_id,
    null,
    'split',
    s.name,
    d.key,
    null,
    1,
    'record-permanent',
    d.error,
    true,
    null,
    d.updated_at
from grain.document as d
inner join grain.source as s on s.source_id = d.source_id
where d.error is not null;

comment on view grain.errors is 'What has failed and why; retry() makes it due again.';
comment on column grain.errors.tenant_id is 'The tenant.';
comment on column grain.errors.job_id is 'The job; null for a document that was cut as plain windows.';
comment on column grain.errors.kind is 'chunk, embed or context; split for a document that its splitter could not cut.';
comment on column grain.errors.source is 'The tracked table.';
comment on column grain.errors.key is 'Key of a document that it concerns.';
comment on column grain.errors.model is 'The model that was asked.';
comment on column grain.errors.attempts is 'How often it was tried.';
comment on column grain.errors.error_class is 'Of this record or of the whole pipeline, temporary or permanent.';
comment on column grain.errors.error is 'What was said.';
comment on column grain.errors.parked is 'Whether it waits for retry().';
comment on column grain.errors.next_try is 'When it is tried again by itself.';
comment on column grain.errors.created_at is 'Since when.';

create or replace view grain.progress with (security_invoker = true) as
select
    s.name as source,
    g.generation_id,
    g.state,
    r.name as rule,
    m.name as model,
    count(c.content_hash) as chunks,
    count(e.content_hash) as embedded,
    round(100.0 * count(e.content_hash) / nullif(count(c.content_hash), 0), 1) as percent
from grain.generation as g
inner join grain.source as s on s.source_id = g.source_id
inner join grain.rule as r on r.rule_id = g.rule_id
inner join grain.model as m on m.model_id = g.model_id
left join grain.chunk as c on c.generation_id = g.generation_id
left join grain.embedding as e
    on
        e.tenant_id = c.tenant_id
        and e.generation_id = c.generation_id
        and e.content_hash = c.content_hash
group by s.name, g.generation_id, g.state, r.name, m.name;

comment on view grain.progress is 'How much of each generation has its vectors, for the tenant in force.';
comment on column grain.progress.source is 'The tracked table.';
comment on column grain.progress.generation_id is 'The generation.';
comment on column grain.progress.state is 'building, ready, live or retired.';
comment on column grain.progress.rule is 'Its rule.';
comment on column grain.progress.model is 'Its model.';
comment on column grain.progress.chunks is 'Its chunks.';
comment on column grain.progress.embedded is 'Chunks that have their vector.';
comment on column grain.progress.percent is 'The share of them, in percent; null while there are no chunks.';

grant select on grain.doc_chunks, grain.embeddings, grain.status, grain.errors, grain.progress to grain_reader;
