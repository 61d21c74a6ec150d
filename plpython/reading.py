"""Which format a document is in, and its reader."""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib import import_module
from types import ModuleType

from .blocks import Blocks, Mapped

#: The module in formats/ that reads a format.
READERS = {
    "text": "plain",
    "markdown": "markdown",
    "rst": "rst",
    "asciidoc": "asciidoc",
    "html": "html",
    "notebook": "notebook",
    "python": "python",
    "csv": "csv",
    "json": "json",
    "yaml": "yaml",
    "toml": "toml",
    **dict.fromkeys(
        (
            *("javascript", "typescript", "java", "c", "cpp", "csharp", "go", "rust", "php"),
            *("kotlin", "swift", "scala", "ruby", "shell", "sql"),
        ),
        "code",
    ),
}

_MAPPED = frozenset(("html", "notebook"))

_ENDINGS = {
    "text": "txt text log",
    "markdown": "md markdown mkd mdown mdx rmd qmd",
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc asc",
    "html": "html htm xhtml",
    "notebook": "ipynb",
    "python": "py pyi pyw",
    "csv": "csv tsv tab",
    "json": "json jsonl ndjson geojson webmanifest",
    "yaml": "yaml yml",
    "toml": "toml",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts tsx mts cts",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx ino",
    "csharp": "cs",
    "go": "go",
    "rust": "rs",
    "php": "php phtml",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "ruby": "rb rake gemspec",
    "shell": "sh bash zsh ksh",
    "sql": "sql psql pgsql ddl",
}
_FORMAT_OF = {ending: name for name, endings in _ENDINGS.items() for ending in endings.split()}
#: Names by which a format is also called, media types among them without their `text/` or
#: `application/`, `x-` and what follows a `;` or stands before a `+`.
_FORMAT_OF.update(
    {
        "plain": "text",
        "txt": "text",
        "commonmark": "markdown",
        "gfm": "markdown",
        "restructuredtext": "rst",
        "jupyter": "notebook",
        "tab-separated-values": "csv",
        "comma-separated-values": "csv",
        "python3": "python",
        "js": "javascript",
        "ecmascript": "javascript",
        "c++": "cpp",
        "c#": "csharp",
        "golang": "go",
        "postgresql": "sql",
        "plpgsql": "sql",
        "shellscript": "shell",
    }
)
_ENDING = re.compile(r"\.([A-Za-z0-9_+]{1,16})\Z")


def format_of(text: str, path: str, format: str | None = None) -> str:
    """The format of a document: a name in READERS.

    A format that is given decides: a name, an ending (`.md`) or a media type (`text/markdown`), in
    any case; one that is not known is plain text. Else the ending of the path does, and where that
    says nothing, the first 64 KB of the text.
    """
    if format is not None:
        return _known(format) or "text"
    ending = _ENDING.search(path[-32:])
    known = ending and _known(ending.group(1))
    if known:
        return known
    from .looking import looked_at

    return looked_at(text)


def _known(name: str) -> str | None:
    name = name.strip().lower().split(";")[0].rpartition("/")[2].rpartition("+")[2] or name
    name = name.strip().removeprefix("x-").lstrip(".")
    return name if name in READERS else _FORMAT_OF.get(name)


def read(text: str, format: str, path: str) -> Blocks:
    """The blocks of a text in a format of READERS whose blocks are of the text itself.

    Linear in the text's length, for any text; a tick comes after about 20 ms of work.
    """
    blocks: Blocks = _reader(format).blocks(text, path, format)
    return blocks


def is_mapped(format: str) -> bool:
    """Whether a format is read from another text than the document's own: by `convert`."""
    return format in _MAPPED


def convert(text: str, format: str) -> Generator[None, None, Mapped]:
    """Yield ticks; return the text that a document stands for."""
    mapped: Mapped = yield from _reader(format).convert(text)
    return mapped


def _reader(format: str) -> ModuleType:
    return import_module("." + READERS[format], __package__ + ".formats")
