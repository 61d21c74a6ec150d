"""Where a text may be cut without breaking what a reader sees as one character."""

from __future__ import annotations

import unicodedata

#: A cluster or a run of flags that is longer than so many characters may be cut, to be quick.
LONGEST = 256

_JOINER = "\u200d"
_NEVER_FIRST = frozenset("\u200c\u200d\uff9e\uff9f") | frozenset(
    # Skin tones, and the tags that spell the flags of regions.
    map(chr, [*range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080)])
)


def border_before(text: str, offset: int, low: int) -> int:
    """The last place in (low, offset] between two grapheme clusters; offset if there is none.

    text may be cut at low. A cluster that reaches from low past offset is thus cut, and so is one
    of more than LONGEST characters: a caller always gets on.
    """
    for at in range(offset, max(low, offset - LONGEST), -1):
        if is_border(text, at, low):
            return at
    return offset


def is_border(text: str, at: int, low: int = 0) -> bool:
    """Whether a cluster ends before text[at]; a run of flags is counted from low.

    Simplified from UAX #29 (Unicode text segmentation), rules GB3 to GB13: emoji sequences are
    known by their joiner, prepended marks and the conjuncts of Indic scripts are not known.
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return not (before == "\r" and after == "\n") and before != _JOINER
    if before == _JOINER or after in _NEVER_FIRST or unicodedata.category(after)[0] == "M":
        return False
    if "\u1100" <= after <= "\ud7fb":
        return not _hangul_joins(before, after)
    if _is_flag_half(after):
        start, low = at, max(low, at - LONGEST)
        while start > low and _is_flag_half(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 0
    return True


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _hangul_joins(before: str, after: str) -> bool:
    """Whether two Hangul characters are of one syllable (GB6, GB7, GB8)."""
    left, right = _hangul_kind(before), _hangul_kind(after)
    return right in {"L": ("L", "V", "LV", "LVT"), "V": ("V", "T"), "T": ("T",)}.get(
        {"LV": "V", "LVT": "T"}.get(left, left), ()
    )


def _hangul_kind(character: str) -> str:
    code = ord(character)
    if 0xAC00 <= code <= 0xD7A3:
        return "LVT" if (code - 0xAC00) % 28 else "LV"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    return ""
