"""Read the hyperparameters in an event file of TensorBoard (``SummaryWriter.add_hparams``).

The first records of a file are enough: the parameters of a run are written before its figures. A
record is a length, a checksum, a message and a checksum (tensorflow/core/lib/io/record_writer.h);
TensorBoard's own reader stops at the first wrong checksum and waits for the rest of a cut record.
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
_PLUGIN = "hparams"
_KINDS = ("number_value", "string_value", "bool_value")
"""Of ``google.protobuf.Value``: lists and structures are no parameters to compare."""


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
    for record in _records(data):
        if _PLUGIN.encode() in record:  # a file of scalars alone needs none of these imports
            found.update(_parameters(record))
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


def _parameters(record: bytes) -> dict[str, Value]:
    """Return the parameters of an event; empty if it is damaged."""
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found: dict[str, Value] = {}
    try:
        for value in Event.FromString(record).summary.value:
            plugin = value.metadata.plugin_data
            if plugin.plugin_name == _PLUGIN:
                session = HParamsPluginData.FromString(plugin.content).session_start_info
                for name, one in session.hparams.items():
                    if (kind := one.WhichOneof("kind")) in _KINDS:
                        found[name] = getattr(one, kind)
    except DecodeError:
        return {}
    return found
