-- The tables. "@vector@" stands for the schema in which pgvector lives, "@trgm@" for pg_trgm's.
-- Every key of a table that tenants own starts with tenant_id: it is a wall, a partition key and,
-- on Citus, the distribution column. model, rule, source and generation are reference tables.

create table grain.model (
    model_id bigint generated always as identity primary key,
    name text not null,
    provider text not null,
    endpoint text,
    api_key_env text,
    dimensions integer not null,
    send_dimensions boolean not null default false,
    tokenizer text not null default 'cl100k_base',
    max_input_tokens integer not null default 8192,
    max_batch_items integer not null default 2048,
    max_batch_tokens integer not null default 300000,
    distance text not null default 'cosine',
    index_kind text not null default 'halfvec',
    price numeric,
    is_default boolean not null default false,
    created_at timestamptz not null default now(),
    constraint model_name_is_unique unique (name),
    constraint model_provider_is_known check (provider in ('openai', 'local')),
    constraint model_dimensions_are_storable check (dimensions between 1 and 4000),
    constraint model_limits_are_positive
    check (max_input_tokens > 0 and max_batch_items > 0 and max_batch_tokens >= max_input_tokens),
    constraint model_distance_is_known check (distance = 'cosine'),
    constraint model_index_kind_is_known check (index_kind in ('halfvec', 'bit')),
    constraint model_key_is_named_not_stored check (api_key_env ~ '^[A-Z][A-Z0-9_]*_API_KEY$'),
    constraint model_endpoint_is_http check (endpoint ~ '^https?://[^[:space:]]+$'),
    constraint model_price_is_not_negative check (price >= 0)
);

create unique index model_one_default on grain.model (is_default) where is_default;

comment on table grain.model is
'An embedding model: whom to ask, how wide its vectors are and what one request may hold. The API key is named, never stored.';
comment on column grain.model.model_id is 'Identifier.';
comment on column grain.model.name is 'The name that the provider knows the model by.';
comment on column grain.model.provider is
'Who makes the vectors: ''openai'' for any endpoint that speaks the OpenAI protocol, ''local'' for the model that ships with the loader.';
comment on column grain.model.endpoint is
'Base URL of the endpoint, such as https://host/v1; null means OPENAI_BASE_URL, else the provider''s own.';
comment on column grain.model.api_key_env is
'Name of the environment variable that holds the API key, in the loader''s and in the server''s environment. It must end in _API_KEY.';
comment on column grain.model.dimensions is 'Width of the vectors.';
comment on column grain.model.send_dimensions is
'Whether the request names the dimensions, for models that can shorten their vectors.';
comment on column grain.model.tokenizer is 'The tokenizer that counts its input.';
comment on column grain.model.max_input_tokens is 'The longest input, in tokens.';
comment on column grain.model.max_batch_items is 'The most inputs in one request.';
comment on column grain.model.max_batch_tokens is 'The most tokens in one request.';
comment on column grain.model.distance is 'The distance between vectors.';
comment on column grain.model.index_kind is
'What the vector index holds: half-precision vectors, or bits with an exact re-rank.';
comment on column grain.model.price is 'Price of a million tokens, in the currency of your bill; null where unknown.';
comment on column grain.model.is_default is 'Whether track() takes this model when none is named.';
comment on column grain.model.created_at is 'When the model was declared.';

create table grain.rule (
    rule_id bigint generated always as identity primary key,
    name text not null,
    splitter text not null,
    unit text not null,
    size integer not null,
    overlap integer not null default 0,
    prefix text not null default '',
    tokenizer text not null default 'cl100k_base',
    options jsonb not null default '{}',
    reason text not null,
    created_at timestamptz not null default now(),
    constraint rule_name_is_unique unique (name),
    constraint rule_content_is_unique unique (splitter, unit, size, overlap, prefix, tokenizer, options),
    constraint rule_splitter_is_known check (splitter in ('window', 'prose')),
    constraint rule_unit_is_known check (unit in ('tokens', 'characters', 'words', 'bytes')),
    constraint rule_size_is_positive check (size between 1 and 100000),
    constraint rule_overlap_is_below_size check (overlap >= 0 and overlap < size),
    constraint rule_prefix_is_short check (char_length(prefix) <= 1000),
    constraint rule_options_are_an_object check (jsonb_typeof(options) = 'object'),
    constraint rule_has_a_reason check (reason ~ '[^[:space:]]')
);

