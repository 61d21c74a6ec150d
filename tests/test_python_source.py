"""Structure of Python source: which definitions there are, where they begin and end, and where the
text of one is cut. The judge of what parses is `ast`."""

from __future__ import annotations

import ast
import gc
import io
import random
import re
import sysconfig
import textwrap
import time
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pg_grain.plpython.blocks import BLOCK, ITEM, ROW, SCOPE, Block
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.python import blocks
from pg_grain.plpython.pieces import Rule, is_blank

from documents import any_text, grows_linearly

#: A stretch of lines under one path: first and last line are of code, not comments.
Stretch = tuple[tuple[str, ...], int, int]

_LINE_END = re.compile(r"\r\n?|\n")


def read(text: str, path: str = "") -> list[Block]:
    return [block for block in blocks(text, path) if block is not None]


def sections(text: str, path: str = "") -> list[tuple[str, str]]:
    """The dotted path of each section, and its text without blank lines around."""
    found: list[tuple[str, str]] = []
    for block in read(text, path):
        if block.level == SCOPE:
            found.append((".".join(block.path), ""))
        else:
            found[-1] = found[-1][0], found[-1][1] + text[block.start : block.end]
    return [(name, content.strip("\r\n")) for name, content in found]


def names(text: str) -> list[str]:
    return [name for name, _ in sections(text)]


def borders(text: str) -> list[tuple[int, str]]:
    """The level of each block, and its first line."""
    return [
        (block.level, text[block.start : block.end].strip().splitlines()[0])
        for block in read(text)
        if block.level != SCOPE
    ]


def assert_nothing_is_lost(text: str, found: list[Block]) -> None:
    """The blocks follow each other without a gap, from the first visible character to the end."""
    end = found[0].start if found else len(text)
    assert is_blank(text, 0, end)
    for block in found:
        assert block.start == end
        assert (block.end == block.start) == (block.level == SCOPE)
        end = block.end
    assert end == len(text)


def line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def by_reader(text: str) -> list[Stretch]:
    """The stretches of code lines that the reader puts under one path."""
    found = read(text)
    assert_nothing_is_lost(text, found)
    starts = line_starts(text)
    spans: list[tuple[tuple[str, ...], int, int]] = []
    for block in found:
        if block.level == SCOPE:
            spans.append((block.path, block.start, block.end))
        else:
            spans[-1] = (*spans[-1][:2], block.end)
        assert starts[bisect_right(starts, block.start) - 1] in (block.start, block.start - 1)
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    stretches = []
    for path, start, end in spans:
        first, last = bisect_right(starts, start), bisect_right(starts, end - 1)
        code = [n for n in range(first, last + 1) if is_code(lines[n - 1])]
        if code:
            stretches.append((path, code[0], code[-1]))
    return stretches


def by_ast(text: str, tree: ast.Module) -> list[Stretch]:
    """The same by the syntax tree."""
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    owner: list[tuple[tuple[str, ...], int]] = [((), 0)] * len(lines)
    for path, first, last in definitions(tree):
        owner[first - 1 : last] = [(path, first)] * (last - first + 1)
    stretches: list[Stretch] = []
    before = None
    for number, (line, owned) in enumerate(zip(lines, owner), 1):
        if not is_code(line):
            continue
        if owned == before:
            stretches[-1] = (*stretches[-1][:2], number)
        else:
            stretches.append((owned[0], number, number))
        before = owned
    return stretches


def is_code(line: str) -> bool:
    line = line.strip(" \t\f\\")
    return bool(line) and not line.startswith("#")


def definitions(tree: ast.Module) -> Iterator[Stretch]:
    """The functions and classes that are in no function, outer ones first: path and lines."""
    bodies: list[tuple[tuple[str, ...], list[ast.stmt]]] = [((), tree.body)]
    for path, body in bodies:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = (*path, statement.name)
                first = min(node.lineno for node in (statement, *statement.decorator_list))
                assert statement.end_lineno is not None
                yield inner, first, statement.end_lineno
                if isinstance(statement, ast.ClassDef):
                    bodies.append((inner, statement.body))
                continue
            for part in ("body", "orelse", "finalbody"):
                bodies.append((path, getattr(statement, part, [])))
            for part in ("handlers", "cases"):
                bodies.extend((path, one.body) for one in getattr(statement, part, []))


def parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


# The standard library

_STDLIB = Path(sysconfig.get_path("stdlib"))
_OTHERS = {"site-packages", "dist-packages"}


def decoded(raw: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return raw.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        return raw.decode("latin-1")


def disagreement(file: Path) -> tuple[str, bool]:
    """What the reader and `ast` find differently in a file, and whether it parses."""
    gc.disable()  # makes `ast` faster
    text = decoded(file.read_bytes()).replace("\0", "")
    found = by_reader(text)
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError):
        return "", False
    expected = by_ast(text, tree)
    if found == expected:
        return "", True
    differences = sorted(set(found) ^ set(expected), key=lambda stretch: stretch[1:])
    return f"{file}: {differences[:4]}", True


def test_definitions_and_their_lines_are_those_of_ast_in_the_whole_standard_library() -> None:
    files = [
        file
        for file in sorted(_STDLIB.rglob("*.py"))
        if not _OTHERS.intersection(file.parts) and file.is_file()
    ]
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(disagreement, files, chunksize=16))
    assert [difference for difference, _ in results if difference] == []
    assert sum(parses for _, parses in results) > 150


# Definitions


def test_units_of_a_module_begin_with_their_first_decorator() -> None:
    text = textwrap.dedent(
        '''\
        """A pump."""
        import os

        SPEED = 7


        @cached(
            size=None,
        )
        @traced
        async def pump(litres):
            return litres


        @total
        class Valve:
            width: int = 0

            @property
            def area(self):
                return self.width**2

            @staticmethod
            def make():
                class Hidden:
                    def turn(self):
                        return 1
                return Hidden()


        if __name__ == "__main__":
            pump(SPEED)
        '''
    )
    rule = Rule("prose", "words", 200, 0)
    found = [p for p in chunk(text, rule, format="python", path="src/plant.py") if p]
    assert [(piece.section_path, piece.first_line, piece.last_line) for piece in found] == [
        (("plant",), 1, 4),
        (("plant", "pump"), 7, 12),
        (("plant", "Valve"), 15, 17),
        (("plant", "Valve", "area"), 19, 21),
        (("plant", "Valve", "make"), 23, 28),
        (("plant",), 31, 32),
    ]
    module = [line for level, line in borders(text) if level >= ITEM]
    assert module[:3] == ['"""A pump."""', "import os", "SPEED = 7"]


def big_class(methods: int) -> str:
    head = "import dataclasses\n\n\n@dataclasses.dataclass\nclass Tank:\n    kind: str = 'x'\n"
    method = "\n    def fill_{0}(self, a):\n        level = a + {0}\n        return level * {0}\n"
    return head + "".join(method.format(number) for number in range(methods))


@pytest.mark.parametrize("least", [0, 40])
def test_methods_of_a_class_that_is_too_long_stay_whole(least: int) -> None:
    text = big_class(60)
    rule = Rule("prose", "words", 60, 0, "", {"min_size": least})
    found = [piece for piece in chunk(text, rule, format="python") if piece]
    lines = [n for piece in found for n in range(piece.first_line, piece.last_line + 1)]
    visible = [n for n, line in enumerate(text.splitlines(), 1) if line]
    assert [n for n in lines if n in set(visible)] == visible
    for piece in found:
        assert "Tank" in piece.section_path or "class Tank" in piece.content or least == 0
        assert piece.content.count("def ") == piece.content.count("return ")


def test_what_looks_like_a_definition_in_a_string_is_none() -> None:
    text = (
        "TEMPLATE = '''\ndef no(a):\n    return a\n\n@no\nclass No:\n    pass\n'''\n\n\n"
        'def real():\n    """Docs.\n\ndef neither():\n    # no\n    """\n    return TEMPLATE\n'
    )
    assert by_reader(text) == [((), 1, 8), (("real",), 11, 17)]


