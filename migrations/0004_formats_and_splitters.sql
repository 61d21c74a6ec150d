-- Tables that are cut repeat their header, and documents may be read from HTML: what a chunk shares
-- with those before it no longer follows from the spans.

alter table grain.chunk add column repeats integer not null default 0;
alter table grain.chunk add constraint chunk_repeats_less_than_it_holds
check (repeats >= 0 and repeats < char_length(content));
comment on column grain.chunk.repeats is
'How many characters at its beginning stand in the chunks before already: an overlap, or the header of a table.';
update grain.chunk as c
set repeats = b.span_end - c.span_start
from grain.chunk as b
where
    b.tenant_id = c.tenant_id
    and b.generation_id = c.generation_id
    and b.document_id = c.document_id
    and b.ordinal = c.ordinal - 1
    and b.span_end > c.span_start;

alter table grain.rule drop constraint rule_splitter_is_known;
alter table grain.rule add constraint rule_splitter_is_known check (
    splitter in ('prose', 'window', 'token', 'recursive', 'sentence', 'semantic', 'whole')
);
comment on column grain.rule.splitter is
'How text is cut. ''prose'' follows the structure of the format: headings, definitions, tables, paragraphs, sentences. The others see text only: ''window'' and ''token'' slide a window, ''recursive'' goes down a ladder of separators, ''sentence'' packs sentences, ''semantic'' cuts where the words change, ''whole'' keeps the document in one piece if it fits.';
comment on column grain.rule.overlap is
'How much of a chunk the next one repeats, in units; for ''prose'' and ''whole'' only where a section larger than the size is cut.';
comment on column grain.rule.options is
'Further options. ''expand'': how search() widens a hit when the caller does not say; ''min_size'': smaller sections are merged with a neighbour (prose); ''separators'': the ladder (recursive); ''close'': the share of the size from which on a line end closes a chunk (sentence).';

insert into grain.rule (name, splitter, unit, size, overlap, prefix, options, reason) values (
    'code', 'prose', 'tokens', 400, 0, '{path} {section}', '{"min_size": 200}',
    'Definitions, those of less than half a chunk together; the path and the names around them are found too.'
);
