"""Split operators by the stream on which their events were recorded.

torch does not record it; a backend may (``device`` and ``stream`` of the sidecar, see
docs/guide/capture.md). Then each stream has its own events and is solved by itself. Only waits of
one stream for another connect them (``stream_joins``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.stage_inputs import rows_of
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup, mask_of, positions
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE, Ops
from tb_privateuse1.trace.table import I64

_PARALLEL_NS = 2_000
"""Parts that exceed their whole by more than this, beyond rounding, ran at the same time."""

_ENOUGH = 3
"""The least number of such ranges for a finding."""


class Stream(Struct, frozen=True):
    """A stream and the operators (rows of ``Ops``) whose two events were recorded on it."""

    device: int
    stream: int
    row: I64


def split_streams(ops: Ops, sidecar: Sidecar) -> list[Stream]:
    """Return the streams in the sidecar, by falling number of operators; else one with all.

    Ranges that begin on one stream and end on another belong to no stream. A single stream also has
    the ranges without a time, which the recording cut off: they are around others.
    """
    everything = [Stream(0, 0, np.arange(len(ops)))]
    if sidecar.device is None or sidecar.stream is None:
        return everything
    row = rows_of(sidecar.external_id, ops.external_id)
    known = row >= 0
    device = np.where(known, sidecar.device[row], NONE)
    stream = np.where(known, sidecar.stream[row], NONE)
    known &= (device >= 0) & (stream >= 0)
    if not known.any():
        return everything
    pairs, of = np.unique(np.stack((device, stream))[:, known], axis=1, return_inverse=True)
    if pairs.shape[1] == 1:
        known |= ops.elapsed_ns == MISSING
        return [Stream(int(pairs[0, 0]), int(pairs[1, 0]), np.flatnonzero(known))]
    rows = np.flatnonzero(known)
    split = [
        Stream(int(pairs[0, k]), int(pairs[1, k]), rows[of == k]) for k in range(pairs.shape[1])
    ]
    return sorted(split, key=lambda s: (-len(s.row), s.device, s.stream))


def select_operators(ops: Ops, row: I64) -> Ops:
    """Return the operators of some rows as a table, with their nearest parents among them."""
    chosen = mask_of(row, len(ops))
    up = lookup(positions(row, len(ops)), intervals.nearest(ops.parent, chosen), NONE)
    taken = ops.take(row)
    columns = {name: column for name, column in taken.columns() if name != "parent"}
    return Ops(parent=up[row], **columns)


def refused_streams(reasons: Sequence[Sequence[Finding]]) -> tuple[int, ...]:
    """Return the streams without a timeline, if others have one.

    ``reasons``, per stream: why it has none; empty if it has one.
    """
    refused = [any(f.severity == "error" for f in found) for found in reasons]
    return () if all(refused) else tuple(i for i, lost in enumerate(refused) if lost)


def missing_stream(stream: Stream, reasons: Sequence[Finding]) -> list[Finding]:
    """Return findings that name a stream without a timeline, each with its reason."""
    return [
        replace(
            why,
            code="stream_missing",
            message=say(
                "No figure of the device has the work of stream {stream} of device {device}: "
                "{reason}",
                stream=stream.stream,
                device=stream.device,
                reason=why.message,
            ),
        )
        for why in reasons
    ]


def find_parallel(ops: Ops, resolution_ns: int) -> Finding | None:
    """Return a finding if operators surely ran at the same time although no streams are known.

    On one stream, the parts of a range, one after the other, take no longer than the range.
    """
    known = ops.elapsed_ns != MISSING
    parent = np.where(known, ops.parent, NONE)
    total = sums(parent, ops.elapsed_ns, len(ops))
    count = sums(parent, np.ones(len(ops), np.int64), len(ops))
    room = (count + 1) * resolution_ns + _PARALLEL_NS + total // 10_000
    parallel = int((known & (total > ops.elapsed_ns + room)).sum())
    if parallel < _ENOUGH:
        return None
    message = say(
        "In {count} ranges the operators took the device longer than the whole range: they "
        "ran at the same time on several streams, and nothing tells which on which.",
        count=parallel,
    )
    hint = say(
        "A backend can tell: elapsed_streams() of its module (docs/guide/capture.md, Streams)."
    )
    return Finding("several_streams", message, hint, parallel, "error", DEVICE)
