"""Metadata in front of Markdown and other markup."""

from __future__ import annotations

import re

#: It is no longer than this.
_REACH = 1 << 16

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
_YAML_KEY = r"[\w\"'$@./][^:]{0,200}:(?:[ \t]|\Z)"
_TOML_KEY = r"[^=]{1,200}="


def front_matter(text: str) -> int:
    """The end of the metadata that a text begins with, behind its fences; 0 if it has none.

    TOML stands between two lines `+++`, YAML between a first line `---` and the next `---` or
    `...`. YAML is known from a rule and text by a first line that is not blank, by at least one
    `key:`, and by lines that all are keys, comments, items, indented, or brackets.
    """
    lines = (match for match in _LINE.finditer(text, text.startswith("\ufeff"), _REACH))
    fence = next(lines).group().rstrip()
    if fence not in ("---", "+++"):
        return 0
    is_yaml = fence == "---"
    ends, key = (("---", "..."), _YAML_KEY) if is_yaml else (("+++",), _TOML_KEY)
    has_key = False
    for number, match in enumerate(lines):
        line = match.group().rstrip()
        if line in ends:
            return match.end() if has_key or number == 0 else 0
        if re.match(key, line):
            has_key = True
        elif is_yaml and (line[:1] not in " \t#-]}" or (number == 0 and not line)):
            return 0
    return 0
