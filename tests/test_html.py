"""HTML: what is text, what is hidden, where headings and blocks are, and where text comes from."""

from __future__ import annotations

import re
from textwrap import fill

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pg_grain.plpython.blocks import BLOCK, HEADING, ITEM, ROW, Block, Mapped
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.html import convert
from pg_grain.plpython.pieces import Rule

from documents import any_text, english, grows_linearly


def converted(source: str) -> Mapped:
    steps = convert(source)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            mapped: Mapped = stop.value
            return mapped


def text(source: str) -> str:
    return converted(source).text


def blocks(source: str) -> list[tuple[int, str]]:
    mapped = converted(source)
    return [(block.level, mapped.text[block.start : block.end].rstrip()) for block in mapped.blocks]


def headings(source: str) -> list[tuple[int, str]]:
    return [(b.rank, b.title) for b in converted(source).blocks if b.level == HEADING]


def sections(source: str) -> list[tuple[tuple[str, ...], str]]:
    """The text under each path of headings."""
    mapped = converted(source)
    path: list[Block] = []
    found: list[tuple[tuple[str, ...], str]] = []
    for block in mapped.blocks:
        if block.level == HEADING:
            path = [*(one for one in path if one.rank < block.rank), block]
            continue
        titles = tuple(one.title for one in path)
        body = mapped.text[block.start : block.end]
        if found and found[-1][0] == titles:
            found[-1] = titles, found[-1][1] + body
        else:
            found.append((titles, body))
    return [(titles, body.rstrip()) for titles, body in found]


def sources(source: str) -> list[tuple[str, str]]:
    """Each segment of the text, and what it comes from."""
    mapped = converted(source)
    ends = [segment.at for segment in mapped.segments[1:]] + [len(mapped.text)]
    return [
        (mapped.text[segment.at : end], source[segment.start : segment.end])
        for segment, end in zip(mapped.segments, ends)
    ]


def test_text_stands_under_its_headings() -> None:
    source = (
        "<html><head><title>Bar</title><style>h1{margin:0}</style></head><body>\n"
        "<p>first of all</p>\n<h1>Works</h1><p>about works</p>\n"
        '<script>let secret = "<h2>no</h2>";</script>\n'
        "<h2>Kiln</h2><p>about kilns</p>\n<noscript>no scripts</noscript>\n"
        "<h2>Lathe</h2><p>about lathes</p>\n<h1>Store</h1><p>about stores</p></body></html>\n"
    )
    assert sections(source) == [
        ((), "first of all"),
        (("Works",), "about works"),
        (("Works", "Kiln"), "about kilns"),
        (("Works", "Lathe"), "about lathes"),
        (("Store",), "about stores"),
    ]


def test_blanks_collapse_but_in_pre_they_stay() -> None:
    source = (
        "<p>red\n  green\nblue <b>white</b></p><pre>if a:\n    b()\n\n    # c</pre>"
        "<table><tr><td>Weight</td><td>12</td></tr></table><ul><li>x</li><li>y</li></ul>\n"
    )
    assert text(source) == (
        "red green blue white\n\nif a:\n    b()\n\n    # c\n\nWeight | 12\n\nx\ny"
    )


def test_broken_markup_hides_nothing() -> None:
    source = (
        "<h1>Alpha<p>never ended <!-- a comment\n<h2>not here</h2> -->\n"
        "<h2>Beta</h2><p>some<td>cell</td></div></p>\n<![CDATA[y]]><h3>Gamma"
    )
    assert headings(source) == [(1, "Alpha"), (2, "Beta"), (3, "Gamma")]
    assert sections(source) == [
        (("Alpha",), "never ended"),
        (("Alpha", "Beta"), "some\ncell\n\ny"),
    ]


