"""Read one packet again, with all its fields, by name where the field is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tb_privateuse1.readers.chrome.interning import Strings
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.arguments import plain_value
from tb_privateuse1.readers.perfetto.state import State
from tb_privateuse1.readers.perfetto.stream import Batch, Stream
from tb_privateuse1.readers.perfetto.wire import FIXED64, LENGTH, Buffer, Spans, scan
from tb_privateuse1.trace.errors import no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints

_FEW = 8
_PACKET = {8: "timestamp", 10: "trusted_packet_sequence_id", 58: "timestamp_clock_id",
           13: "sequence_flags", 79: "trusted_pid"}  # fmt: skip
_TRACK_EVENT = {
    3: "category_iids", 9: "type", 10: "name_iid", 11: "track_uuid", 22: "categories", 23: "name",
    30: "counter_value", 36: "flow_ids", 42: "terminating_flow_ids", 44: "double_counter_value",
    47: "flow_ids", 48: "terminating_flow_ids", 52: "correlation_id",
}  # fmt: skip
_STAGE = {
    1: "event_id", 2: "duration", 3: "hw_queue_id", 4: "stage_id", 5: "context",
    8: "render_target_handle", 10: "submission_id", 11: "gpu_id", 13: "hw_queue_iid",
    14: "stage_iid", 17: "name", 20: "name_iid",
}  # fmt: skip
_DOUBLES = frozenset({"double_counter_value"})
_SIGNED = frozenset({"counter_value"})


def read_packet(path: str, checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the fields of a packet by its number, with names instead of ids.

    Parts of the file with names are read again up to the packet. Raises TraceError as ``read``
    does, ``no_event`` if there is none of that number.
    """
    state = State(Strings())
    for first, batch in _batches(path, checkpoints, event):
        packets = state.add(batch)
        if first <= event < first + len(batch):
            row = event - first
            return _record(batch, row, int(packets.generation[row]), state)
    raise no_event(path)


def _batches(path: str, checkpoints: Checkpoints, event: int) -> Iterator[tuple[int, Batch]]:
    """Yield the batches with names before a packet, and its own, with their first numbers."""
    last = int(np.searchsorted(checkpoints.event, event, side="right")) - 1
    if event < 0 or last < 0:
        return
    wanted = [*np.flatnonzero(checkpoints.long[:last]).tolist(), last]
    if len(wanted) > _FEW:
        yield from _from(path, checkpoints, wanted[0], event)
        return
    for place in wanted:
        stop = int(checkpoints.event[place + 1]) if place + 1 < len(checkpoints) else event + 1
        yield from _from(path, checkpoints, place, stop - 1)


def _from(
    path: str, checkpoints: Checkpoints, place: int, event: int
) -> Iterator[tuple[int, Batch]]:
    offset = int(checkpoints.offset_bytes[place])
    # Packed packets have several batches at one offset.
    place = int(np.searchsorted(checkpoints.offset_bytes, offset))
    first = int(checkpoints.event[place])
    for batch in Stream(Source(path).blocks(offset), Tally(), offset).batches():
        yield first, batch
        first += len(batch)
        if first > event:
            return


def _record(batch: Batch, row: int, generation: int, state: State) -> dict[str, Any]:
    one = batch.spans.take(np.array([row]))
    (packet,) = batch.buffer.texts(one)
    found = _fields(packet, _PACKET)
    for number, text in _messages(packet):
        if number == schema.TRACK_EVENT:
            found["track_event"] = _event(text, generation, state)
        elif number == schema.GPU_STAGE:
            found["gpu_render_stage_event"] = _stage(text, generation, state)
        elif number not in (schema.INTERNED, schema.DEFAULTS):
            found[f"field {number}"] = f"{len(text)} bytes"
    return found


def _event(text: bytes, generation: int, state: State) -> dict[str, Any]:
    found = _fields(text, _TRACK_EVENT)
    name = _interned(state, state.names, generation, found.get("name_iid"))
    if name is not None:
        found["name"] = name
    category = _interned(state, state.categories, generation, found.get("category_iids"))
    if category is not None:
        found["categories"] = category
    arguments: dict[str, Any] = {}
    for number, annotation in _messages(text):
        if number == 4:
            arguments.update(_argument(annotation, generation, state))
    if arguments:
        found["debug_annotations"] = arguments
    return found


def _argument(annotation: bytes, generation: int, state: State) -> dict[str, Any]:
    own = _fields(annotation, {1: "name_iid", 10: "name", 17: "text"})
    name = _interned(state, state.arguments, generation, own.get("name_iid"))
    key = name if name is not None else str(own.get("name", own.get("name_iid", "")))
    text = _interned(state, state.values, generation, own.get("text"))
    nested = [inner for number, inner in _messages(annotation) if number == 11]
    if nested:
        inside: dict[str, Any] = {}
        for inner in nested:
            inside.update(_argument(inner, generation, state))
        return {key: inside}
    return {key: plain_value(annotation) if text is None else text}


def _stage(text: bytes, generation: int, state: State) -> dict[str, Any]:
    found = _fields(text, _STAGE)
    for key, short in (("stage_iid", "stage"), ("hw_queue_iid", "hw_queue")):
        iid = np.array([found.get(key, 0)]).astype(np.int64)
        stage = int(state.stages.find(np.array([generation]), iid)[0])
        if stage >= 0:
            found[short] = state.text(state.stage_name[stage])
    extra = {}
    for number, inner in _messages(text):
        if number == 6:
            pair = _fields(inner, {1: "name", 2: "value"})
            extra[str(pair.get("name", ""))] = pair.get("value")
    if extra:
        found["extra_data"] = extra
    return found


def _interned(state: State, table: Any, generation: int, iid: Any) -> str | None:
    if not isinstance(iid, int):
        return None
    found = int(table.find(np.array([generation]), np.array([iid]).astype(np.int64))[0])
    return state.text(found) if found >= 0 else None


def _fields(message: bytes, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the fields of a message that are known: numbers and texts."""
    found: dict[str, Any] = {}
    for number, kind, value, text in _all(message):
        name = names.get(number)
        if name is None:
            continue
        if kind == LENGTH:
            found[name] = text.decode("utf-8", "replace")
        elif kind == FIXED64 and name in _DOUBLES:
            found[name] = float(np.array([value], np.uint64).view(np.float64)[0])
        else:
            signed = value - (1 << 64) if name in _SIGNED and value >> 63 else value
            found[name] = signed
    return found


def _messages(message: bytes) -> Iterator[tuple[int, bytes]]:
    for number, kind, _, text in _all(message):
        if kind == LENGTH:
            yield number, text


def _all(message: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    fields = scan(Buffer(message), Spans(np.array([0]), np.array([len(message)])))
    for number, kind, value, stop in zip(
        fields.number.tolist(), fields.kind.tolist(), fields.value.tolist(), fields.stop.tolist(),
        strict=True,
    ):  # fmt: skip
        yield number, kind, value, message[stop - value : stop] if kind == LENGTH else b""
