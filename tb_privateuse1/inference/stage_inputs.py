"""Types and lookups that the stages of the inference share."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.event_waits import EventWaits
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.launch_configs import Configs
from tb_privateuse1.trace.model import (
    MISSING,
    NONE,
    DeviceAnnotations,
    Kernels,
    Lanes,
    Ops,
)
from tb_privateuse1.trace.table import I32, I64, Bools

PRIME = "tb_privateuse1::prime"
"""The annotation of our capture around work that only keeps the device busy (priming).

See docs/guide/capture.md.
"""
SELF_TEST = "tb_privateuse1::self_test"
"""The one around the kernels by which a recording's bounds are judged (``self_test``)."""
WINDOW_EDGES = ("tb_privateuse1::window_start", "tb_privateuse1::window_end")
"""Those around the waits for the device at the beginning and the end of a recording."""
CLOCK = "tb_privateuse1::clock"
"""Empty ones behind these waits: an idle device executes their events."""


class Strings:
    """The trace's string table while it still grows."""

    def __init__(self, strings: tuple[str, ...]) -> None:
        self.all = list(strings)
        self._ids = {text: i for i, text in enumerate(strings)}

    def find(self, text: str) -> int:
        """Return the index of a string, or ``NONE``."""
        return self._ids.get(text, NONE)

    def id(self, text: str) -> int:
        """Return the index of a string; add it if it is new."""
        if text not in self._ids:
            self._ids[text] = len(self.all)
            self.all.append(text)
        return self._ids[text]


_MOST_BYTES = 1 << 48
"""256 TiB: no device has that memory, and sums of such sizes would leave int64."""


def impossible_sizes(column: I64) -> Bools:
    """Return which numbers of bytes exceed any memory."""
    impossible: Bools = (column != MISSING) & ((column > _MOST_BYTES) | (column < -_MOST_BYTES))
    return impossible


_NAMES_IN_GRAPH = ("name", "bare_name", "bare_annotation")
"""Arguments with the name of an annotation, in order: torch 2.14 on, 2.13, and text before that."""


class GraphAnnotations(Struct, frozen=True):
    """Annotated activities by ``event``, their number in the file; texts of the trace, or NONE."""

    event: I32
    module: I32
    name: I32
    phase: I32

    @classmethod
    def of(cls, events: Group) -> GraphAnnotations:
        """Return those of the device's events."""
        name = np.full(len(events), NONE, np.int32)
        for key in _NAMES_IN_GRAPH:
            name = np.where(name >= 0, name, events.text(key)).astype(np.int32)
        module = events.text("module_fqn")
        rows = np.flatnonzero((events.id("graph_node") > 0) & ((name >= 0) | (module >= 0)))
        rows = rows[np.argsort(events.event[rows], kind="stable")]
        columns = (events.event, module, name, events.text("autograd_phase"))
        return cls(*(column[rows] for column in columns))


class MetadataClaims(Struct, frozen=True):
    """The events with the arguments of a collective, and their rows in their table."""

    row: I32
    events: Group

    @classmethod
    def by(cls, events: Group) -> MetadataClaims:
        """Return the claims among the events of a whole table."""
        row = np.flatnonzero(events.text("collective") >= 0).astype(np.int32)
        return cls(row, events.take(row))


class Activities(Struct, frozen=True):
    """A device timeline, measured or inferred, with its findings."""

    kernels: Kernels
    lanes: Lanes
    findings: tuple[Finding, ...] = ()
    claims: MetadataClaims | None = None
    """Arguments of collectives that kernels have; None for inferred ones."""
    basis: InferenceBasis | None = None
    missing_lanes: tuple[int, ...] = ()
    """Streams without a timeline, while others have one."""
    unseen_ns: int = 0
    """How long a device was busy for events without known work."""
    unseen_waits: int = 0
    """How often events surely waited for such work, where the program did not launch it."""
    configs: Configs = field(default_factory=Configs.empty)
    """Launch properties of kernels."""
    annotations: DeviceAnnotations = field(default_factory=DeviceAnnotations.empty)
    waits: EventWaits = field(default_factory=EventWaits.empty)
    graph: GraphAnnotations | None = None
    """What the program wrote into the graphs that are replayed; None for inferred ones."""


def rows_named(ops: Ops, strings: Strings, text: str) -> I64:
    """Return the rows of the ranges of a name."""
    name = strings.find(text)
    return np.flatnonzero((ops.name == name) & (name != NONE))


def inside_ranges(ops: Ops, outer: I64) -> Bools:
    """Return which operators begin inside one of some ranges (rows) of their thread."""
    at = intervals.innermost(
        ops.thread[outer], ops.start_ns[outer], ops.end_ns[outer], ops.thread, ops.start_ns
    )
    inside: Bools = at >= 0
    return inside


def rows_of(keys: I64, wanted: I64) -> I32:
    """Return the first row in ``keys`` of each wanted id; ``NONE`` if negative or absent."""
    if not len(keys):
        return np.full(len(wanted), NONE, np.int32)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    row = order[at].astype(np.int32)
    return np.where((wanted >= 0) & (keys[row] == wanted), row, NONE).astype(np.int32)


def share_ids(ids: I64, process: I32) -> bool:
    """Return whether several processes have the same ids of a profiler, as each counts its own."""
    if not len(ids) or (process == process[0]).all():
        return False
    each = distinct_values((ids * (int(process.max()) + 1) + process)[ids > 0])
    return len(distinct_values(ids[ids > 0])) < len(each)


def rows_of_ids(ids: I64, process: I32, wanted: I64, wanted_process: I32) -> I32:
    """Return the first row of each wanted id of the profiler; ``NONE`` if 0, negative or absent.

    If processes share ids, those of the wanted process count.
    """
    own, sought = ids, wanted
    if share_ids(ids, process):
        count = max(int(process.max()), int(wanted_process.max(initial=0))) + 1
        own, sought = ids * count + process, wanted * count + wanted_process
    return rows_of(np.where(ids > 0, own, NONE), np.where(wanted > 0, sought, NONE))