def test_text_between_definitions_is_the_modules() -> None:
    text = "import os\n\nA = 1\n\ndef f():\n    return A\n\nB = f()\nprint(B)\n\ndef g():\n    return B\n\nC = g()\n"
    assert sections(text, "x.py") == [
        ("x", "import os\n\nA = 1"),
        ("x.f", "def f():\n    return A"),
        ("x", "B = f()\nprint(B)"),
        ("x.g", "def g():\n    return B"),
        ("x", "C = g()"),
    ]


def test_a_file_of_comments_is_one_section_and_an_empty_one_none() -> None:
    assert sections("# only a remark\n\n") == [("", "# only a remark")]
    assert sections("#!/bin/x\n#\n\n# two\n", "a/b.py") == [("b", "#!/bin/x\n#\n\n# two")]
    for text in ("", "\n", "\ufeff", "  \n\t\n", "\r\n\r", "\f\n"):
        assert read(text, "pkg/__init__.py") == []


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/pkg/mod.py", ("mod",)),
        ("src/pkg/__init__.py", ("pkg",)),
        ("__init__.py", ("__init__",)),
        ("pkg\\mod.pyi", ("mod",)),
        ("mod", ("mod",)),
        (".py", (".py",)),
        ("a.b.py", ("a.b",)),
        ("folder/", ()),
        ("", ()),
        ("two\nlines.py", ("two lines",)),
    ],
)
def test_the_path_begins_with_the_module(path: str, module: tuple[str, ...]) -> None:
    assert [block.path for block in read("x = 1\ndef f(): pass\n", path) if block.path] == [
        path for path in (module, (*module, "f")) if path
    ]


def test_definitions_in_compound_statements_of_a_module_or_class_are_scopes() -> None:
    text = textwrap.dedent(
        """\
        try:
            import fast
        except ImportError:
            def slow(): pass
            x = 1
        else:
            with lock:
                class Fast:
                    for kind in kinds:
                        def run(self): pass
                    del kind
        finally:
            done()
        match mode:
            case 1:
                async def moded(): pass
        while True: break
        """
    )
    assert names(text) == ["", "slow", "", "Fast", "Fast.run", "Fast", "", "moded", ""]
    assert by_reader(text) == by_ast(text, parsed(text))


def test_definitions_in_functions_are_text_of_these() -> None:
    text = "def f():\n    @d\n    class A:\n        def g(self):\n            def h(): pass\n    return A\n"
    assert sections(text) == [("f", text.rstrip())]


def test_nested_classes_are_scopes() -> None:
    text = "class A:\n class B:\n  class C: x = 1\n  def f(self): pass\n y = 2\nz = 3\n"
    assert names(text) == ["A", "A.B", "A.B.C", "A.B.f", "A", ""]


def test_equal_names_are_sections_of_their_own() -> None:
    text = "class A:\n    @property\n    def f(self): ...\n    @f.setter\n    def f(self, x): ...\nclass A: ...\nclass A: ...\n"
    assert names(text) == ["A", "A.f", "A.f", "A", "A"]


# Comments


def test_comments_right_above_a_definition_belong_to_it() -> None:
    text = textwrap.dedent(
        """\
        x = 1
        # about f
        # and more
        @d
        # between
        def f(): pass
        # about A

        # right above A
        class A:
            # about g
            def g(self): pass

            # apart

            def h(self): pass
              # of h

            # at the end of A
        # of the module
        """
    )
    assert sections(text) == [
        ("", "x = 1"),
        ("f", "# about f\n# and more\n@d\n# between\ndef f(): pass"),
        ("", "# about A"),
        ("A", "# right above A\nclass A:"),
        ("A.g", "    # about g\n    def g(self): pass"),
        ("A", "    # apart"),
        ("A.h", "    def h(self): pass\n      # of h"),
        ("A", "    # at the end of A"),
        ("", "# of the module"),
    ]


