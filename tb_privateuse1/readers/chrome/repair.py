"""Repair text that is almost JSON, if its meaning is plain.

Exporters write ``NaN``, ``Infinity`` and ``N/A`` for missing numbers, names with control
characters, Windows paths with single backslashes, and invalid UTF-8. The readable part of a string
stays; such numbers become null.
"""

from __future__ import annotations

import re

from tb_privateuse1.readers.chrome.problem_tally import Tally

_TOKEN = re.compile(
    rb'(?P<string>"(?:[^"\\]++|\\.)*+")'
    # A string without an end takes the rest: otherwise each quote in it would start a search.
    rb'|(?P<open>"(?:[^"\\]++|\\.)*+\\?\Z)'
    rb"|(?P<number>(?<![\w.+-])(?:[+-]?(?:NaN|nan|Infinity|inf)|N/A|None)(?![\w.]))"
    rb"|(?P<comma>,(?=\s*[\]}]))",
    re.DOTALL,
)

_ODD = re.compile(rb"[\x00-\x1f\x80-\xff\\]")

_UNIT = re.compile(
    rb'(?P<good>\\["\\/bfnrt]'
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|(?P<slash>\\)"
    rb"|(?P<control>[\x00-\x1f])"
)


def repair_text(text: bytes) -> tuple[bytes, Tally]:
    """Return the repaired text and a tally of the repairs."""
    tally = Tally()

    def fix(token: re.Match[bytes]) -> bytes:
        original = token[0]
        if token.lastgroup == "number":
            tally.add("invalid_numbers")
            return b"null"
        if token.lastgroup == "comma":
            tally.add("trailing_commas")
            return b""
        if token.lastgroup == "open" or not _ODD.search(original):
            return original
        fixed = b'"' + _UNIT.sub(_unit, _utf8(original[1:-1])) + b'"'
        if fixed != original:
            tally.add("invalid_strings", 1, original)
        return fixed

    return _TOKEN.sub(fix, text), tally


def _utf8(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


def _unit(unit: re.Match[bytes]) -> bytes:
    if unit.lastgroup == "good":
        return unit[0]
    if unit.lastgroup == "half":  # one half of a surrogate pair
        return b"\\ufffd"
    return b"\\\\" if unit.lastgroup == "slash" else b"\\u%04x" % unit[0][0]
