"""Read the hyperparameters in an event file of TensorBoard (``SummaryWriter.add_hparams``).

The first records of a file are enough: the parameters of a run are written before its figures. A
record is a length, a checksum, a message and a checksum (tensorflow/core/lib/io/record_writer.h).
The message is an ``Event``; its summary has a value of the plugin ``hparams`` with a
``SessionStartInfo`` (tensorboard/plugins/hparams/plugin_data.proto).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

NAME = "events.out.tfevents."
"""What the names of event files begin with."""

Value = str | float | bool

_FIRST_BYTES = 1 << 20
_LENGTH, _CHECKSUM = 12, 4
"""Bytes before a message: its length and that number's checksum; and behind it."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SUMMARY, _VALUE, _METADATA, _PLUGIN = 5, 1, 9, 1
_PLUGIN_NAME, _CONTENT = 1, 2
_SESSION_START, _HPARAMS = 3, 1
_KEY, _OF_KEY = 1, 2
_NUMBER, _TEXT, _FLAG = 2, 3, 4
"""Numbers of fields; the last ones are of ``google.protobuf.Value``."""

Field = tuple[int, int | bytes]


def is_event_file(name: str) -> bool:
    """Return whether TensorBoard gives such a name to a file of events."""
    return NAME in name


def hyperparameters(path: str) -> dict[str, Value]:
    """Return the parameters of the session that a file begins, by name; empty without any.

    What is damaged or no event file has none. Raises OSError.
    """
    with open(path, "rb") as file:
        data = file.read(min(_FIRST_BYTES, os.fstat(file.fileno()).st_size))
    found: dict[str, Value] = {}
    try:
        for event in _records(data):
            for content in _plugin_contents(event):
                for start in _messages(content, _SESSION_START):
                    found.update(_parameters(start))
    except (IndexError, struct.error, UnicodeDecodeError):
        return found
    return found


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the whole records."""
    at = 0
    while at + _LENGTH <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        end = at + _LENGTH + length
        if end > len(data):
            return
        yield data[at + _LENGTH : end]
        at = end + _CHECKSUM


def _plugin_contents(event: bytes) -> Iterator[bytes]:
    """Yield what an event has for the plugin of hyperparameters."""
    for summary in _messages(event, _SUMMARY):
        for value in _messages(summary, _VALUE):
            for metadata in _messages(value, _METADATA):
                for plugin in _messages(metadata, _PLUGIN):
                    fields = dict(_fields(plugin))
                    content = fields.get(_CONTENT)
                    if fields.get(_PLUGIN_NAME) == b"hparams" and isinstance(content, bytes):
                        yield content


def _parameters(start: bytes) -> Iterator[tuple[str, Value]]:
    for entry in _messages(start, _HPARAMS):
        fields = dict(_fields(entry))
        key, value = fields.get(_KEY), fields.get(_OF_KEY)
        if isinstance(key, bytes) and isinstance(value, bytes):
            found = _value(value)
            if found is not None:
                yield key.decode(), found


def _value(message: bytes) -> Value | None:
    """Return a number, text or flag; None for lists and structures."""
    for number, value in _fields(message):
        if number == _NUMBER and isinstance(value, bytes):
            return float(struct.unpack("<d", value)[0])
        if number == _TEXT and isinstance(value, bytes):
            return value.decode()
        if number == _FLAG:
            return bool(value)
    return None


def _messages(data: bytes, wanted: int) -> Iterator[bytes]:
    for number, value in _fields(data):
        if number == wanted and isinstance(value, bytes):
            yield value


def _fields(data: bytes) -> Iterator[Field]:
    """Yield number and value of each field of a message; fixed sizes as bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise IndexError(kind)
        if at + size > len(data):
            raise IndexError(at)
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the place behind it. Raises IndexError if it does not end."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