def test_a_comment_that_is_indented_less_than_the_code_around_ends_nothing() -> None:
    text = "class A:\n    def f(self):\n        a = 1\n#       b = 2\n    # c\n\n        return a\n# end\n"
    assert sections(text) == [
        ("A", "class A:"),
        ("A.f", text[len("class A:\n") : text.index("# end")].rstrip()),
        ("", "# end"),
    ]


def test_a_comment_stays_with_the_statement_under_it() -> None:
    text = "def f():\n    a()\n    # why b\n    b()\n    c()\n"
    assert borders(text) == [
        (BLOCK, "def f():"),
        (ROW, "a()"),
        (BLOCK, "# why b"),
        (ITEM, "c()"),
    ]


# Borders


def test_borders_of_a_function_are_those_that_its_author_drew() -> None:
    text = textwrap.dedent(
        '''\
        @d
        def f(
            a,
        ):
            """Do."""
            b = 1
            c = 2

            if b:
                d()
                # e
                e()

                g()
            elif c:
                @h
                def i(): pass
            else:
                j()
            return b
        '''
    )
    assert borders(text) == [
        (BLOCK, "@d"),
        (ROW, '"""Do."""'),
        (ITEM, "b = 1"),
        (ITEM, "c = 2"),
        (BLOCK, "if b:"),
        (ROW, "d()"),
        (ITEM, "# e"),
        (ITEM, "g()"),
        (ROW, "elif c:"),
        (ROW, "@h"),
        (ROW, "else:"),
        (ROW, "j()"),
        (ITEM, "return b"),
    ]


def test_a_statement_of_many_lines_can_be_cut_between_them() -> None:
    entries = "".join(f"    {n}: 'value',\n" for n in range(25))
    long = f"TABLE = {{\n{entries}\n    'last': [\n    ],\n}}\n"
    found = borders(long + "x = 1\n")
    assert found[0] == (BLOCK, "TABLE = {")
    assert [level for level, _ in found[1:26]] == [ROW] * 25
    assert found[26:] == [(ITEM, "'last': ["), (ITEM, "x = 1")]
    assert len(borders(long.replace("'value',\n", "'value',"))) == 1
    docstring = '"""One.\n\nTwo.\n' + "line\n" * 20 + '\nThree.\n"""\n'
    assert [line for level, line in borders(docstring) if level == ITEM] == ["Two.", "Three."]


def test_a_decorator_of_many_lines_begins_its_definition() -> None:
    text = "class A:\n    @cases(\n" + "        1,\n" * 600 + "    )\n    def f(self): pass\n"
    assert sections(text) == [("A", "class A:"), ("A.f", text[len("class A:\n") :].rstrip())]


def test_a_function_that_is_too_long_is_cut_between_its_paragraphs() -> None:
    paragraph = "    for part in parts:\n        weigh(part)\n        pack(part)\n\n"
    text = "def f(parts):\n" + paragraph * 12
    rule = Rule("prose", "words", 25, 0)
    found = [piece.content for piece in chunk(text, rule, format="python") if piece]
    assert len(found) > 2
    assert all(content.startswith("    for") for content in found[1:])


# The lexer

