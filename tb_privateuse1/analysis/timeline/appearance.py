"""Display attributes of an event: name, class, certainty."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import blocking_names, uncertainty
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, NONE, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools

TABLES = ("ops", "launches", "frames", "kernels", "steps", "device_annotations")
OPS, LAUNCHES, FRAMES, KERNELS, STEPS, DEVICE_ANNOTATIONS = range(len(TABLES))

CLASSES = (
    *breakdown.KINDS, "operator", "annotation", "runtime", "frame", "step", "dataloader",
    "synchronization",
)  # fmt: skip
"""The class of a rectangle, for its color: device activities, host ranges, steps."""

_PLAIN = {FRAMES: "frame", STEPS: "step", DEVICE_ANNOTATIONS: "annotation"}


class Appearance(Struct, frozen=True):
    """A row per event; ``name`` is a string of the trace, ``kind`` an index into ``CLASSES``."""

    name: I32
    kind: I8
    look: I8
    """An index into ``uncertainty.LOOKS``."""
    bound_ns: NDArray[np.float32]
    """The error bound of the start beside the others; 0 if recorded, -1 if not known."""


def appearances(trace: Trace, table: I8, index: I32) -> Appearance:
    """Return the display attributes of rows of several tables.

    ``table`` is an index into ``TABLES``, ``index`` the row in that table.
    """
    name = np.full(len(index), NONE, np.int32)
    kind, look = np.zeros(len(index), np.int8), np.zeros(len(index), np.int8)
    bound = np.zeros(len(index), np.float32)
    for number, table_name in enumerate(TABLES):
        here = table == number
        at = index[here]
        if not len(at):
            continue
        name[here] = getattr(trace, table_name).name[at]
        if number == OPS:
            kind[here] = _host_classes(trace)[at]
        elif number == LAUNCHES:
            kind[here] = _launch_classes(trace)[at]
        elif number == KERNELS:
            kernels = trace.kernels.take(at)
            kind[here] = breakdown.activity_kinds(kernels)
            look[here] = uncertainty.appearance_index(kernels)
            bound[here] = np.maximum(uncertainty.own_start_bound(kernels), -1)
        else:
            kind[here] = CLASSES.index(_PLAIN[number])
    return Appearance(name, kind, look, bound)


@memoize
def _host_classes(trace: Trace) -> I8:
    """Return the class of each host range: communication and the data loader have their own."""
    ops = trace.ops
    own = (CLASSES.index("annotation"), CLASSES.index("operator"))
    kind = np.where(ops.kind == ANNOTATION, *own).astype(np.int8)
    kind[breakdown.loader_ranges(trace)] = CLASSES.index("dataloader")
    collectives = trace.collectives.op
    kind[collectives[collectives >= 0]] = CLASSES.index("communication")
    return kind


@memoize
def _launch_classes(trace: Trace) -> I8:
    """Return the class of each runtime call: waits for the device are synchronization."""
    names = np.unique(trace.launches.name)
    waits = [i for i in names.tolist() if i != NONE and blocking_names.blocks(trace.text(i))]
    own = (CLASSES.index("synchronization"), CLASSES.index("runtime"))
    return np.where(np.isin(trace.launches.name, waits), *own).astype(np.int8)


def waiting_calls(trace: Trace) -> Bools:
    """Return a mask of the rows of ``trace.launches`` that wait for the device."""
    waits: Bools = _launch_classes(trace) == CLASSES.index("synchronization")
    return waits


def name_counts(trace: Trace) -> I64:
    """Return by string of the trace how many ranges have it as their name."""
    found = np.zeros(len(trace.strings), np.int64)
    for table in TABLES:
        name = getattr(trace, table).name
        found += np.bincount(
            name[name != NONE] if (name == NONE).any() else name, minlength=len(found)
        )
    return found
