"""Recognize a trace by the beginning of its JSON text, and read its rank.

The text is read once, bracket by bracket, and never decoded as a whole: it is incomplete, and may
be damaged or hostile. Only top-level keys count, because other JSON may mention ``traceEvents``
further inside.
"""

from __future__ import annotations

import json
import re
from itertools import islice

from tb_privateuse1.discovery.formats import Signs

_MOST_TOKENS = 1 << 19
"""Brackets and strings examined. Megabytes of process groups have fewer."""

_BOM = b"\xef\xbb\xbf"
_START = re.compile(rb"\s*([{\[])")
# A string without an end takes the rest of the text, so that no byte is examined twice.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_COLON = re.compile(rb"\s*:\s*")
_LIST = re.compile(rb"\[\s*(?:[{\]]|\Z)")
_LETTER = re.compile(rb'"[^"\\]"')

_EVENTS = b'"traceEvents"'
_SCHEMA = b'"schemaVersion"'
_DISTRIBUTED = b'"distributedInfo"'
_PHASE = b'"ph"'


def sniff(text: bytes) -> Signs:
    """Find a list ``traceEvents``, or a bare list whose first item is an event.

    An object that is cut off before its events counts as a trace if it has a ``schemaVersion``,
    which Kineto writes first.
    """
    text = text.removeprefix(_BOM)
    start = _START.match(text)
    if start is None:
        return Signs(False, None, sure=bool(text.strip()))
    if start[1] == b"[":
        return _bare(text, start.start(1))
    return _object(text, start.start(1))


def last_rank(text: bytes) -> int | None:
    """Return the rank in a text that ends as a trace does, and begins anywhere."""
    at = text.rfind(_DISTRIBUTED)
    colon = _COLON.match(text, at + len(_DISTRIBUTED)) if at >= 0 else None
    return _rank(text, colon.end()) if colon else None


def _object(text: bytes, start: int) -> Signs:
    depth, count = 0, 0
    keys: dict[bytes, int] = {}
    for token in islice(_TOKEN.finditer(text, start), _MOST_TOKENS):
        count += 1
        first = text[token.start() : token.start() + 1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if not depth:
                return Signs(False, None, sure=True)
        elif depth == 1 and (colon := _COLON.match(text, token.end())):
            keys.setdefault(token[0], colon.end())
            if token[0] == _EVENTS and _LIST.match(text, colon.end()):
                return Signs(True, _rank_of(text, keys), sure=True)
    return Signs(_SCHEMA in keys, _rank_of(text, keys), sure=count == _MOST_TOKENS)


def _bare(text: bytes, start: int) -> Signs:
    depth, count = 0, 0
    for token in islice(_TOKEN.finditer(text, start), _MOST_TOKENS):
        count += 1
        first = text[token.start() : token.start() + 1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
        elif depth == 2 and token[0] == _PHASE and (colon := _COLON.match(text, token.end())):
            return Signs(_LETTER.match(text, colon.end()) is not None, None, sure=True)
        if count > 1 and depth < 2:  # the first item is over, or is no object
            return Signs(False, None, sure=True)
    return Signs(False, None, sure=count == _MOST_TOKENS)


def _rank_of(text: bytes, keys: dict[bytes, int]) -> int | None:
    return _rank(text, keys[_DISTRIBUTED]) if _DISTRIBUTED in keys else None


def _rank(text: bytes, at: int) -> int | None:
    """Return the rank in the ``distributedInfo`` that begins here."""
    try:
        info = json.JSONDecoder().raw_decode(text[at:].decode("utf-8", "replace"))[0]
        rank = info.get("rank") if isinstance(info, dict) else None
        number = int(rank) if isinstance(rank, int | str) else -1
    except (ValueError, RecursionError):
        return None
    return number if 0 <= number < 1 << 31 else None