PARSED = {
    "strings of all kinds": (
        "a = 'it''s # no', \"(\", r'\\\\', b'[', u'{', Rb'''(''', \"\"\"'(\"\"\", '', \"\", ''''a'''\n"
        "b = '\\'', '\\\\', 'x\\\n(', '''\\'''(''', 'a' 'b'\ndef f(): pass\n"
    ),
    "formatted strings": (
        "a = f'{b}', f'{{(', f'{b!r:>{c}}', F\"{d['(']}\", rf'{b:(}', f'''{\nb:\n}{{''', fr'\\{b}'\n"
        "a = f'{b:\"}', f'{(lambda: 1)()}', f'{ {1: 2}[1] }', f'{b[1:2]:x}', f'}}}}', f'{b}}}'\n"
        "if'{'or 1: pass\ndef f(): pass\n"
    ),
    "brackets over lines": "a = [\n'(',  # ]\n\n{1:\n2}\n  ,]\nb = (c\n@d\n.e)\ndef f(a,\n\n  b): return (\n1)\n",
    "keywords that may begin a line in brackets": (
        "a = [x\nfor x in y\nif x\nelse z\n]\nb = [x\nasync for x in y]\nc = (yield\nfrom_)\nd = (1\nor 2\nis not\n3, lambda\n: 0)\n"
        "def f(): pass\n"
    ).replace("if x\nelse z\n", "if x\n"),
    "continued lines": "a = 1 + \\\n  2\nif a and \\\n b:\n  def \\\n    f(): pass\nclass\\\n A: pass\nx = 'a\\\nb'\n\\\n\ny\ndef g():\n  x\n\\\n\n  y\n",
    "a continued indentation": "class A:\n  x = 1\n  \\\ny = 2\n\\\n  def f(): pass\n",
    "joined statements": "a = 1; b = 2\ndef f(): x; y\nclass A: x = 1; y = '('\nif a: b; c\n",
    "comments": "#'\n#(\\\ndef f():  # '''\n    pass  # (\n    #\n#\n",
    "tabs and form feeds": "class A:\n\tx = 1\n\tdef f():\n\t\tpass\n\f\ndef g():\n\f  pass\n  \fz = 1\n",
    "names in other scripts": "def größe(): 'ä(ö'\nclass Ωmega:\n    def 名前(self): '猫'\ndef ﬁ(): pass\ndef 𝔘𝔫𝔦(): pass\n",
    "names that begin like keywords": "define = class_ = 1\ndefine(1)\nclassify (x)\nasync_def = 2\nelse_ = 3\n",
    "no line end at the end": "def f():\n    x = 1\n    # end",
    "headers in one line": "class A: pass\nclass B(A): x = 1\ndef f(): pass\ndef g(): return (\n  1)\nx = 1\n",
    "returned types and annotations": "def f(a: 'x', *, b: int = (1)) -> {'a': ')'}: pass\nx: 'def' = 1\n",
    "decorators of all kinds": "@a.b(c)\n@(lambda f: f)\n\n# x\n@d[\n0]\nclass A:\n  @e\n\n  async def f(): pass\n",
}
if hasattr(ast, "TryStar"):
    PARSED["groups of exceptions"] = "try:\n def f(): pass\nexcept* E:\n def g(): pass\n"
