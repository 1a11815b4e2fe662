"""Operators by name, input shapes, call stack, module or kind of work: calls, times, launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import groups, kinds_of_work, totals, without_operator
from tb_privateuse1.analysis.operators.groups import Group
from tb_privateuse1.analysis.operators.kinds_of_work import Kind
from tb_privateuse1.analysis.operators.totals import SIDES
from tb_privateuse1.analysis.roofs.achieved import COLUMNS, Figures
from tb_privateuse1.analysis.roofs.operator_rates import operator_figures, own_work
from tb_privateuse1.analysis.roofs.rates import ModeledTime, group_figures, modeled_time
from tb_privateuse1.trace import call_tree, device_times, uncertainty
from tb_privateuse1.trace.columns import positions
from tb_privateuse1.trace.groupby import counted_operators, group_rows
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import (
    OffsetOption,
    StepOption,
    WindowOption,
    check_page,
    chosen_window,
)
from tb_privateuse1.views.sorting import (
    SortOption,
    order_by_number,
    order_by_text,
    order_by_work,
    parse_sort,
    sorts,
)

_SORTS = (
    "name", "calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns",
    "host_mean_ns", "device_mean_ns", "kernels", "launches", "launch_ns", "backward_device_ns",
    "host_memory_self_bytes", "host_memory_bytes", "device_memory_self_bytes",
    "device_memory_bytes", "total_flops",
)  # fmt: skip

_BOUNDS = ("device_bound_ns", "device_total_bound_ns", "backward_bound_ns")
_OF_DEVICE = (
    "device_self_ns", "device_total_ns", "device_mean_ns", "kernels", "backward_device_ns",
    *_BOUNDS,
)  # fmt: skip
"""Columns that are null in a trace without device activities."""

_OF_LAUNCHES = ("launches", "launch_ns")
"""Columns that are null in a trace without calls of the device's runtime."""

_OF_MEMORY = {side: (f"{side}_memory_self_bytes", f"{side}_memory_bytes") for side in SIDES}
"""Columns that are null in a trace without allocations of the host, or of a device."""


class OperatorRow(Struct, frozen=True):
    """The calls of one operator.

    Device times are null where the trace has none. If a stream is missing, they are lower bounds,
    and null where the operator launched nothing on the others.
    """

    name: str | None
    """Grouped by category it is that. Of activities that no operator launched it is the operator
    around their launch in the capture of their graph, or null if that is not known."""
    launcher: str | None
    """Of activities that no operator launched: the call that did, such as that of a graph's replay;
    null if it is not known, and for operators."""
    category: Kind
    """The kind of work, by the name."""
    input_shapes: str | None
    """As the trace has them; null unless grouped by shapes, or not recorded."""
    module: str | None
    """The class of the innermost module; null unless grouped by modules, and outside of all."""
    stack: str | None
    """Python frames, innermost first, separated by ``;``; null unless grouped by stacks."""
    calls: int
    host_self_ns: int
    host_total_ns: int
    device_self_ns: int | None
    device_total_ns: int | None
    device_bound_ns: int | None
    """How far off ``device_self_ns`` may be; 0 for measured times."""
    device_total_bound_ns: int | None
    """How far off ``device_total_ns`` may be."""
    host_mean_ns: int | None
    """``host_total_ns`` per call; null without calls."""
    device_mean_ns: int | None
    """``device_total_ns`` per call."""
    bounded_share: float
    """The part of ``device_self_ns`` of which only limits are known (evidence ``bound``)."""
    kernels: int | None
    """Device activities launched by the operator itself."""
    launches: int | None
    """Calls of the device's runtime that the operator itself made; null without any recorded."""
    launch_ns: int | None
    """The host's time in these."""
    forward: str | None
    """The forward operator whose gradient it computes; null if none or several."""
    backward_device_ns: int | None
    """Device time of the backward operators of its calls, and of the operators inside them."""
    backward_bound_ns: int | None
    """How far off that may be."""
    host_memory_self_bytes: int | None
    """Memory of the host that it allocates less what it releases, without the operators inside;
    null without allocations of the host's, as without ``profile_memory``."""
    host_memory_bytes: int | None
    """With the operators inside."""
    device_memory_self_bytes: int | None
    """The same of the devices' memory; null without allocations of theirs."""
    device_memory_bytes: int | None
    flops: int | None
    """Operations of its own device activities, on a host alone of what it computes itself; null
    without a model of the work, or shapes."""
    total_flops: int | None
    """With those of the operators inside, as torch's ``with_flops`` counts a convolution."""
    bytes: int | None
    """Bytes that the same work must read and write."""
    tflop_per_s: float | None
    gb_per_s: float | None
    """By the time of the activities with FLOPs, or with bytes."""
    flops_per_byte: float | None
    """Arithmetic intensity."""
    roof_share: float | None
    """The least time that the device's roofs allow, as a share of the time, 0 to 1."""
    above_roof_ns: int | None
    """The rest of the time: what perfect kernels would save."""
    longest_row: int | None
    """The row of the call that took longest on the host in the trace's table of ranges."""


