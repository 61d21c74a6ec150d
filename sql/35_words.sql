-- The words of full-text search, alike for what is stored and for what is asked.

create or replace function grain._words(content text)
returns text
language plpython3u
immutable
strict
parallel safe
cost 1000
as $$
import sys

if "@bundle_key@.words" not in sys.modules:
    import importlib

    plpy.execute("select grain._bundle()")
    importlib.import_module("@bundle_key@.words")
return sys.modules["@bundle_key@.words"].words(content)
$$;

comment on function grain._words(text) is
'The words of a text with blanks between: identifiers whole and in parts, text without blanks in pairs of characters.';

create or replace function grain._lexemes(configuration regconfig, head text, content text)
returns tsvector
language sql
immutable
parallel safe
return setweight(to_tsvector(configuration, coalesce(grain._words(head), '')), 'A')
|| to_tsvector(configuration, coalesce(grain._words(content), ''));

comment on function grain._lexemes(regconfig, text, text) is
'What full-text search finds a chunk by: the words of its title and headings, with the label A, and of its text.';