if hasattr(ast, "TypeAlias"):
    PARSED["type parameters"] = "type X[T] = T\nclass A[T: (int, str)]:\n  def f[T](self): pass\n"
    PARSED["quotes inside of equal quotes"] = (
        "a = f'{b['(']}', f\"{f\"{f\"(\"}\"}\", f'{b  # )\n}'\na = f'{\nb\n}'\ndef f():\n  x = f'{'''\n'''}'\n  y\n"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("case", PARSED)
def test_definitions_are_those_of_ast(case: str, end: str) -> None:
    text = PARSED[case].replace("\n", end)
    assert by_reader(text) == by_ast(text, parsed(text))
    assert by_reader("\ufeff" + text) == by_reader(text)


@pytest.mark.parametrize("case", PARSED)
def test_line_ends_decide_nothing(case: str) -> None:
    text = PARSED[case]
    for end in ("\r\n", "\r"):
        found = sections(text.replace("\n", end))
        assert [(path, content.replace(end, "\n")) for path, content in found] == sections(text)


_NESTING = (
    *("class A:", "class B(A):", "if x:", "else_ = 1", "for x in y:", "with x:", "while x:"),
    *("def f(self):", "async def g(\n*a):", "@d\ndef h(): # c", "@d(\n'(')\n\nclass C:"),
)
_SIMPLE = (
    *("x = 1", "pass", "'''doc\ndef no(): pass\n'''", "y = [\n1,\n\n]", "z = f'{x:{y}}{{'"),
    *("'a' \\\n 'b('", "# remark", "", "  # far", "x = '\\'('; y", 'r"\\\\"', "(\n# )\n)"),
    *("def f(): pass", "class A: x", "@d\ndef g(a=')'): pass", "if x: y", "# @no\n# def no():"),
)


def program(seed: int) -> str:
    """A text that parses: nested suites of statements, some comments at the wrong column."""
    chosen = random.Random(seed)
    lines: list[str] = []
    columns = [0]
    for _ in range(60):
        indent = " " * columns[-1]
        statement = chosen.choice(_NESTING if chosen.random() < 0.35 else _SIMPLE)
        if statement.startswith("#") and chosen.random() < 0.3:
            indent = " " * chosen.randrange(12)
        first, *rest = statement.split("\n")
        in_string = statement.startswith("'''")
        lines.append(indent + first)
        lines += [part if in_string or not part else indent + part for part in rest]
        if statement in _NESTING and statement != "else_ = 1":
            columns.append(columns[-1] + chosen.randint(1, 4))
            lines.append(" " * columns[-1] + "pass")
        while len(columns) > 1 and (chosen.random() < 0.25 or len(columns) > 8):
            columns.pop()
    return "\n".join(lines) + "\n"


def test_definitions_of_generated_programs_are_those_of_ast() -> None:
    for seed in range(300):
        text = program(seed)
        assert by_reader(text) == by_ast(text, parsed(text)), text


# What does not parse

BROKEN = {
    "a bracket that is never closed": (
        "x = f(1, [2\n\n@d\n@e\ndef f():\n    g({\n    return 1\n\nclass A:\n    x = (\n    @d\n    def g(self): pass\n",
        ["", "f", "A", "A.g"],
    ),
    "brackets that are closed too often": ("x = 1)\ndef f():\n    g(1))]\n    }\nclass A: }\ny = 1\n", ["", "f", "A", ""]),
    "a string that is never closed": ("x = 'it\ndef f():\n    y = f(\"a{b)\n\nclass A: pass\n", ["", "f", "A"]),
    "triple quotes that are never closed": (
        'class A:\n    """Docs.\n\n    def f(self):\n        pass\ndef g():\n    \'\'\'Docs.\n',
        ["A", "A.f", "g"],
    ),
    "a formatted string that is never closed": ("x = f'{a\ndef f(): pass\ny = f'''{\nclass A: pass\n", ["", "f", "", "A"]),
    "a colon that is missing": ("def f()\n    x\nclass A\n    def g(self)\n        y\n", ["f", "A", "A.g"]),
    "Python 2": (
        "print 'a', `b`\nexec 'x' in y\ndef f((a, b)):\n    raise E, 'x'\nclass A:\n    x = 0777L\n    def g(self):\n        print >>f, ur'('\n    print\n",
        ["", "f", "A", "A.g", "A"],
    ),
    "indentation that matches nothing": ("class A:\n        def f(self):\n            x\n    def g(self):\n      y\n   z = 1\n w\n", ["A", "A.f", "A.g", "A"]),
    "a snippet that is indented": ("    def f(self):\n        x\n\n    def g(self):\n        y\n  z\n", ["f", "g", ""]),
    "the rest of a function": ("        return x\n\n    def g(self):\n        y\n", ["", "g"]),
    "markers of a conflict": (
        "class A:\n    def f(self):\n<<<<<<< ours\n        x = 1\n=======\n        x = (\n>>>>>>> theirs\n        return x\n",
        ["A", "A.f"],
    ),
    "tags of a template": (
        "class {{ name }}View(Base):\n    {# it's #}\n{% if a %}\n    def get_{{ x }}(self):\n        pass\n{% else %}\n    y = '{{ y }}'\n{% endif %}\n",
        ["{{ name }}View", "{{ name }}View.get_{{ x }}", "{{ name }}View", ""],
    ),
    "commands of a notebook": ("%matplotlib inline\n!ls (it's\n\ndef f():\n    pass\n?f\n", ["", "f", ""]),
    "prose": ("class of 1999\ndef leppard rocks (loud)\nIt's (nearly) done.\nimport this\n", [""]),
    "a decorator of nothing": ("class A:\n    @d\n\n@e\nx = 1\n@f\n", ["A", ""]),
}  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("case", BROKEN)
def test_definitions_of_what_does_not_parse(case: str, end: str) -> None:
    text, expected = BROKEN[case]
    text = text.replace("\n", end)
    assert_nothing_is_lost(text, read(text))
    assert names(text) == expected


def test_decorators_in_brackets_that_are_never_closed_stay_with_their_definition() -> None:
    text = "x = g(1,\n\n@d(1)\n@e\ndef f():\n    pass\n"
    assert sections(text) == [("", "x = g(1,"), ("f", "@d(1)\n@e\ndef f():\n    pass")]


def test_many_comments_end_what_they_are_not_indented_into() -> None:
    text = "def f():\n    x\n" + "# a\n\n" * 600 + "    y\n"
    assert names(text) == ["f", ""]


# Laws

FRAGMENTS = (
    *("def f():", "class A:", "async def g(", "@d", "@d(", "if x:", "else:", "try:", "except:"),
    *("'", '"', "'''", '"""', "f'", 'f"""', "rf'{", "t'{", "{", "}", "{{", "(", ")", "[", "]"),
    *(":", "#", "# c", "\\", "\\\n", "\n", "\n", "\n", "\r\n", "\r", " ", "    ", "        ", "\t"),
    *("\f", "x = 1", "é", "猫", "\ud800", "\ufeff", "import x", "return", "{%", "<<<<", "`", ";"),
    *("x = [\n" + "1,\n" * 25, "\n\n"),
)


@given(st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join), any_text()))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_read_without_loss_and_always_in_the_same_way(text: str) -> None:
    found = read(text, "a.py")
    assert_nothing_is_lost(text, found)
    assert found == read(text, "a.py")
    assert all(block.path[0] == "a" for block in found if block.level == SCOPE)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_parses_by_chance_is_read_as_ast_reads_it(text: str) -> None:
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError):
        return
    assert by_reader(text) == by_ast(text, tree)


