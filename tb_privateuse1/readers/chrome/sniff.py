"""Recognize a trace by the beginning of its JSON text, and read its rank.

The text is read once, bracket by bracket, and never decoded as a whole: it is cut off, and may be
damaged or hostile. Only outermost keys count, because other JSON may have ``traceEvents`` further
inside.
"""

from __future__ import annotations

import json
import re
from itertools import islice

from tb_privateuse1.discovery.formats import DistributedInfo, Signs

_MOST_TOKENS = 1 << 19
"""The limit of brackets and strings. Megabytes of process groups have fewer."""

_BOM = b"\xef\xbb\xbf"
_START = re.compile(rb"\s*([{\[])")
# A string without an end matches the rest of the text, so that no byte is searched twice.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_COLON = re.compile(rb"\s*:\s*")
_LIST = re.compile(rb"\[\s*(?:[{\]]|\Z)")
_LETTER = re.compile(rb'"[^"\\]"')

_EVENTS = b'"traceEvents"'
_SCHEMA = b'"schemaVersion"'
_DISTRIBUTED = b'"distributedInfo"'
_PHASE = b'"ph"'
_NODES, _TRACE_SCHEMA = b'"nodes"', b'"schema"'


_NO_INFO = DistributedInfo()


def sniff(text: bytes) -> Signs:
    """Return the signs of a trace in the beginning of a text.

    A trace is an object with a list ``traceEvents``, or a list whose first item is an event. An
    object that is an event itself begins a file of one event per line. An
    object that is cut off before its events counts if it has a ``schemaVersion``, which Kineto
    writes first.
    """
    text = text.removeprefix(_BOM)
    start = _START.match(text)
    if start is None:
        return Signs(False, _NO_INFO, sure=bool(text.strip()))
    if start[1] == b"[":
        return _bare(text, start.start(1))
    return _object(text, start.start(1))


def last_info(text: bytes) -> DistributedInfo:
    """Return the last ``distributedInfo`` of a text that may begin anywhere in a trace."""
    at = text.rfind(_DISTRIBUTED)
    colon = _COLON.match(text, at + len(_DISTRIBUTED)) if at >= 0 else None
    return _decode_info(text, colon.end()) if colon else _NO_INFO


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
                return Signs(_is_event(text, keys), _NO_INFO, sure=True)
        elif depth == 1 and (colon := _COLON.match(text, token.end())):
            keys.setdefault(token[0], colon.end())
            if token[0] == _NODES and _TRACE_SCHEMA in keys:
                return Signs(False, _NO_INFO, sure=True)  # an execution trace
            if token[0] == _EVENTS and _LIST.match(text, colon.end()):
                return Signs(True, _info_of(text, keys), sure=True)
    return Signs(_SCHEMA in keys, _info_of(text, keys), sure=count == _MOST_TOKENS)


def _is_event(text: bytes, keys: dict[bytes, int]) -> bool:
    return _PHASE in keys and _LETTER.match(text, keys[_PHASE]) is not None


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
            return Signs(_LETTER.match(text, colon.end()) is not None, _NO_INFO, sure=True)
        if count > 1 and depth < 2:  # the first item is over, or is not an object
            return Signs(False, _NO_INFO, sure=True)
    return Signs(False, _NO_INFO, sure=count == _MOST_TOKENS)


def _info_of(text: bytes, keys: dict[bytes, int]) -> DistributedInfo:
    return _decode_info(text, keys[_DISTRIBUTED]) if _DISTRIBUTED in keys else _NO_INFO


def _decode_info(text: bytes, at: int) -> DistributedInfo:
    """Return the ``distributedInfo`` whose value begins at an offset."""
    try:
        info = json.JSONDecoder().raw_decode(text[at:].decode("utf-8", "replace"))[0]
    except (ValueError, RecursionError):
        return _NO_INFO
    if not isinstance(info, dict):
        return _NO_INFO
    return DistributedInfo(_number(info.get("rank")), _number(info.get("world_size")))


def _number(value: object) -> int | None:
    """Return a rank or a count as torch or a launcher's text has it; None for any other value."""
    try:
        number = int(value) if isinstance(value, int | str) else -1
    except ValueError:
        return None
    return number if 0 <= number < 1 << 31 else None