comment on table grain.rule is
'A chunk rule: the grain of an index. A rule is never updated; a changed rule is a new rule.';
comment on column grain.rule.rule_id is 'Identifier.';
comment on column grain.rule.name is 'The name that track() and chunk() know the rule by.';
comment on column grain.rule.splitter is
'How text is cut: ''window'' slides a window, ''prose'' follows headings, paragraphs and sentences.';
comment on column grain.rule.unit is 'What size and overlap count: tokens, characters, words or bytes.';
comment on column grain.rule.size is 'The most that the prefix and the content of a chunk may hold, in units.';
comment on column grain.rule.overlap is
'How much of a chunk the next one repeats, in units: always for ''window'', inside a section larger than the size for ''prose''.';
comment on column grain.rule.prefix is
'Template of the text that is embedded before the content; {title}, {path} and {section} are filled in.';
comment on column grain.rule.tokenizer is 'The tokenizer that counts tokens.';
comment on column grain.rule.options is 'Further options: ''expand'' is how search() widens a hit when the caller does not say.';
comment on column grain.rule.reason is 'Why this grain.';
comment on column grain.rule.created_at is 'When the rule was stored.';

create trigger rule_is_never_updated before update on grain.rule
for each row execute function grain._refuse_update();
comment on trigger rule_is_never_updated on grain.rule is 'A changed rule is a new rule.';

create table grain.source (
    source_id bigint generated always as identity primary key,
    name text not null,
    owner text not null,
    key_columns text[] not null,
    content_column text not null,
    tenant_column text,
    path_column text,
    title_column text,
    format_column text,
    mode text not null default 'inline',
    language text not null,
    tenant_partitions integer not null default 1,
    live_generation_id bigint,
    created_at timestamptz not null default now(),
    constraint source_name_is_unique unique (name),
    constraint source_has_a_key check (cardinality(key_columns) > 0),
    constraint source_mode_is_known check (mode in ('inline', 'queued')),
    constraint source_tenant_partitions_are_few check (tenant_partitions between 1 and 256)
);