TEXTS = {
    "nothing": ("", ""),
    "blanks": (" \n\t ", ""),
    "no tags": ("just words", "just words"),
    "a byte-order mark": ("\ufeff<p>a", "a"),
    "inline elements part no words": ("<b>bo</b>ld, <i>i</i><u>t</u>", "bold, it"),
    "a blank at the edge of an element": ("a <b> b </b> c<i> d</i>", "a b c d"),
    "a blank before a block": ("<p>a </p> <p> b</p>", "a\n\nb"),
    "wbr and soft hyphens": ("com<wbr>pu&shy;t\u00ading&#173;", "computing"),
    "upper case and unquoted attributes": ("<P CLASS=x ID='y'>a</P><DIV>b</DIV>", "a\n\nb"),
    "a bracket in an attribute": ("<a title='>' href=\"b>c\">d</a>e", "de"),
    "an unquoted value with a slash": ("<a href=/x/>a</a><div title=b/>c</div>d", "a\nc\nd"),
    "attributes without values": ("<p a b=c d>e", "e"),
    "blanks around an equals sign": ("<p title = '>' >a", "a"),
    "quotes in an unquoted value": ('<p title=a"b>c</p><p title="d">e', "c\n\ne"),
    "a line end in a tag": ("<p\nclass='a'\n>b</p\n>c", "b\n\nc"),
    "stray end tags": ("a</b>b</p>c</div>d</span>", "ab\n\nc\nd"),
    "misnested tags": ("<b>a<p>b</b>c</p>d", "a\n\nbc\n\nd"),
    "brackets that begin no tag": ("a < b <> <3 < c<", "a < b <> <3 < c<"),
    "a tag that is never closed": ("a <b and more", "a <b and more"),
    "the last tag without its bracket": ("<p>a</p><p", "a\n\n<p"),
    "a quote that is never closed": ('<a href="x>a</a> b', "a b"),
    "a tag after one that is never closed": ("a<b c='>' d", "a' d"),
    "an end tag with attributes": ("<p>a</p class='x>'>b", "a\n\nb"),
    "an end tag without a name": ("a</>b</ c>d", "abd"),
    "a doctype": ("<!DOCTYPE html><p>a", "a"),
    "a processing instruction": ("<?xml version='1.0'?><p>a", "a"),
    "PHP": ("a<?php if ($b->c > 1) echo 'd'; ?>e<?= $f ?>g", "aeg"),
    "a comment": ("a<!-- b > <p> c -- d -->e", "ae"),
    "an empty comment": ("a<!-->b<!--->c<!---->d", "abcd"),
    "a comment with a bang": ("a<!-- b --!>c", "ac"),
    "a comment that is never closed": ("<p>a<!-- b <p>c", "a b\n\nc"),
    "conditional comments": (
        "<!--[if IE]><p>old</p><![endif]--><![if !IE]>new<![endif]>",
        "new",
    ),
    "a CDATA section": ("<p><![CDATA[a <b> &amp;  c]]>d", "a <b> &amp; cd"),
    "a CDATA section that is never closed": ("<![CDATA[a>b", "b"),
    "a script with tags in strings": ("a<script>b('</p><!--')</script>c", "ac"),
    "a script's end in upper case": ("a<script>b</SCRIPT\n>c", "ac"),
    "what only looks like a script's end": ("a<script>b</scripts>c</script>d", "ad"),
    "a script that is never closed": ("a<script>b <p>c", "a"),
    "a script that is empty": ("<script src='a'/><p>b<script/>c", "bc"),
    "style": ("<style>p > a{}</style>b", "b"),
    "a title": ("<title>a &lt; <b> c</title>d", "d"),
    "a title that is never closed": ("<title>a<p>b", "a\n\nb"),
    "hidden by its name": (
        "a<noscript>b</noscript><template>c</template><iframe>d<p></iframe><object>e</object>"
        "<video>f</video><canvas>g</canvas><svg><title>h</title><text>i</text></svg>j",
        "aj",
    ),
    "choices of a form": ("a<select><option>b<option>c</select>d", "ad"),
    "a hidden input": ("a<input type=hidden value=b>", "a"),
    "a textarea": ("<textarea>\n a <b>\n &lt;</textarea>c", " a <b>\n <\nc"),
    "a textarea that is never closed": ("<textarea>a<p>b", "a\n\nb"),
    "xmp": ("<xmp>a &lt; <b></xmp>c", "a &lt; <b>\nc"),
    "plaintext": ("a<plaintext>b <b>\n &lt; </plaintext>", "a\nb <b>\n &lt; </plaintext>"),
    "buttons part words": ("a<button>B</button><button>C</button>d", "a B C d"),
    "an image": ("a<img src=b alt='c &amp;\n d'>e", "a c & d e"),
    "images without a text": ("a<img alt=''><img><img alt=\"\">b", "ab"),
    "a hidden image": ("a<img alt=b hidden>c", "ac"),
    "a link": ("see <a href='https://example.test/'>this</a>.", "see this."),
    "br": ("a<br>b<br/>c</br>d", "a\nb\nc\nd"),
    "two line ends": ("a<br>\n<br>b<br><br><br>c<br>", "a\n\nb\n\nc"),
    "a rule": ("a<hr>b", "a\n\nb"),
    "divisions": ("<div>a<div>b</div>c</div>d", "a\nb\nc\nd"),
    "empty elements": ("a<div/>b<p/>c<span hidden/>d", "a\nb\n\ncd"),
    "an article": (
        "<header>a</header><main><section>b</section><p>c<p>d</main><footer>e</footer>",
        "a\n\nb\n\nc\n\nd\n\ne",
    ),
    "hard spaces": ("a&nbsp;b\u00a0 c<p>&nbsp;</p><p>\u00a0d", "a\u00a0b\u00a0 c\n\nd"),
    "a pre": ("<pre>\n\n  a\n\tb  c\n\n</pre><p>d", "  a\n\tb  c\n\nd"),
    "a pre with elements": ("<pre><i>  </i><b>a</b>\n <b>c</b><br>d&#10;e</pre>", "  a\n c\nd\ne"),
    "a pre with CRLF": ("<pre>a\r\n  b\r\n\r\nc</pre>d", "a\r\n  b\r\n\r\nc\n\nd"),
    "a blank pre": ("a<pre> \n </pre>b", "a\n\nb"),
    "code in a line": ("a <code>b  c</code> d", "a b c d"),
    "lists": (
        "a<ul><li>b<li>c<ol><li>d</li></ol>e</ul>f",
        "a\n\nb\nc\nd\ne\n\nf",
    ),
    "paragraphs in items": ("<ol><li><p>a</p><p>b</p></li><li><p>c</li></ol>", "a\nb\nc"),
    "definitions": ("<dl><dt>a<dd>b<dd>c<dt>d</dl>e", "a\nb\nc\nd\n\ne"),
    "cells outside of a table": ("a<td>b</td>c<tr>d", "a\nb\nc\nd"),
    "an empty page": ("<html><body></body></html>", ""),
    "MathML": ("<math><mi>x</mi><mo>=</mo><mn>1</mn><annotation>x=1</annotation></math>", "x=1"),
    "ruby": ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
    "names of their own": ("<x-a>b</x-a>c<o:p>d</o:p>", "bcd"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text(case: str) -> None:
    source, expected = TEXTS[case]
    assert text(source) == expected


HIDDEN = {
    "by its attribute": ("a<p hidden>b</p>c", "a\n\nc"),
    "by a value of its attribute": ('a<p HIDDEN="">b</p>c', "a\n\nc"),
    "from assistive technology": ("a<i aria-hidden='true'>b</i>c<i aria-hidden=false>d</i>", "acd"),
    "by its style": ('a<b style="color:red; DISPLAY : none !important">b</b>c', "ac"),
    "by its visibility": ("a<b style='visibility:hidden'>b</b>c", "ac"),
    "by no style": ("a<b style='display:none-such;x-display:none'>b</b>c", "abc"),
    "by no word in another attribute": ("a<b class='hidden none' title='display:none'>b</b>", "ab"),
    "up to the right end tag": ("a<div hidden>b<div>c</div>d<p>e</div>f", "a\nf"),
    "among inline elements": ("a<b hidden>b<b>c</b>d</b>e", "ae"),
    "with elements that have no end": ("a<b hidden>b<br><img alt=c><x/>d</b>e", "ae"),
    "with a stray end tag": ("a<span hidden>b</p></div>c</span>d", "ad"),
    "an element without end": ("a<br hidden>b<img hidden>c", "abc"),
    "up to the next paragraph": ("<p hidden>a<p>b", "b"),
    "up to the next item": ("<ul><li hidden>a<li>b</ul>", "b"),
    "up to the end of its parent": ("<div>a<span hidden>b</div>c", "a\nc"),
    "never closed": ("a<div hidden>b<p>c", "a\nb\n\nc"),
    "never closed but in a hidden one": ("a<div hidden>b<b hidden>c</div>d", "a\nd"),
    "twice": ("a<div hidden>b<p hidden>c</p>d</div>e", "a\ne"),
    "a heading": ("<h1>a</h1><h2 hidden>b</h2>c", "a\n\nc"),
    "in a heading": ("<h1>a<span hidden>b</span></h1>c", "a\n\nc"),
    "a list": ("<ul><li>a</ul><ul hidden><li>b</ul><ul><li>c</ul>", "a\n\nc"),
    "a table": ("a<table hidden><tr><th>b</table>c", "a\n\nc"),
    "a column": (
        "<table><tr><th>a<th hidden>b<th>c<tr><td>d<td hidden>e<td>f</table>",
        "a | c\nd | f",
    ),
    "a row": ("<table><tr><th>a<tr hidden><td>b<tr><td>c</table>", "a\nc"),
    "a script in it": ("a<p hidden><script></p></script>b</p>c", "a\n\nc"),
    "no page": ("<html hidden><body style='visibility:hidden'>a</body></html>", "a"),
    "behind a large attribute": (f"<p title='{'x' * 100_000}' hidden>a</p>b", "b"),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_hidden(case: str) -> None:
    source, expected = HIDDEN[case]
    assert text(source) == expected


REFERENCES = {
    "&amp;&lt;&gt;&quot;&apos;": "&<>\"'",
    "&eacute;&Eacute;": "éÉ",
    "&lt &gt": "< >",
    "&notit; &ampx": "¬it; &x",
    "&notin;": "∉",
    "&NotEqualTilde;": "≂̸",
    "&#65;&#x42;&#X43;&#68": "ABCD",
    "&#0000000000000065;": "A",
    "&#150;&#x80;": "–€",
    "x&#x81;": "x\ufffd",
    "&#0;&#xD800;&#1114112;&#" + "9" * 5000 + ";": "\ufffd" * 4,
    "&#x1F600;": "😀",
    "&bogus; &; &#; &#x; & &&amp;": "&bogus; &; &#; &#x; & &&",
    "a&#32;&#10;&Tab;b": "a b",
    "AT&T &T;": "AT&T &T;",
    "&thetasym;&there4": "ϑ&there4",
}


@pytest.mark.parametrize("source", REFERENCES)
def test_character_references(source: str) -> None:
    assert text(source) == REFERENCES[source]


HEADINGS = {
    "of all ranks": (
        "".join(f"<h{n}>t{n}</h{n}>" for n in range(1, 8)),
        [(n, f"t{n}") for n in range(1, 7)],
    ),
    "in one line": ("<h1> a\n <b>b</b><br>c &amp;&nbsp;d</h1>", [(1, "a b c & d")]),
    "with blocks in them": ("<h1><div>a</div> <div>b</div></h1>c", [(1, "a")]),
    "with one block in them": ("<h2><a href=b><div><p>a</p></div></a></h2>c", [(2, "a")]),
    "without an end": ("<h1>a<p>b<h2>c<h3>d<ul><li>e", [(1, "a"), (2, "c"), (3, "d")]),
    "with the end of another": ("<h1>a</h2>b<h3>c</h1>d", [(1, "a"), (3, "c")]),
    "with the end of their parent": ("<div><h1>a</div>b", [(1, "a")]),
    "at the end": ("<h1>a", [(1, "a")]),
    "without a text": ("<h1></h1><h2> <img></h2>a", []),
    "with the text of an image": ("<h1><img alt='a'></h1>b", [(1, "a")]),
    "in parts of a page": (
        "<nav><h2>a</h2></nav><main><article><header><h1>b</h1></header></article></main>"
        "<aside><h3>c</h3></aside><details><summary><h4>d</h4></summary></details>",
        [(2, "a"), (1, "b"), (3, "c"), (4, "d")],
    ),
    "in lists": ("<ul><li><h2>a</h2></li></ul><dl><dd><h2>b</h2></dl>c", []),
    "in quotes": ("<blockquote><h2>a</h2></blockquote><h2>b</h2>", [(2, "b")]),
    "in a table of data": ("<table><tr><th><h2>a</h2><th>b<tr><td>c<td><h3>d</h3></table>", []),
    "in a table for the layout": (
        "<table><tr><td><h1>a</h1><p>b</p></td><td>c</td></tr></table>",
        [(1, "a")],
    ),
    "that are too long": (f"<h1>{'a' * 5000}</h1>b", [(1, "a" * 1000)]),
    "in a comment": ("<!-- <h1>a</h1> --><h2>b</h2>", [(2, "b")]),
    "of no rank": ("<h0>a</h0><hgroup><h1>b</h1></hgroup>", [(1, "b")]),
}


@pytest.mark.parametrize("case", HEADINGS)
def test_headings(case: str) -> None:
    source, expected = HEADINGS[case]
    assert headings(source) == expected


def test_a_heading_is_a_line_of_the_text() -> None:
    assert blocks("<h1>A <i>b</i></h1>c") == [(HEADING, "A b"), (BLOCK, "c")]
    assert text("<h1>A <i>b</i></h1>c") == "A b\n\nc"


def test_borders_of_lists() -> None:
    source = "<p>a</p><ul><li>b<li>c<p>d</p><ul><li>e<li>f</ul>g<li>h</ul><p>i</p>"
    assert blocks(source) == [
        *((BLOCK, "a"), (BLOCK, "b"), (ITEM, "c"), (ROW, "d"), (ROW, "e"), (ROW, "f")),
        *((ROW, "g"), (ITEM, "h"), (BLOCK, "i")),
    ]


def test_borders_of_definitions() -> None:
    assert blocks("<dl><dt>a<dd>b<dt>c<dd>d</dl>") == [
        (BLOCK, "a"),
        (ITEM, "b"),
        (BLOCK, "c"),
        (ITEM, "d"),
    ]


def test_lines_of_a_pre_are_rows() -> None:
    source = "<p>x</p><pre>a:\n  b\n\n  <b>c</b> d\n\n</pre>y<br>z"
    mapped = converted(source)
    assert [(b.level, mapped.text[b.start : b.end]) for b in mapped.blocks] == [
        (BLOCK, "x\n\n"),
        (BLOCK, "a:\n"),
        (ROW, "  b\n\n"),
        (ROW, "  c d\n\n"),
        (BLOCK, "y\nz"),
    ]


def table(source: str) -> list[tuple[int, str, str]]:
    mapped = converted(source)
    return [
        (b.level, mapped.text[b.start : b.end].rstrip("\n"), mapped.text[b.header[0] : b.header[1]])
        for b in mapped.blocks
    ]


def test_rows_of_a_table_have_its_header() -> None:
    source = (
        "<table><caption>The <b>stock</b></caption><thead><tr><th>Part<th>Price</tr></thead>"
        "<tbody><tr><td>bolt</td>\n<td>4</td></tr>\n<tr><td>nut<td>2</tbody></table>after"
    )
    assert table(source) == [
        (BLOCK, "The stock", ""),
        (ROW, "Part | Price", ""),
        (ROW, "bolt | 4", "Part | Price\n"),
        (ROW, "nut | 2", "Part | Price\n"),
        (BLOCK, "after", ""),
    ]


def test_a_first_row_of_headers_is_a_header() -> None:
    source = "<table><tr><th>a<th>b<tr><th>c<td>d<tr><th>e<th>f</table>"
    assert table(source) == [
        (BLOCK, "a | b", ""),
        (ROW, "c | d", "a | b\n"),
        (ROW, "e | f", "a | b\n"),
    ]


def test_a_header_of_several_rows() -> None:
    source = (
        "<table><thead><tr><td>a<td>b<tr><td>c<td>d</thead><tr><td>e<td>f<tr><td>g<td>h</table>"
    )
    assert [header for *_, header in table(source)] == ["", "", "a | b\nc | d\n", "a | b\nc | d\n"]


def test_a_header_in_front_of_each_row_is_none_of_the_table() -> None:
    source = "<table><tr><th>a<td>b<tr><th>c<td>d</table>"
    assert table(source) == [(BLOCK, "a | b", ""), (ROW, "c | d", "")]


def test_a_table_without_header() -> None:
    source = "<table><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert table(source) == [(BLOCK, "a | b", ""), (ROW, "c | d", "")]


TABLES = {
    "a table without rows": ("<table><td>a<td>b</table>", "a | b"),
    "empty cells": ("<table><tr><th><th>a<th><th>b<th></table>", "| a |  | b"),
    "empty rows": ("<table><tr></tr><tr><td> <td></tr><tr><td>a<td>b</table>", "a | b"),
    "blocks in a cell": (
        "<table><tr><th>a<th>b<tr><td><p>c</p><p>d</p><ul><li>e<li>f</ul><td>g<br>h</table>",
        "a | b\nc d e f | g h",
    ),
    "one block in each cell": ("<table><tr><td><p>a</p><td><p>b</p></table>", "a | b"),
    "code in a cell": ("<table><tr><th>a<td>b<pre>c\n d</pre></table>", "a | b c\n d"),
    "text outside of cells": ("<table>a<tr>b<td>c<td>d</table>", "a\nb c | d"),
    "two tables": (
        "<table><tr><td>a<td>b</table><table><tr><td>c<td>d</table>",
        "a | b\n\nc | d",
    ),
    "one for the layout by its blocks": (
        "<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>",
        "a\n\nb\n\nc",
    ),
    "one for the layout by its role": (
        "<table role='presentation'><tr><th>a<th>b</table>",
        "a\nb",
    ),
    "one for the layout by its only column": ("<table><tr><td>a<br>b<tr><td>c</table>", "a\nb\nc"),
    "a table in a table": (
        "<table><tr><th>a</th><td><table><tr><td>b<td>c</table>d</td></tr></table>e",
        "a\n\nb | c\n\nd\n\ne",
    ),
    "a table that is never closed": ("<table><tr><td>a<td>b<p>c", "a | b c"),
    "the end of an outer element in a cell": (
        "<div><table><tr><td>a</div><td>b</table>c</div>d",
        "a | b\n\nc\nd",
    ),
    "a table in a list": ("<ul><li>a<table><tr><td>b<td>c</table>d</ul>", "a\nb | c\nd"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables(case: str) -> None:
    source, expected = TABLES[case]
    assert text(source) == expected


def test_text_comes_from_its_source() -> None:
    assert sources("<p>a  b&amp;<b>c</b> d</p>\n<p>e</p>") == [
        ("a", "a"),
        (" ", "  "),
        ("b", "b"),
        ("&", "&amp;"),
        ("c", "c"),
        (" d", " d"),
        ("\n\n", "</p>"),
        ("e", "e"),
    ]


def test_text_without_markup_is_one_segment() -> None:
    words = fill(" ".join(english(200).split()))
    assert sources(f"<p>{words}</p>") == [(words.replace("\n", " "), words)]


def test_cells_come_from_their_source() -> None:
    assert sources("<table><tr><th>a</th><th>b</th></tr></table>") == [
        ("a", "a"),
        (" | ", "<th>"),
        ("b", "b"),
    ]


def test_chunks_have_a_span_of_the_source() -> None:
    source = "<h1>A</h1><p>one &amp;\n  two</p><h2>B</h2><p>th<b>ree</b></p><!-- no -->"
    found = [p for p in chunk(source, Rule("prose", "words", 50, 0), format="html") if p]
    assert [(p.section_path, p.content, source[p.start : p.end]) for p in found] == [
        (("A",), "one & two", "one &amp;\n  two"),
        (("A", "B"), "three", "th<b>ree"),
    ]


def test_chunks_of_a_long_table_repeat_its_header() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>bolt {n}</td></tr>" for n in range(60))
    source = f"<table><tr><th>id</th><th>name</th></tr>{rows}</table>"
    found = [p for p in chunk(source, Rule("prose", "words", 40, 0), format="html") if p]
    assert len(found) > 3
    assert all(piece.content.startswith("id | name\n") for piece in found)


FRAGMENTS = (
    *("<p>", "</p>", "<div>", "</div>", "<b>", "</b>", "<span>", "</span>", "<br>", "<hr>", "<li>"),
    *("<ul>", "</ul>", "<ol>", "</ol>", "<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>"),
    *("<th>", "<thead>", "</thead>", "<tbody>", "<caption>", "</caption>", "<h1>", "</h1>", "<h2>"),
    *("<pre>", "</pre>", "<dl>", "<dt>", "<dd>", "</dl>", "<blockquote>", "</blockquote>", "<a "),
    *("<script>", "</script>", "<style>", "<title>", "</title>", "<textarea>", "</textarea>"),
    *("<svg>", "</svg>", "<select>", "</select>", "<template>", "</template>", "<plaintext>"),
    *("<div hidden>", "<b hidden>", "<td hidden>", "<table hidden>", "<li hidden>", "<h2 hidden>"),
    *("<p style='display:none'>", "<div/>", "<td/>", "<li/>", "<!--", "-->", "<!-- x -->", "<!"),
    *("<![CDATA[", "]]>", "<?", "?>", "<?php", "<x", "</", "</>", "<", ">", "=", "'", '"', "/>"),
    *("&amp;", "&lt", "&nbsp;", "&shy;", "&#10;", "&#0;", "&#xD83D;", "&no", "&", "<img alt='i'>"),
    *("<img alt=&amp;>", "word", "two words", "  ", " ", "\n", "\t", "\r\n", "\u00a0", "é", "😀"),
    *("a.", "<body>", "</body>", "<html hidden>", "<button>", "<input>", "\ufeff", "\ud800"),
)
soup = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)


@given(st.one_of(soup, any_text(), st.text("<>/!-abp='\" &#;\n", max_size=200)))
@example("<table><td>a<th><table><caption>b")
@example("<pre> &nbsp;<b> \n</pre><td hidden>a</table><table><tr hidden><td>")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_page_gives_blocks_that_tile_a_text_with_sources(source: str) -> None:
    mapped = converted(source)
    assert mapped == converted(source)
    assert "\0" not in mapped.text or "\0" in source
    at = 0
    for block in mapped.blocks:
        assert block.start == at < block.end
        assert mapped.text[block.start : block.end].strip()
        start, end = block.header
        assert 0 <= start <= end <= block.start
        assert end == 0 or mapped.text[end - 1] == "\n"
        assert (block.rank > 0) == (block.level == HEADING) == bool(block.title)
        at = block.end
    assert at == len(mapped.text)
    at = position = 0
    for segment, end in zip(mapped.segments, [s.at for s in mapped.segments[1:]] + [at]):
        assert segment.at == at
        at = end or len(mapped.text)
        assert at > segment.at
        assert position <= segment.start < segment.end <= len(source)
        position = segment.end
        if at - segment.at == segment.end - segment.start:
            copied = source[segment.start : segment.end]
            # A blank may be a line end in the source, or what ends the tag of an image.
            for ours, theirs in zip(mapped.text[segment.at : at], copied):
                assert ours == theirs or (ours == " " and theirs in "\t\n\r\f>")
    assert at == len(mapped.text)


visible = st.recursive(
    st.sampled_from(("w", " w", "w ", " w w ", "&amp;w", "w<br>w", "<img alt='w'>", "w\n", "")),
    lambda inner: st.one_of(
        st.builds(
            lambda name, content: f"<{name}>{content}</{name.split()[0]}>",
            st.sampled_from(
                (
                    *("b", "i", "a href='w'", "span class=x", "div", "p", "section", "blockquote"),
                    *("h1", "h3", "pre", "table", "tr", "td", "th", "ul", "li", "dl", "dd", "main"),
                )
            ),
            st.lists(inner, max_size=3).map("".join),
        ),
        st.sampled_from(
            (
                *("<!-- w -->", "<script>w</script>", "<b hidden>w</b>", "<svg><b>w</b></svg>"),
                *("<div style='display: none'>w<div>w</div>w</div>", "<title>w</title>"),
            )
        ),
    ),
    max_leaves=30,
)


@given(visible)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_visible_word_is_there_once_and_in_order(source: str) -> None:
    """The words are numbered; those that are not to be seen stand in what is hidden."""
    numbered = re.split("w", source)
    source = "".join(f"{part}w{n}." for n, part in enumerate(numbered[:-1])) + numbered[-1]
    seen = re.sub(
        r"<!--.*?-->|<(script|svg|title)>.*?</\1>|<b hidden>.*?</b>|<div style.*?</div>.*?</div>"
        r"|<a href='[^']*'>",
        "",
        source,
        flags=re.DOTALL,
    )
    assert re.findall(r"w\d+\.", text(source)) == re.findall(r"w\d+\.", seen)


def test_deep_nesting_is_no_depth() -> None:
    assert text("<div>" * 20_000 + "inner words" + "</div>" * 20_000) == "inner words"
    assert text("<ul><li>" * 5_000 + "item") == "item"
    assert text("<table><tr><td>" * 5_000 + "cell") == "cell"
    assert text("<b hidden>" * 5_000 + "a" + "</b>" * 5_000 + "b") == "b"


PAGE = (
    '<div class="a"><h2 id="b"><span>Title</span></h2>\n<p>Some <b>words</b> and <a href="/c">a '
    "link</a>\nof &amp; on.</p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n<table><tr><th>d</th>"
    "<th>e</th></tr>\n<tr><td>1</td><td>2</td></tr></table></div>\n<!-- no -->\n"
)
#: Each in a length for which its time can be measured.
LONG = {
    "a page": PAGE * 20,
    "divisions": "<div>" * 3_000,
    "inline elements": "<b>" * 8_000,
    "brackets": "<" * 50_000,
    "tags that are never closed": "<a " * 5_000,
    "tags that are closed in a value": "<a " * 5_000 + 'b=">"',
    "values that are closed late": "<a b='" * 4_000,
    "quotes in quotes": "<a b='\" c=\"'" * 4_000,
    "attributes": "<a " + "b=c d " * 8_000 + ">e",
    "attributes that might hide": "<a " + "b='hidden' " * 4_000 + ">e",
    "a large attribute": '<a b="' + "x" * 200_000 + '">c',
    "equals signs": "<a " + "=" * 100_000 + ">b",
    "long names": "<" + "a" * 100_000,
    "comments that are never closed": "<!--" * 5_000,
    "dashes in a comment": "<!--" + "-" * 100_000,
    "sections": "<![CDATA[" * 4_000,
    "marked sections": "<![foo" * 5_000,
    "instructions": "<?php " * 5_000,
    "declarations": "<!" * 5_000,
    "ends without a name": "</" * 8_000,
    "scripts": "<script>" * 20_000,
    "ends in a script": "<script>" + "</" * 50_000,
    "titles": "<title>" * 5_000,
    "ampersands": "&" * 50_000,
    "half references": "&notit" * 4_000,
    "digits": "&#" + "9" * 100_000,
    "blanks": "a" + " " * 100_000 + "b",
    "line ends": "a\r\n" * 5_000,
    "blank lines in a pre": "<pre>a" + "\n" * 5_000,
    "indents in a pre": "<pre>" + " <b>" * 5_000,
    "hidden elements": "<p hidden>a" * 2_000,
    "hidden elements that are never closed": "<div hidden>a" * 2_000,
    "hidden elements that are closed": "<div hidden>a" * 2_000 + "</div>" * 2_000,
    "ends without a start": "</div></td></li>" * 2_000,
    "misnested elements": "<b><p></b>" * 3_000,
    "tables": "<table><tr><td>a" * 1_000,
    "cells": "<table>" + "<td>" * 5_000 + "a",
    "headers": "<table><thead>" + "<tr><td>a" * 1_500,
    "captions": "<table><caption>" * 1_500,
    "lists": "<ul><li>a" * 1_500,
    "headings": "<h1>a" * 2_000,
    "blocks in a heading": "<h1>" + "<div>" * 3_000,
    "a style": "<p style='" + "display:" * 10_000 + "none'>a",
}


@pytest.mark.parametrize("kind", LONG)
def test_time_is_linear(kind: str) -> None:
    source = LONG[kind]
    # The opening of a kind comes once.
    opening = re.match(r"<(?:pre|table|script|a |h1|p style=')?", source)
    assert grows_linearly(converted, source, times=4), opening


@pytest.mark.parametrize("kind", ["a page", "brackets", "ampersands", "blanks", "tables", "lists"])
def test_ticks_come_often(kind: str) -> None:
    source = LONG[kind] * (200_000 // len(LONG[kind]))
    assert sum(1 for _ in convert(source)) >= len(source) // 65_536
