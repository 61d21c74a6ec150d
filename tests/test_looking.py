"""Which format a text is taken for: by name, by path, and by what it looks like."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pg_grain.plpython.looking import LOOKED_AT, looked_at
from pg_grain.plpython.reading import READERS, format_of

from documents import FRAGMENTS, any_text, english, generated, grows_linearly

LICENCE = "".join(f"{{0}} Line {n} of a licence; see (c) 2020.\n" for n in range(12))

SAMPLES = {
    "python": (
        "import os\nprint(os.getcwd())\n",
        "def f(x):\n    return x\n",
        "def f(\n    x: int,\n) -> int:\n    return x\n",
        "from a.b import (\n    c,\n)\n\nc()\n",
        '"""What it does.\n\nA title\n=======\n\n# no heading\n"""\n\nimport a, b\n\nclass C:\n    pass\n',
        LICENCE.format(*["#"] * 12).replace("{0}", "#")
        + "\nimport a\n\n\n@b\ndef c():\n    pass\n",
        "# -*- coding: utf-8 -*-\n# Setup\n\nfrom setuptools import setup\n\nsetup(\n    name='a',\n)\n",
        "from __future__ import annotations\n\nX = 1\n\nasync def f() -> None: ...\n",
        "x = 1\nfor n in range(3):\n    x += n\nif x:\n    print(x)\n",
        "#!/usr/bin/env python3\nx\n",
        "#!/usr/bin/python -u\n\nx\n",
        "class A(B):\n    # Heading\n    def c(self):\n        pass\n",
    ),
    "shell": (
        "#!/bin/sh\nls\n",
        "#!/usr/bin/env -S bash -e\nls\n",
        "set -eu\ncd /tmp\nfor f in *.txt; do\n  rm -f $f\ndone\n",
        "# install\nexport PATH=/opt/bin:$PATH\nif [ -f a ]; then\n  echo 'b'\nfi\n",
        "build() {\n  make all\n}\n\nbuild\nexit 0\n",
        "FOO=bar\nBAZ=1\n",
    ),
    "ruby": (
        "#!/usr/bin/env ruby\nputs 1\n",
        "require 'json'\n\nclass Pump < Machine\n  def start\n    @on = true\n  end\nend\n",
        "# frozen_string_literal: true\n\nmodule Valve\n  VERSION = '1'\nend\n",
        "source 'https://rubygems.org'\n\ngem 'rails', '~> 7'\ngem 'pg'\n",
        "def add(a, b)\n  a + b\nend\n\nputs add(1, 2)\n",
    ),
    "javascript": (
        "#!/usr/bin/env node\nx\n",
        "import a from 'b';\n\nexport default function c() {\n  return a;\n}\n",
        "'use strict';\n\nconst a = require('b');\nmodule.exports = { a };\n",
        "/**\n * # A module\n */\nfunction a(b) {\n  return b;\n}\n\na(1);\n",
        "(function () {\n  var a = 1;\n})();\nconst b = () => 2;\nlet c = b();\n",
        "import {\n  a,\n} from './a.js';\n\nclass B extends C {\n  d() {}\n}\n",
        "// licence\n// of it\nvar x = 1;\nvar y = 2;\nconsole.log(x + y);\n",
    ),
    "typescript": (
        "interface User {\n  name: string;\n  age?: number;\n}\n",
        "import { A } from './a';\n\nexport type B = A | null;\n\nexport const c = (d: string): void => {};\n",
        "export class A {\n  private b = 1;\n\n  constructor(readonly c: number) {}\n}\n",
        "enum Level { Low, High }\n\nfunction f(level: Level): boolean {\n  return true;\n}\n",
    ),
    "java": (
        "package a.b;\n\nimport java.util.List;\n\npublic class C {\n    int d;\n}\n",
        "/*\n * Licence\n */\nimport static a.B.c;\n\n@Test\npublic final class D {\n}\n",
        "public record Point(int x, int y) {\n}\n\npublic enum E { F }\n",
    ),
    "csharp": (
        "using System;\nusing System.Linq;\n\nnamespace A.B\n{\n    class C { }\n}\n",
        "namespace A;\n\npublic sealed class B\n{\n    public int C { get; set; }\n}\n",
    ),
    "kotlin": (
        "package a.b\n\nimport a.c.D\n\nfun main() {\n    println(1)\n}\n",
        "data class User(val name: String)\n\nfun User.greet() = name\n",
        "object A {\n    val b = 1\n}\n\nsealed class C {\n}\n",
    ),
    "swift": (
        "import Foundation\n\nstruct A: B {\n    var c: Int\n}\n",
        "func add(_ a: Int, _ b: Int) -> Int {\n    a + b\n}\n\nlet c = add(1, 2)\n",
        "@main\npublic final class A {\n}\n\nextension A {\n}\n",
    ),
    "scala": (
        "package a.b\n\nimport c.d._\n\ncase class E(f: Int)\n\nobject G extends App {\n}\n",
        "trait A {\n  def b: Int\n}\n\ncase object C extends A {\n  val b = 1\n}\n",
        "object A {\n  def main(args: Array[String]): Unit = println(1)\n}\n",
    ),
    "go": (
        'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(1)\n}\n',
        "// Package a does it.\npackage a\n\ntype B struct {\n\tC int\n}\n\nfunc (b *B) D() {}\n",
        'package a\n\nimport (\n\t"b"\n)\n\nvar c int\n',
    ),
    "rust": (
        'use std::io;\n\nfn main() {\n    println!("a");\n}\n',
        "//! # A crate\n\n#![no_std]\n\npub mod a;\n\n#[derive(Debug)]\npub struct B {\n    c: u8,\n}\n",
        "pub trait A {\n    fn b(&self);\n}\n\nimpl A for C {\n    fn b(&self) {}\n}\n",
    ),
    "c": (
        '#include <stdio.h>\n\nint main(void)\n{\n    puts("a");\n}\n',
        "#ifndef A_H\n#define A_H\n\ntypedef struct {\n    int b;\n} c;\n\n#endif\n",
        '/* Licence */\n#include "a.h"\n#include "b.h"\n\nstatic void c(int d) {\n}\n',
        "#pragma once\n#  include <a.h>\n#  error no\nvoid f(void);\n",
    ),
    "cpp": (
        "#include <iostream>\n\nint main() {\n    std::cout << 1;\n}\n",
        '#include "a.h"\n\nnamespace b {\nclass C {\n};\n}\n',
        "template <typename T>\nstruct A {\n  T b;\n};\n\nusing namespace std;\n",
    ),
    "php": ("<?php\necho 1;\n", "\n<?php namespace A;\n", "#!/usr/bin/php\n<?php echo 1;\n"),
    "sql": (
        "SELECT a, b\nFROM c\nWHERE d = 1\nORDER BY a;\n",
        "-- a table\ncreate table a (\n    b int\n);\n\ninsert into a values (1);\n",
        "select * from a;\n",
        "BEGIN;\nUPDATE a SET b = 1 WHERE c = 2;\nCOMMIT;\n",
        "create or replace function a()\nreturns void\nlanguage sql\nas $$\nselect 1\n$$;\n",
        "with a as (\n  select 1\n)\nselect * from a;\n",
        "/* a */\n\\echo no\nCREATE EXTENSION a;\nALTER TABLE b ADD c int;\n",
    ),
    "html": (
        "<!DOCTYPE html>\n<html>\n<p>a\n",
        "<!-- a -->\n\n<!-- b --><html lang='en'>\n",
        '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "a">\n',
        "<HTML><BODY>a</BODY></HTML>",
        "\ufeff  <head><title>a</title></head>",
        "<div class='a'>\n<p>b</p>\n</div>\n",
        "<h1>A</h1>\n<p>b</p>\n",
        "<table><tr><td>a</td></tr></table>",
    ),
    "json": (
        '{"a": 1}',
        "{}\n",
        '\n{\n  "a b\\"c": [1, 2]\n}\n',
        '{"a": 1}\n{"a": 2}\n',
        '[{"a": 1}, {"a": 2}]',
        '["a", "b"]',
        "[1, 2.5, -3e4]\n",
        "[[1, 2], [3, 4]]",
        "[]",
        "[true, null]",
        '["only"]\n',
    ),
    "notebook": (
        '{"cells": [{"cell_type": "markdown", "source": ["# a"]}], "nbformat": 4}',
        '{\n "cells": [\n  {\n   "cell_type": "code"\n' + " \n" * LOOKED_AT,
    ),
    "yaml": (
        "a: 1\nb:\n  c: 2\n",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n",
        "# Settings\nname: CI\non: [push]\n\njobs:\n  build:\n    steps:\n    - run: make\n",
        "---\na: 1\n---\nb: 2\n",
        "---\n- hosts: all\n  tasks: []\n",
        "%YAML 1.2\n---\na: b\n",
        "list:\n- a\n- b\n",
        "Resources:\n  Bucket:\n    Type: AWS::S3::Bucket\n",
        "\"a b\": 1\n'c': |\n  # text\n  more\n",
        "- name: a\n  value: 1\n- name: b\n  value: 2\n",
    ),
    "toml": (
        '[package]\nname = "a"\n\n[dependencies]\nb = "1"\n',
        '# Settings\ntitle = "a"\ncount = 3\n',
        '[[a.b]]\nc = [\n  1,\n]\nd = """\n# text\nmore\n"""\n"e f" = true\n',
        '[tool.x]\n"a-b".c = {d = 1}\n',
    ),
    "csv": (
        "id,name\n1,bolt\n2,nut\n",
        "id;name;price\n1;bolt;0,5\n2;nut;0,7\n",
        "id\tname\n1\tbolt and nut\n",
        "sep=;\nid;name\n",
        'id,note\n1,"first line\nsecond, line"\n2,"he said ""go"", then"\n',
        '"id","name"\r\n"1","bolt, long"\r\n',
        "a,b,c,d\n1,2,3,4\n5,6,7,8,\n",
        "date,value\n2024-01-01,1.5\n2024-01-02,1.7\n",
    ),
    "rst": (
        "Title\n=====\n\n.. note:: a\n",
        "=====\nTitle\n=====\n\ntext\n",
        "Title\n~~~~~\n\ntext\n",
        "See :ref:`a` for it.\n",
        "See `a page <https://example.test>`_ for it.\n",
        "Like this::\n\n    code\n",
        ".. _label:\n\nTitle\n-----\n",
        ".. code-block:: python\n\n   import a\n",
    ),
    "asciidoc": (
        "= Title\nAn Author\n:toc:\n\nText.\n",
        "Text.\n\n== Section\n\nMore.\n",
        "[source,ruby]\n----\nputs 1\n----\n",
        "include::a.adoc[]\n",
        "== A\n\n=== B\n\nimage::a.png[]\n",
    ),
    "markdown": (
        "text\n\n# heading\n",
        "# heading\n",
        "# A\ntext\n",
        "\ufeff# A\r\n\r\ntext\r\n",
        "Title\n=====\n",
        "Some words\n\nTitle\n-----\n\nmore\n",
        "---\ntitle: x\n---\n",
        "---\ntitle: x\n---\n\nJust text, no heading.\n",
        '+++\ntitle = "x"\n+++\nText.\n',
        "see:\n\n```\ncode\n```\n",
        "```python\nimport os\n\n# a comment\ndef f(x):\n    return x\n```\n\nThat was all.\n",
        "~~~\ncode\n~~~\n",
        "Other markups:\n\n```\n.. note:: a\n\n== B\n\nTitle\n~~~~~\n```\n",
        "<!-- a comment -->\n\n# A\n\ntext\n",
        '<div align="center">\n  <img src="a.png">\n</div>\n\n# A\n\n```sh\nmake\n```\n',
        "<h1 align='center'>A</h1>\n<p>b</p>\n\n## Usage\n",
        "[A](https://example.test) is a link.\n",
        "[![build](a.svg)](https://example.test)\n\nWords.\n",
        "Read [it](./docs/a.md).\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "a | b\n--|--\n1 | 2\n",
        "# Usage\n\nRun it:\n\n    import a\n    a.b()\n\nThen go on.\n",
        "# Notes\n\n- a: b\n- c: d\n",
        "import X from './x'\n\n# Title\n\nText of a page.\n\n<X />\n\nMore text.\n\nAnd more.\n",
        generated(3, 80),
    ),
    "text": (
        "",
        " \n\n",
        "just words\nand more\n",
        "#hashtag and text\n",
        "import duties rose, while export figures\nfell. The class struggle went on.\n",
        "import duties\n",
        "from the beginning\nto the end\n",
        "From the beginning it was clear; nobody (but her) knew.\n",
        "class struggle: a history\n",
        "class struggle\nin the north\n",
        "package holidays\nare cheap this year\n",
        "package holidays\n",
        "select a seat from the list\n",
        "Select a seat from the list;\nthen press enter.\n",
        "with love\nfrom me\nto you\n",
        "use the door\nuse the window\n",
        "let us go then, you and I,\nlet the evening = the sky\n",
        "if you want: come.\nfor us it is the same.\n",
        "end\nof the line\n",
        "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy fearful symmetry?\n",
        "One, two\nThree, four\nFive, six\n",
        "Red; green\nBlue; white\n",
        "Dear Ann,\n\nI saw (by chance) your note; it was good.\n\nYours, Ben\n-- \nBen, Graz\n",
        "From: Ann <ann@example.test>\nTo: Ben\nSubject: Pumps\nDate: Mon, 1 Jan 2024 10:00:00\n\nHello Ben,\n\nthe pump is back.\n",
        "Note: this is it.\nWarning: this is not.\n",
        "alice: hi there.\nbob: hello, how are you?\n",
        "Alice: Hi\nBob: Hello\nAlice: Bye\n",
        "Things to buy:\n- milk\n- eggs\n",
        "- milk\n- eggs\n",
        "2024-01-01 10:00:00,123 INFO started\n2024-01-01 10:00:01,456 INFO done\n",
        "2024-01-01T10:00:00Z ERROR pump: failed (code=3)\n2024-01-01T10:00:01Z INFO pump: ok\n",
        "[INFO] started\n[WARN] slow\n[INFO] done\n",
        "INFO: started\nINFO: done\n",
        "[1] A. Smith, On pumps.\n[2] B. Jones, On valves.\n",
        "[1, 2] show that it is so.\n",
        "{curly} words\n",
        "<https://example.test> is the place.\n",
        "<3 is a heart\n",
        "The loop was:\n\n    for x in y:\n        print(x)\n\nand it did not end, which I cannot explain to anyone here.\n",
        "I wrote\n\nimport os\n\nand nothing came of it.\n\nThen I slept.\n\nAnd slept.\n\nAnd that was that.\n",
        "[section]\nkey=value without quotes\n",
        "\tindented\n\tlike this\n",
        "a -- b --- c\n",
        "x = y\n",
        "第四；第五。\n第六；第七。\n",
        "Die Pumpe, die alte, läuft;\ndie neue, die teure, steht.\n",
        english(800),
    ),
}


