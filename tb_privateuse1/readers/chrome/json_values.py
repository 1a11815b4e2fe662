"""Read single JSON values in a longer text, and name the error of a file that is no trace."""

from __future__ import annotations

import re

import msgspec

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of decoding: for invalid JSON, and for JSON of absurd depth."""

_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
# Not behind a backslash: each escaped quote would start another search of the rest.
_KEY = re.compile(rb'(?<!\\)"((?:[^"\\]++|\\.)*+)"\s*:\s*', re.DOTALL)
_SALVAGED = 1 << 20
_MAX_TRIES = 1000

Keys = dict[str, msgspec.Raw]


def _trailing_byte(error: Exception) -> int | None:
    match = _TRAILING.search(str(error))
    return int(match[1]) if match else None


def _beyond() -> int:
    """Return by how much msgspec overstates the end of a value: by 1 in version 0.22."""
    try:
        msgspec.json.decode(b"[]x", type=msgspec.Raw)
    except msgspec.DecodeError as error:
        return (_trailing_byte(error) or 0) - len("[]")
    raise AssertionError("msgspec decodes invalid JSON")


_BEYOND = _beyond()


def trailing_length(error: Exception) -> int | None:
    """Return the length of a decoded value if the error is that more text follows, else None.

    The length includes space behind the value.
    """
    length = _trailing_byte(error)
    return None if length is None else length - _BEYOND


def value_length(text: bytes | memoryview) -> int:
    """Return the length in bytes of the JSON value at a text's start, with space behind it.

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
    """Return the keys of a damaged text whose values are complete."""
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
    """Return the error for a file without a list of events."""
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


def no_event(name: str, broken: bool, malformed: bool) -> TraceError | None:
    """Return the error for a list without a single event; None if it is just empty."""
    if broken:
        return _not_json(say("{name} has no complete event.", name=name))
    if malformed:
        return TraceError("not_a_trace", say("{name} is a list, but not of events.", name=name))
    return None


def _not_json(message: str) -> TraceError:
    hint = say("Was it cut off? A file that is still being written can be read once it is whole.")
    return TraceError("not_json", message, hint)