comment on table grain.source is 'A tracked table and the map of its columns.';
comment on column grain.source.source_id is 'Identifier; the triggers of the tracked table carry it.';
comment on column grain.source.name is 'The tracked table, qualified and quoted.';
comment on column grain.source.owner is 'The role that owned the table when it was tracked.';
comment on column grain.source.key_columns is 'The columns that, within a tenant, name a row.';
comment on column grain.source.content_column is 'The column that holds the text.';
comment on column grain.source.tenant_column is 'The column that names the tenant; null means the default tenant.';
comment on column grain.source.path_column is 'The column that holds the path; null where there is none.';
comment on column grain.source.title_column is 'The column that holds the title; null where there is none.';
comment on column grain.source.format_column is
'The column that names the format; null means by the path''s ending, else by looking.';
comment on column grain.source.mode is
'''inline'': the trigger splits the text; ''queued'': the trigger writes a chunk job and a worker splits it.';
comment on column grain.source.language is 'The text-search configuration of its text.';
comment on column grain.source.tenant_partitions is
'Into how many leaves the vectors of a generation are hashed by tenant.';
comment on column grain.source.live_generation_id is 'The generation that search() reads.';
comment on column grain.source.created_at is 'When the table was first tracked.';

create table grain.generation (
    generation_id bigint generated always as identity primary key,
    source_id bigint not null references grain.source on delete cascade,
    rule_id bigint not null references grain.rule on delete restrict,
    model_id bigint not null references grain.model on delete restrict,
    state text not null default 'building',
    created_at timestamptz not null default now(),
    ready_at timestamptz,
    live_at timestamptz,
    retired_at timestamptz,
    constraint generation_state_is_known check (state in ('building', 'ready', 'live', 'retired'))
);

create unique index generation_one_live on grain.generation (source_id) where state = 'live';
create index generation_source on grain.generation (source_id);
create index generation_model on grain.generation (model_id);

alter table grain.source add constraint source_live_generation_exists
foreign key (live_generation_id) references grain.generation on delete restrict;

comment on table grain.generation is
'One source, chunked by one rule and embedded by one model: building, then ready, then live, then retired; one live per source.';
comment on column grain.generation.generation_id is 'Identifier; it names the partitions of chunk and embedding.';
comment on column grain.generation.source_id is 'The source.';
comment on column grain.generation.rule_id is 'The rule that cuts it.';
comment on column grain.generation.model_id is 'The model that embeds it.';
comment on column grain.generation.state is 'building, ready, live or retired.';
comment on column grain.generation.created_at is 'When it was begun.';
comment on column grain.generation.ready_at is 'When every document was chunked and every chunk embedded.';
comment on column grain.generation.live_at is 'When readers were given it.';
comment on column grain.generation.retired_at is 'When readers were given another.';

create table grain.document (
    tenant_id uuid not null,
    document_id uuid not null default gen_random_uuid(),
    source_id bigint not null references grain.source on delete cascade,
    key text not null,
    path text,
    title text,
    format text,
    body_hash bytea not null,
    error text,
    updated_at timestamptz not null default now(),
    primary key (tenant_id, document_id),
    constraint document_key_is_unique unique (tenant_id, source_id, key),
    constraint document_body_hash_is_sha256 check (octet_length(body_hash) = 32)
);

create index document_path on grain.document using gin (tenant_id, path "@trgm@".gin_trgm_ops);
create index document_source on grain.document (source_id);

comment on table grain.document is
'The registry of what is chunked: one row for each row of a tracked table. Deleting one retracts its chunks.';
comment on column grain.document.tenant_id is 'The tenant that owns the document.';
comment on column grain.document.document_id is 'Identifier.';
comment on column grain.document.source_id is 'The source that it stands in.';
comment on column grain.document.key is 'The key of its row: the value itself, or a JSON array for a key of several columns.';
comment on column grain.document.path is 'Its path.';
comment on column grain.document.title is 'Its title.';
comment on column grain.document.format is 'The format that its row names; null means by the path''s ending, else by looking.';
comment on column grain.document.body_hash is 'Digest of all that its chunks depend on: content, format, path and title.';
comment on column grain.document.error is 'Why it was cut as plain windows instead of by its rule; null when all is well.';
comment on column grain.document.updated_at is 'When any of that last changed.';

create table grain.chunk (
    tenant_id uuid not null,
    generation_id bigint not null,
    document_id uuid not null,
    ordinal integer not null,
    section_path text[] not null default '{}',
    section integer not null,
    span_start integer not null,
    span_end integer not null,
    first_line integer not null,
    last_line integer not null,
    lead text not null default '',
    prefix text not null default '',
    context text,
    content text not null,
    token_count integer,
    content_hash bytea not null,
    tsv tsvector not null,
    updated_at timestamptz not null default now(),
    primary key (tenant_id, document_id, generation_id, ordinal),
    foreign key (tenant_id, document_id) references grain.document on delete cascade,
    constraint chunk_ordinal_is_not_negative check (ordinal >= 0 and section >= 0),
    constraint chunk_span_is_not_empty check (span_start >= 0 and span_end > span_start),
    constraint chunk_lines_are_in_order check (first_line >= 1 and last_line >= first_line),
    constraint chunk_content_is_not_empty check (content <> ''),
    constraint chunk_content_hash_is_sha256 check (octet_length(content_hash) = 32)
) partition by list (generation_id);

create index chunk_content_hash on grain.chunk (tenant_id, content_hash);
create index chunk_tsv on grain.chunk using gin (tenant_id, tsv);

comment on table grain.chunk is 'A chunk: a span of a document. Partitioned by generation.';
comment on column grain.chunk.tenant_id is 'The tenant that owns the document.';
comment on column grain.chunk.generation_id is 'The generation that cut it.';
comment on column grain.chunk.document_id is 'The document.';
comment on column grain.chunk.ordinal is 'Its place among the document''s chunks, from 0.';
comment on column grain.chunk.section_path is 'The headings that it stands under, outermost first.';
comment on column grain.chunk.section is
'Which occurrence of a heading path it stands under, counted through the document: two sections of one name differ here.';
comment on column grain.chunk.span_start is 'Offset of its first character in the document, from 0.';
comment on column grain.chunk.span_end is 'Offset after its last character.';
comment on column grain.chunk.first_line is 'Its first line, from 1.';
comment on column grain.chunk.last_line is 'Its last line.';
comment on column grain.chunk.lead is
'What stands between the chunk before and this one: blank lines and headings, so that neighbours join to the source''s own text.';
comment on column grain.chunk.prefix is 'What is embedded before the content, from the rule''s template.';
comment on column grain.chunk.context is 'An optional sentence that says where the chunk belongs; embedded between prefix and content.';
comment on column grain.chunk.content is 'Its text, character for character as the document has it.';
comment on column grain.chunk.token_count is
'Tokens of the content by the rule''s tokenizer; null where its vocabulary is not installed.';
comment on column grain.chunk.content_hash is 'Digest of the exact text that is embedded: prefix, context and content.';
comment on column grain.chunk.tsv is 'Its words, by the source''s text-search configuration; title and headings weigh more.';
comment on column grain.chunk.updated_at is 'When the row was last written.';

create table grain.embedding (
    tenant_id uuid not null,
    generation_id bigint not null,
    content_hash bytea not null,
    embedding "@vector@".halfvec not null,
    primary key (tenant_id, generation_id, content_hash)
) partition by list (generation_id);

comment on table grain.embedding is
'Vectors, addressed by what they are made of: the digest of the embedded text. Partitioned by generation and below that by tenant.';
comment on column grain.embedding.tenant_id is 'The tenant that paid for it.';
comment on column grain.embedding.generation_id is 'The generation that it serves.';
comment on column grain.embedding.content_hash is 'Digest of the embedded text; chunk has the same.';
comment on column grain.embedding.embedding is 'The vector.';

create table grain.job (
    tenant_id uuid not null,
    job_id bigint generated always as identity,
    kind text not null,
    source_id bigint,
    key text,
    model_id bigint,
    content_hash bytea,
    priority smallint not null default 0,
    run_at timestamptz not null default now(),
    attempts integer not null default 0,
    worker text,
    lease_until timestamptz,
    error_class text,
    error text,
    created_at timestamptz not null default now(),
    primary key (tenant_id, job_id),
    constraint job_names_what_it_is_for check (
        case kind
            when 'chunk' then source_id is not null and key is not null
            when 'embed' then model_id is not null and content_hash is not null
            when 'context' then content_hash is not null
            else false
        end
    ),
    constraint job_lease_has_a_worker check ((lease_until is null) = (worker is null)),
    constraint job_error_class_is_known check (error_class in (
        'record-temporary', 'record-permanent', 'pipeline-temporary', 'pipeline-permanent'
    ))
);

create unique index job_one_waiting_chunk on grain.job (tenant_id, source_id, key)
where kind = 'chunk' and lease_until is null;
create index job_embed on grain.job (tenant_id, model_id, content_hash) where kind = 'embed';
create index job_due on grain.job (priority desc, run_at, tenant_id);
create index job_due_by_tenant on grain.job (tenant_id, priority desc, run_at, job_id);

comment on table grain.job is
'Work that waits: to cut a document (chunk), to embed a text (embed), to describe a chunk (context). A row is due when run_at has passed; a lease moves run_at on, and ''infinity'' parks it.';
comment on column grain.job.tenant_id is 'The tenant that the work is for.';
comment on column grain.job.job_id is 'Identifier.';
comment on column grain.job.kind is 'chunk, embed or context.';
comment on column grain.job.source_id is 'Whose document is to be cut, for kind chunk.';
comment on column grain.job.key is 'Key of the document to be cut, for kind chunk.';
comment on column grain.job.model_id is 'The model to ask, for kind embed: generations of one model share the job.';
comment on column grain.job.content_hash is 'Digest of the text to embed.';
comment on column grain.job.priority is 'Higher goes first: 0 for a person''s edit, below 0 for a backfill.';
comment on column grain.job.run_at is 'When it is due; ''infinity'' when it has failed for good.';
comment on column grain.job.attempts is 'How often it was taken up.';
comment on column grain.job.worker is 'Who holds the lease.';
comment on column grain.job.lease_until is 'When the lease ends; null when nobody holds it.';
comment on column grain.job.error_class is
'The last failure: of this record or of the whole pipeline, temporary or permanent.';
comment on column grain.job.error is 'Message of the last failure.';
comment on column grain.job.created_at is 'When it was queued.';

create table grain.question (
    tenant_id uuid not null,
    question_id bigint generated always as identity,
    query text not null,
    document_id uuid not null,
    span_start integer not null,
    span_end integer not null,
    quote text not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, question_id),
    foreign key (tenant_id, document_id) references grain.document on delete cascade,
    constraint question_label_is_unique unique (tenant_id, query, document_id, span_start, span_end),
    constraint question_span_is_not_empty check (span_start >= 0 and span_end > span_start)
);

comment on table grain.question is
'A labelled question: a query and a span of a document that answers it. A query with several answers has several rows.';
comment on column grain.question.tenant_id is 'The tenant that asks.';
comment on column grain.question.question_id is 'Identifier.';
comment on column grain.question.query is 'The query, as a person would type it.';
comment on column grain.question.document_id is 'The document that answers it.';
comment on column grain.question.span_start is 'Offset of the answer''s first character.';
comment on column grain.question.span_end is 'Offset after its last character.';
comment on column grain.question.quote is 'The answer''s text, to find it again after an edit.';
comment on column grain.question.created_at is 'When the question was added.';

create table grain.evaluation (
    tenant_id uuid not null,
    evaluation_id bigint generated always as identity,
    generation_id bigint not null,
    leg text not null,
    k integer not null,
    questions integer not null,
    metrics jsonb not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, evaluation_id),
    constraint evaluation_k_is_positive check (k > 0),
    constraint evaluation_metrics_are_an_object check (jsonb_typeof(metrics) = 'object')
);

comment on table grain.evaluation is 'What a generation reached on a tenant''s questions.';
comment on column grain.evaluation.tenant_id is 'The tenant whose questions were asked.';
comment on column grain.evaluation.evaluation_id is 'Identifier.';
comment on column grain.evaluation.generation_id is 'The generation that was judged.';
comment on column grain.evaluation.leg is 'The leg of search() that was judged: path, lexical, dense, fused or expanded.';
comment on column grain.evaluation.k is 'How many hits were looked at.';
comment on column grain.evaluation.questions is 'How many questions were asked.';
comment on column grain.evaluation.metrics is 'recall, ndcg, mrr and what else was measured, by name.';
comment on column grain.evaluation.created_at is 'When it was judged.';

create table grain.vocabulary (
    name text primary key,
    data bytea not null,
    added_at timestamptz not null default now()
);

-- Read once a session: unpacking it would take longer than reading it.
alter table grain.vocabulary alter column data set storage external;

comment on table grain.vocabulary is
'Vocabularies of tokenizers, packed by `pg-grain tokenizer add`. Only grain_owner and a superuser may write here.';
comment on column grain.vocabulary.name is 'Name of the tokenizer.';
comment on column grain.vocabulary.data is 'The packed vocabulary.';
comment on column grain.vocabulary.added_at is 'When it was added.';