@pytest.mark.parametrize(
    ("format", "text"), [(name, text) for name, texts in SAMPLES.items() for text in texts]
)
def test_a_text_without_a_name_is_known_by_its_looks(format: str, text: str) -> None:
    assert looked_at(text) == format
    assert looked_at(text.replace("\r\n", "\n").replace("\n", "\r\n")) == format


def test_there_is_a_sample_of_each_format() -> None:
    assert set(SAMPLES) == set(READERS)


@pytest.mark.parametrize(
    ("text", "path", "format", "expected"),
    [
        ("plain", "a/b.md", None, "markdown"),
        ("plain", "README.MARKDOWN", None, "markdown"),
        ("# heading\n", "a/b.py", None, "python"),
        ("# heading\n", "a/b.unknown", None, "markdown"),
        ("# heading\n", "a/b", None, "markdown"),
        ("# heading\n", "a/b.py", "text/markdown", "markdown"),
        ("# heading\n", "a/b.md", "org", "text"),
    ],
)
def test_name_and_path_go_before_looks(
    text: str, path: str, format: str | None, expected: str
) -> None:
    assert format_of(text, path, format) == expected


def test_only_the_begin_of_a_text_is_looked_at() -> None:
    words = "word " * 20 + "\n"
    assert looked_at(words * 100 + "\n# heading\n") == "markdown"
    assert looked_at(words * 1000 + "\n# heading\n") == "text"


