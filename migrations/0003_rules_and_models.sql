-- The rules and the model that every database starts with.

insert into grain.rule (name, splitter, unit, size, overlap, prefix, options, reason) values
(
    'window', 'window', 'characters', 1000, 200, '', '{}',
    'The textbook''s sliding window: a baseline that needs no structure and no tokenizer.'
),
(
    'prose', 'prose', 'tokens', 400, 60, '{section}', '{}',
    'Sections as their author cut them, small enough to cite; 15 % overlap only inside one that is too large.'
),
(
    'small_to_big', 'prose', 'tokens', 200, 30, '{section}', '{"expand": "section"}',
    'Small children are found more exactly; the section around the one that was hit is returned.'
);

insert into grain.model (
    name, provider, endpoint, dimensions, tokenizer, max_input_tokens, max_batch_items,
    max_batch_tokens, price, is_default
) values (
    'all-MiniLM-L6-v2-int8', 'local', 'http://127.0.0.1:8089/v1', 384, 'wordpiece', 32768, 32,
    100000, 0, true
);
