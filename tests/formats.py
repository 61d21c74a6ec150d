"""Documents of every format, of parts that interfere with each other."""

from __future__ import annotations

from hypothesis import strategies as st

from documents import FRAGMENTS

_BRACES = (
    "int main() {",
    "}",
    "class A {",
    "struct B { int x; };",
    "  void run(int a) {",
    "  return a > b ? f(\"}\") : '{';",
    "// comment {",
    "/* open",
    "*/",
    "x = `a ${b + `c`} d`;",
    "const f = async (x) => {",
    "function g() { return /[}/]/; }",
    "#if 0",
    "#endif",
    "@Override",
    "#[test]",
    "import x from 'y';",
    'let s = "unterminated',
    "fun h(a: Int) = a + 1",
    "fn k<'a>(x: &'a str) -> &'a str { x }",
    "impl T for A {",
    "func (r *A) Name() string {",
    "public static int n = 0;",
    "case 1: break;",
    "namespace N {",
    "<?php",
    "?> html <b>",
    '"""',
    "=begin",
    "=end",
)

#: Lines of each format, by the names in reading.READERS.
LINES: dict[str, tuple[str, ...]] = {
    "text": ("A line.", "and another", "", "  indented", "Ends here! Really? Yes.", "\u3000猫。"),
    "markdown": FRAGMENTS,
    "rst": (
        *("Title", "=====", "-----", "~~~~", ".. note:: x", ".. a comment", "   indented", "::"),
        *(
            "* item",
            "#. item",
            "",
            "text",
            "+---+---+",
            "| a | b |",
            "===  ===",
            "a    b",
            ">>> f()",
        ),
    ),
    "asciidoc": (
        *("= Title", "== Two", "=== Three", "----", "====", "|===", "|a |b", "////", "// note"),
        *(
            ":name: value",
            "* item",
            ". item",
            ".Caption",
            "[source,ruby]",
            "",
            "text",
            "--",
            "....",
        ),
    ),
    "html": (
        *("<h1>One</h1>", "<h2>Two", "</h2>", "<p>text", "</p>", "<div>", "</div>", "a &lt; b"),
        *("<table><tr><th>a</th><th>b</th></tr>", "<tr><td>1</td><td>2</td></tr>", "</table>"),
        *("<script>if (a < b) { '<h2>' }", "</script>", "<!-- hidden", "-->", "<ul><li>item</li>"),
        *("<pre>", "</pre>", "  kept   ", "&nbsp;", "&#xD800;", "<", "<b>bo</b>ld", "<li>two</ul>"),
        *("<span hidden>no</span>", "<br>", "<img alt='seen'>", "<td>cell", "&bogus;", "<x y='>'>"),
    ),
    "notebook": (
        '{"cells": [',
        '{"cell_type": "markdown", "metadata": {}, "source": ["# One\\n", "text \\u00e9"]},',
        '{"cell_type": "code", "outputs": [{"text": "x"}], "source": "a = 1\\nb = \\"2\\"\\n"},',
        '{"cell_type": "raw", "source": []}',
        '], "metadata": {}, "nbformat": 4}',
        '"source": "\\ud800 \\ud83d\\ude00"',
        "]",
    ),
    "python": (
        *("def f(a, b):", "async def g():", "class A:", "    def m(self):", "    @property"),
        *("    return 1", "        x = 2", "@decorator", "if x:", "else:", "try:", "import os"),
        *(
            '"""doc',
            '"""',
            "'''",
            "x = (",
            ")",
            "# comment",
            "y = \\",
            "\tpass",
            "f'{a!r}'",
            "",
            "]",
        ),
    ),
    "csv": (
        *("a,b,c", "1,2,3", '"x, y",2,3', '"two', 'lines",2', "a;b", "1;2", "sep=;", "\t", ""),
        *('"he said ""go""",1', "no delimiter", ",,", '"open'),
    ),
    "json": (
        *("{", "}", "[", "]", '"key": 1,', '"a": {"b": [1, 2]},', '"s": "x\\"y",', "// note", ","),
        *('{"line": 1}', '"open', "null", "-1.5e3", ""),
    ),
    "yaml": (
        *(
            "key: value",
            "top:",
            "  nested: 1",
            "  - item",
            "- item",
            "text: |",
            "    block: no key",
        ),
        *("# comment", "---", "...", "? odd", '"quoted key": x', "flow: {a: [1, 2", "", "\tx"),
    ),
    "toml": (
        *("[a]", "[a.b]", "[[list]]", 'x = "y"', 't = """', "[no table]", '"""', "arr = [", "  1,"),
        *("]", "# comment", "'a.b'.c = 1", '["q.r".s]', ""),
    ),
    "sql": (
        *("create table t (a int);", "select 1;", "create function f() returns int as $$", "$$;"),
        *(
            "begin",
            "end;",
            "-- note",
            "/* a /* b",
            "*/",
            "'it''s;",
            "E'\\';'",
            '"q;"',
            "$x$",
            "",
            "union",
        ),
    ),
    "shell": (
        *("f() {", "}", "function g {", "if true; then", "fi", "cat <<EOF", "EOF", "# note"),
        *("echo 'a", "b'", 'x="$(f "y")"', "case x in", "esac", "a) b ;;", "", "echo \\"),
    ),
    "ruby": (
        *("class A", "def m(x)", "end", "module B", "if x", "x = <<~T", "T", "# note", "=begin"),
        *("=end", "%q(a (b) c)", "puts 'x' if y", "do |z|", "'open", "", "def self.k = 1"),
    ),
    **dict.fromkeys(
        (
            *("javascript", "typescript", "java", "c", "cpp", "csharp", "go", "rust", "php"),
            *("kotlin", "swift", "scala"),
        ),
        _BRACES,
    ),
}


def documents(format: str) -> st.SearchStrategy[str]:
    """Texts that are more or less in a format."""
    lines = st.lists(
        st.one_of(
            st.sampled_from(LINES[format]),
            st.sampled_from(LINES[format]),
            st.builds("".join, st.lists(st.sampled_from(LINES[format]), max_size=3)),
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
        ),
        max_size=25,
    )
    return st.builds(
        lambda parts, end, last: end.join(parts) + last,
        lines,
        st.sampled_from(("\n", "\n", "\r\n", "\r")),
        st.sampled_from(("", "\n")),
    )