def test_modules_of_the_standard_library_are_python() -> None:
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = random.Random(1).sample(sorted(folder.glob("*.py")), 60)
    taken = [looked_at(file.read_text(encoding="utf-8", errors="replace")) for file in files]
    assert taken.count("python") > 55


LINES = tuple(
    line for texts in SAMPLES.values() for text in texts for line in text[:2000].split("\n")
)


@given(st.one_of(any_text(), st.lists(st.sampled_from((*LINES, *FRAGMENTS))).map("\n".join)))
@settings(max_examples=300, deadline=None)
def test_any_text_has_a_format(text: str) -> None:
    assert looked_at(text) in READERS
    assert looked_at(text) == looked_at(text)


HARD = (
    *(
        " ",
        "\n",
        " \n",
        "\t",
        "[",
        "[ ",
        "{",
        "{ ",
        "(",
        "<",
        "<!--",
        "<!-- -->",
        '"',
        ',"',
        '""',
        "'",
    ),
    *(
        "`",
        "`a <",
        "`a <b",
        ":a:`",
        "_",
        "#",
        "# ",
        "-",
        "- ",
        "=",
        "*",
        "|",
        "|-",
        ":",
        "a",
        "a ",
        "\\",
    ),
    *(
        "a:\n",
        "a = \n",
        "- a\n",
        "a,",
        "a\t",
        ", ",
        " do |",
        "func a",
        "def a(",
        "import a, ",
        "import {",
    ),
    *(
        "select a, ",
        "from a ",
        "/*",
        '"""\n',
        "'''",
        "```\n",
        "~~~",
        "#!",
        ".. a",
        "::\n\n",
        "\x00",
        "猫",
    ),
    *(
        '"a" ',
        '{"',
        '["',
        "[1, ",
        "<?xml ",
        "[a](",
        "[a]: ",
        "a.b.",
        "A=",
        "--- ",
        "static ",
        "public ",
    ),
)


@pytest.mark.parametrize("begin", ["", "[", '[a]\nb = "'])
def test_the_time_is_short_whatever_comes(begin: str) -> None:
    def all_of(size: str) -> None:
        for unit in HARD:
            looked_at(begin + unit * (len(size) // len(unit)))

    assert grows_linearly(all_of, "x" * 4_000)