class OtherOperators(Struct, frozen=True):
    """The groups beyond ``limit``: not in the rows, but in all sums."""

    rows: int
    calls: int
    host_self_ns: int
    device_self_ns: int | None


class Operators(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[OperatorRow, ...]
    """Those asked for, and last what no operator launched, so that sums close: a row per call of
    the device's runtime and captured operator, at most ``limit`` and one for the rest."""
    total_rows: int
    """How many operators (or groups) there are."""
    found_rows: int
    """How many of them contain what was to be found."""
    others: OtherOperators | None
    """The rest of what was found, if it is more than ``limit``."""
    host_self_ns: int
    """Sum over all operators; their share of the host's time."""
    device_self_ns: int | None
    """Sum over all operators."""
    device_self_bound_ns: int | None
    """How far off it may be."""
    unlinked_device_ns: int | None
    """Device activities that no operator launched."""
    has_shapes: bool
    """Whether the trace was recorded with ``record_shapes``."""
    has_stacks: bool
    """Whether it was recorded with ``with_stack``."""
    has_modules: bool
    """Whether there are calls of modules among the frames."""
    modeled: ModeledTime
    """How much of the device's time has a model of its work."""


@sorts(_SORTS)
def operators(
    trace: Trace,
    *,
    group: Annotated[Group, "what a row is; category is the kind of work"] = "name",
    step: StepOption = None,
    window: WindowOption = "steady",
    find: Annotated[
        str | None, "only rows with this text in any of their names, in upper or lower case"
    ] = None,
    sort: SortOption = None,
    limit: Annotated[int, "at most this many rows"] = 20_000,
    offset: OffsetOption = 0,
) -> Operators:
    """A row per operator, or per operator and input shapes, call stack or module, or per category.

    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    check_page(limit, offset)
    key, descending = parse_sort(sort, _SORTS)
    time = chosen_window(trace, step, window)
    rows = np.flatnonzero(counted_operators(trace) & time.ops)
    first, member = group_rows(*groups.group_columns(trace, rows, group))
    ahead = call_tree.forward_of(trace)
    flops = own_work(trace)["flops"]
    figures = totals.operator_totals(trace, rows, member, len(first), ahead, flops)
    texts = _Texts(trace, group, rows[first])
    some = np.arange(len(first))
    if find is not None:
        some = np.flatnonzero(groups.matching_rows(trace, rows[first], group, find))
    member_of = _Members(trace, rows, member, len(first))
    order = _sorted(_by_time(some, figures), key, figures, texts, member_of, descending=descending)
    shown, rest = order[offset : offset + limit], np.append(order[:offset], order[offset + limit :])
    forward = groups.forward_names(trace, ahead[rows], member, len(first))
    device = len(trace.kernels) > 0
    lost = _unlinked(trace, time.kernels, group, limit) if device else ()
    rows_shown = _rows(trace, figures, texts, member_of, forward, shown)
    return Operators(
        provenance=provenance(trace, time),
        rows=rows_shown + (lost if find is None and offset == 0 else ()),
        total_rows=len(first),
        found_rows=len(some),
        others=_others(trace, figures, rest) if len(rest) else None,
        host_self_ns=int(figures["host_self_ns"].sum()),
        device_self_ns=device_times.known_sum(trace, int(figures["device_self_ns"].sum())),
        device_self_bound_ns=(
            totals.device_bound(trace, rows) if device_times.all_known(trace) else None
        ),
        unlinked_device_ns=device_times.known_sum(
            trace, sum(one.device_self_ns or 0 for one in lost)
        ),
        has_shapes=bool((trace.ops.shapes >= 0).any()),
        has_stacks=call_tree.has_functions(trace),
        has_modules=bool(call_tree.is_module(trace).any()),
        modeled=modeled_time(trace, time.kernels),
    )


def _rows(
    trace: Trace,
    figures: dict[str, I64],
    texts: _Texts,
    members: _Members,
    forward: I64,
    shown: I64,
) -> tuple[OperatorRow, ...]:
    """Return the rows of some groups."""
    memory = totals.recorded_memory(trace)
    unknown = [key for side in SIDES if side not in memory for key in _OF_MEMORY[side]]
    if not len(trace.launches):
        unknown += _OF_LAUNCHES
    return tuple(
        OperatorRow(
            **texts.of(int(i)),
            **_numbers(trace, figures, int(i)) | dict.fromkeys(unknown),
            **one.columns(),
            forward=trace.text(forward[i]) or None,
        )
        for i, one in zip(shown, members.work(shown), strict=True)
    )


class _Members:
    """The group of each operator that is counted."""

    def __init__(self, trace: Trace, rows: I64, member: I64, groups: int) -> None:
        self._trace, self._rows, self._member, self._groups = trace, rows, member, groups

    def work(self, shown: I64) -> list[Figures]:
        """Return the own work of the operators of some groups."""
        group = np.full(len(self._trace.ops), NONE, np.int64)
        group[self._rows] = positions(shown, self._groups)[self._member]
        return operator_figures(self._trace, group, len(shown))


def _sorted(
    order: I64,
    key: str | None,
    figures: Mapping[str, I64],
    texts: _Texts,
    members: _Members,
    *,
    descending: bool,
) -> I64:
    """Return the rows by a sort key; in the given order without one."""
    if key == "name":
        return order_by_text(order, [*map(texts.name, order.tolist())], descending=descending)
    if key in COLUMNS:
        return order_by_work(order, members.work(order), key, descending=descending)
    if key is not None:
        return order_by_number(order, figures[key], descending=descending)
    return order


def _by_time(rows: I64, figures: dict[str, I64]) -> I64:
    """Return rows by most time."""
    order: I64 = rows[
        np.lexsort((-figures["host_self_ns"][rows], -figures["device_self_ns"][rows]))
    ]
    return order


def _numbers(trace: Trace, figures: dict[str, I64], i: int) -> dict[str, Any]:
    """Return the fields of a row that are numbers; null where the trace lacks them."""
    own = int(figures["device_self_ns"][i])
    found: dict[str, Any] = {"bounded_share": int(figures["bounded_ns"][i]) / own if own else 0.0}
    for key, column in figures.items():
        if key in _BOUNDS:
            bound = uncertainty.known_bound(column[i])
            found[key] = bound if device_times.all_known(trace) else None
        elif key in _OF_DEVICE:
            found[key] = device_times.known_sum(trace, int(column[i]))
        elif key == "total_flops":
            found[key] = None if column[i] == MISSING else int(column[i])
        elif key != "bounded_ns":
            found[key] = int(column[i])
    return found


class _Texts:
    """The words of each group, made only for those that are looked at."""

    def __init__(self, trace: Trace, group: Group, rows: I64) -> None:
        self._trace, self._group, self._rows = trace, group, rows
        self._module = groups.innermost_modules(trace)[rows] if group == "module" else None

    def of(self, i: int) -> dict[str, Any]:
        """Return the fields of a row that are texts."""
        trace, row = self._trace, int(self._rows[i])
        name = trace.text(trace.ops.name[row])
        module = None if self._module is None else trace.text(self._module[i])
        category = kinds_of_work.kind_of(name, trace.vendor)
        return {
            "name": category if self._group == "category" else name,
            "category": category,
            "input_shapes": (
                trace.text(trace.ops.shapes[row]) or None if self._group == "shapes" else None
            ),
            "launcher": None,
            "module": groups.module_class(module) if module else None,
            "stack": groups.call_site_of(groups.python_stack(trace, row))
            if self._group == "stack"
            else None,
        }

    def name(self, i: int) -> str:
        """Return the name of a row."""
        name = self._trace.text(self._trace.ops.name[self._rows[i]])
        return (
            kinds_of_work.kind_of(name, self._trace.vendor) if self._group == "category" else name
        )


def _unlinked(trace: Trace, inside: Bools, group: Group, limit: int) -> tuple[OperatorRow, ...]:
    """Return the rows of activities without an operator."""
    any_launch = len(trace.launches) > 0
    found = without_operator.rows_without_operator(trace, inside, group, limit)
    member = np.full(len(trace.kernels), NONE, np.int64)
    for i, one in enumerate(found):
        member[one.activities] = i
    return tuple(
        OperatorRow(
            **one.origin._asdict(),
            category=_category(trace, one.origin.name, group),
            input_shapes=None,
            calls=0,
            host_self_ns=0,
            host_total_ns=0,
            device_self_ns=one.device_ns,
            device_total_ns=one.device_ns,
            device_bound_ns=device_times.known_bound(trace, one.bound_ns),
            device_total_bound_ns=device_times.known_bound(trace, one.bound_ns),
            host_mean_ns=None,
            device_mean_ns=None,
            bounded_share=one.bounded_ns / one.device_ns if one.device_ns else 0.0,
            kernels=len(one.activities),
            launches=one.launches if any_launch else None,
            launch_ns=one.launch_ns if any_launch else None,
            forward=None,
            backward_device_ns=None,
            backward_bound_ns=None,
            total_flops=work.flops,
            **dict.fromkeys(key for keys in _OF_MEMORY.values() for key in keys),
            **work.columns(),
            longest_row=None,
        )
        for one, work in zip(found, group_figures(trace, member, len(found)), strict=True)
    )


def _category(trace: Trace, name: str | None, group: Group) -> Kind:
    """Return the kind of work of a row's name."""
    if group == "category":
        return next((kind for kind in kinds_of_work.KINDS if kind == name), "other")
    return "other" if name is None else kinds_of_work.kind_of(name, trace.vendor)


def _others(trace: Trace, figures: dict[str, I64], rest: I64) -> OtherOperators:
    own = device_times.known_sum(trace, int(figures["device_self_ns"][rest].sum()))
    calls, host = (int(figures[key][rest].sum()) for key in ("calls", "host_self_ns"))
    return OtherOperators(len(rest), calls, host, own)
