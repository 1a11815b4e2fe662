"""Types that the phases of the event pipeline hand to each other."""

from __future__ import annotations

import functools
from collections.abc import Callable

from msgspec import Struct

from tb_privateuse1.inference.device_timeline import event_pairs, launching_operators
from tb_privateuse1.inference.device_timeline.constraints import Tree
from tb_privateuse1.inference.device_timeline.kernel_placement import LaunchSites, Placed
from tb_privateuse1.inference.device_timeline.launching_operators import Segments
from tb_privateuse1.inference.device_timeline.other_recordings import Others
from tb_privateuse1.inference.device_timeline.recorded_launches import Positions
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.stream_joins import Joins
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    Bounds,
    Calibration,
    EventPairs,
)
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.readers.raw import StepMarkers
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.model import Ops
from tb_privateuse1.trace.table import I64, Bools


class MeasuredEvents(Struct, frozen=True):
    """The measured device times of a stream's events on the host's clock.

    ``unknown``: events without a time, and without one on both sides.
    """

    bounds: Bounds
    unknown: Bools


class StreamInput(Struct, frozen=True, dict=True):
    """The recorded input of one stream; no phase changes it.

    ``events`` are its event pairs as recorded. ``may``: per operator, whether it may launch, by its
    name or by the launches that the backend recorded. ``waits``: starts and ends of host ranges
    that wait for the device and return soon after its last work, unless another stream may have
    been the last. ``basis``: the kind of the elapsed times.
    """

    ops: Ops
    strings: Strings
    events: EventPairs
    may: Bools
    waits: tuple[I64, I64]
    c: Calibration
    basis: InferenceBasis
    joins: Joins | None = None
    """When the stream may have waited for others, if there are any."""
    known: Positions | None = None
    """When the host launched, if the backend recorded it."""
    markers: StepMarkers | None = None
    """When the stream came to the ends of steps, if the capture recorded it."""
    others: Others | None = None
    """Returns other recordings of the run."""
    measured: MeasuredEvents | None = None
    """When the device executed the events, if the backend reports it."""
    beside: bool = False
    """Whether the recording has other streams, for which this one may have waited."""

    @functools.cached_property
    def _nesting(self) -> tuple[Tree, Bools]:
        return event_pairs.build_tree(self.events, self.ops)

    @property
    def tree(self) -> Tree:
        """Return the nesting of the events."""
        return self._nesting[0]

    @property
    def in_tree(self) -> Bools:
        """Return the operators that are nodes of the tree."""
        return self._nesting[1]

    @functools.cached_property
    def keys(self) -> I64:
        """Return one number per operator, shapes and dtypes."""
        return launching_operators.operator_keys(self.ops)

    @functools.cached_property
    def places(self) -> I64:
        """Return keys that also tell the nearest ancestors apart."""
        return launching_operators.placed_keys(self.ops, self.keys)


class Prior(Struct, frozen=True):
    """The solution in which every operator launches that its name allows.

    ``behind`` are the events at which the device surely had a backlog.
    """

    solution: Solution
    events: EventPairs
    behind: Bools


class Cautious(Struct, frozen=True):
    """The solution whose bounds hold, and where work is placed.

    Per operator: ``may`` launch, ``blocking`` (waits for its work). ``segments`` are the own
    segments of operators that may launch, ``use`` those that get a kernel. ``sites`` has a row per
    kernel.
    """

    may: Bools
    blocking: Bools
    solution: Solution
    events: EventPairs
    segments: Segments
    use: Bools
    sites: LaunchSites
    estimate: Callable[[], Solution]
    """Returns the solution with likely times, which only a doubtful likely phase needs."""

    batched: Bools
    """The calls that waited though the device held back their events: it works in batches."""

    @property
    def blocked(self) -> Bools:
        """Return the kernels of blocking operators."""
        return self.blocking[self.sites.op]


class Likely(Struct, frozen=True):
    """The solution that assumes launches at the sites only, with ``c`` as the trace shows it.

    ``within`` are the bounds that estimates keep. ``bounds`` are those that are stated:
    ``narrowed`` by the statistics of rounding, or those of the cautious solution.
    """

    solution: Solution
    events: EventPairs
    c: Calibration
    within: Bounds
    bounds: Bounds
    narrowed: bool


class Placement(Struct, frozen=True):
    """Limits of each kernel, a draft of the estimates, and which are the ``captures`` work."""

    limits: Placed
    draft: Placed
    captures: Bools


class Lengths(Struct, frozen=True):
    """The kernels with final estimates; how many other recordings ``helped``, and their names."""

    placed: Placed
    helped: int
    names: tuple[str, ...]
