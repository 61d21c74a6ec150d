-- Evaluations: one row a run, and what each question got. Nothing wrote evaluations before.

alter table grain.question add constraint question_query_is_not_blank check (query ~ '[^[:space:]]');
create index question_document on grain.question (tenant_id, document_id);
comment on table grain.question is
'A labelled question: a query and a span of a document that answers it. A query with several answers has several rows; its id is the smallest of theirs. Labels go with their document, and stand through every re-chunk.';
comment on column grain.question.span_start is 'Offset of the answer''s first character, in the document as it was labelled.';
comment on column grain.question.quote is
'The answer''s text, character for character: after an edit of the document the answer is where this text is.';

delete from grain.evaluation;
alter table grain.evaluation drop column leg;
alter table grain.evaluation drop column k;
alter table grain.evaluation drop column metrics;
alter table grain.evaluation add column source text not null;
alter table grain.evaluation add column rule text not null;
alter table grain.evaluation add column model text not null;
alter table grain.evaluation add column k integer[] not null;
alter table grain.evaluation add column max_tokens integer;
alter table grain.evaluation add column stale integer not null;
alter table grain.evaluation add column degraded text;
alter table grain.evaluation add constraint evaluation_k_is_positive check (0 < all(k) and cardinality(k) > 0);
create index evaluation_generation on grain.evaluation (tenant_id, generation_id, evaluation_id);

comment on table grain.evaluation is
'One run of evaluate(): a tenant''s questions, asked of one generation. It outlives the generation.';
comment on column grain.evaluation.source is 'The source of the generation.';
comment on column grain.evaluation.rule is 'The rule that cut it.';
comment on column grain.evaluation.model is 'The model that embedded it.';
comment on column grain.evaluation.k is 'How many hits were looked at: each number by itself.';
comment on column grain.evaluation.max_tokens is 'The cap of the expanded leg, as in search(); null means none.';
comment on column grain.evaluation.stale is
'Questions that were left out, since the quote of a label is no longer in its document.';
comment on column grain.evaluation.degraded is 'Why no vector was asked for; null where the dense leg was judged.';

create table grain.judgement (
    tenant_id uuid not null,
    evaluation_id bigint not null,
    question_id bigint not null,
    leg text not null,
    k integer not null,
    recall double precision not null,
    precision double precision not null,
    ndcg double precision not null,
    mrr double precision not null,
    iou double precision not null,
    primary key (tenant_id, evaluation_id, question_id, leg, k),
    foreign key (tenant_id, evaluation_id) references grain.evaluation on delete cascade,
    constraint judgement_leg_is_known check (leg in ('path', 'lexical', 'dense', 'fused', 'expanded')),
    constraint judgement_k_is_positive check (k > 0),
    constraint judgement_is_a_share check (
        least(recall, precision, ndcg, mrr, iou) >= 0 and greatest(recall, precision, ndcg, mrr, iou) <= 1
    )
);

comment on table grain.judgement is
'What one question got in an evaluation, leg by leg. Characters are counted in the documents as they stand in their table, by the spans of the hits. It holds numbers only: no text of a question or a document.';
comment on column grain.judgement.tenant_id is 'The tenant that asked.';
comment on column grain.judgement.evaluation_id is 'The evaluation.';
comment on column grain.judgement.question_id is 'The question: the smallest id of its labels at that time.';
comment on column grain.judgement.leg is
'path, lexical or dense: one leg''s own ranking; fused: the hits of all three; expanded: the passages that search() returns.';
comment on column grain.judgement.k is 'How many hits were looked at.';
comment on column grain.judgement.recall is 'The share of the gold characters that the first k hits cover.';
comment on column grain.judgement.precision is
'The share of the characters in the first k hits that are gold. A character that two hits return counts twice as returned and once as gold.';
comment on column grain.judgement.ndcg is
'Normalised discounted cumulative gain: a hit gains 1/log2(1 + rank) if it overlaps a gold span that no hit before it overlaps; divided by the gain if the first hits found one gold span each.';
comment on column grain.judgement.mrr is 'Reciprocal rank: 1/rank of the first hit that overlaps gold; 0 if none of the first k does.';
comment on column grain.judgement.iou is
'Intersection over union: gold characters found, divided by the characters returned and the gold characters missed.';

alter table grain.judgement enable row level security;
create policy tenant on grain.judgement for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));
create policy every_tenant on grain.judgement for select to grain_admin using (true);
grant select on grain.judgement to grain_reader;
