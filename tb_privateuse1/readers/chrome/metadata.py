"""A trace file's top-level keys beside its events, and single JSON values in longer texts."""

from __future__ import annotations

import re

import msgspec

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for text that is no JSON, and for JSON of absurd depth."""

_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
# Not behind a backslash: from each escaped quote, the rest would be searched again.
_KEY = re.compile(rb'(?<!\\)"((?:[^"\\]++|\\.)*+)"\s*:\s*', re.DOTALL)
_COMMAS = b" \t\r\n,"
_SALVAGED = 1 << 20
_MAX_TRIES = 1000

Keys = dict[str, msgspec.Raw]


def _told(error: Exception) -> int | None:
    found = _TRAILING.search(str(error))
    return int(found[1]) if found else None


def _beyond() -> int:
    """How far behind the value msgspec says that it ends: 1 in 0.22, which counts from there."""
    try:
        msgspec.json.decode(b"[]x", type=msgspec.Raw)
    except msgspec.DecodeError as error:
        return (_told(error) or 0) - len("[]")
    raise AssertionError("msgspec decodes what is no JSON")


_BEYOND = _beyond()


def trailing_length(error: Exception) -> int | None:
    """The length of a decoded value, if the error is that more text follows it.

    The space behind the value counts with it.
    """
    length = _told(error)
    return None if length is None else length - _BEYOND


def value_length(text: bytes | memoryview) -> int:
    """The bytes of the JSON value that a text starts with, and of the space behind it.

    Raises one of ``BROKEN``.
    """
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        length = trailing_length(error)
        if length is None:
            raise
        return length
    return len(text)


def salvage(text: bytes) -> Keys:
    """Those keys of a damaged text whose values are whole."""
    keys: Keys = {}
    text, at = text[:_SALVAGED], 0
    for _ in range(_MAX_TRIES):
        key = _KEY.search(text, at)
        if key is None:
            break
        at = key.end()
        try:
            length = value_length(text[at:])
            name = msgspec.json.decode(b'"' + key[1] + b'"', type=str)
        except BROKEN:
            continue
        keys.setdefault(name, msgspec.Raw(text[at : at + length]))
        at += length
    return keys


def no_trace(name: str, text: bytes) -> TraceError:
    """Why a file in which no list of events was found is no trace."""
    if not text.strip():
        return _not_json(say("{name} is empty.", name=name))
    try:
        keys = msgspec.json.decode(text, type=Keys)
    except msgspec.ValidationError as error:
        return TraceError(
            "not_a_trace", say("{name} is no profiler trace ({error}).", name=name, error=error)
        )
    except BROKEN as error:
        return _not_json(say("{name} is not complete JSON ({error}).", name=name, error=error))
    message = say("{name} is JSON without traceEvents: it is no profiler trace.", name=name)
    if "traceEvents" in keys:
        message = say(
            "{name} is JSON whose traceEvents are no list: it is no profiler trace.", name=name
        )
    return TraceError("not_a_trace", message)


def no_event(name: str, broken: bool, odd: bool) -> TraceError | None:
    """Why a list without a single event is no trace, unless it is just empty."""
    if broken:
        return _not_json(say("{name} has no complete event.", name=name))
    if odd:
        return TraceError("not_a_trace", say("{name} is a list, but not of events.", name=name))
    return None


def _not_json(message: str) -> TraceError:
    hint = say("Was it cut off? A file that is still being written can be read once it is whole.")
    return TraceError("not_json", message, hint)