UNITS = (
    *("[{(", "('a' ", '("a"(', "((()))", "()", "f'{", "f'{a:{", "f'''{", "f\"{'", "\\'''\"\"\""),
    *("'''\\", "x = '''\n", "'a\n", "\\\n", "\\\n ", "   \\\n", "async\\\n", "def \\\n"),
    *(
        "(\n@a(\n",
        "@a(\n",
        "def f(a,\n@x\n",
        "(def f(\n",
        "a(\n\n",
        "class A:\n",
        "def f(): pass\n",
    ),
    *("#\n\n", "    # a\n\n# b\n", "{{a}}", "def {{a}}{{", "é = 'é'\n", "elif\n"),
    *("(", "'", '"""', "\\", "#", "@", "\n", "\t", "{"),
)
LONG = {
    **{repr(unit): unit * (16_000 // len(unit)) for unit in UNITS},
    "deep classes": "\n".join(" " * n + "class A:" for n in range(250)) + "\n",
    "rows": "a = {\n" + "x: 1,\n\n" * 2_500 + "}\n",
    "a decorator": "@a(\n" + "x,\n" * 4_000 + ")\ndef f(): pass\n",
    "comments in a function": "def f():\n    x\n" + "# c\n\n" * 3_000 + "    y\n",
    "a long name": "def " + "a" * 40_000 + "(): pass\n",
    "a long line": "x = " + "[1, 2, 'abc'], " * 3_000 + "\n",
    "programs": "".join(program(seed) for seed in range(15)),
}


@pytest.mark.parametrize("case", LONG)
def test_time_grows_with_the_length_alone(case: str) -> None:
    assert grows_linearly(read, LONG[case], 4)


@pytest.mark.parametrize("case", ["'('", "'\\n'", "rows", "'class A:\\n'", "programs"])
def test_ticks_come_often(case: str) -> None:
    text = LONG[case] * 10
    waits = []
    last = time.process_time()
    for block in blocks(text):
        if block is None:
            waits.append(time.process_time() - last)
            last = time.process_time()
    assert len(waits) > 2
    assert sorted(waits)[len(waits) // 2] < 0.05
