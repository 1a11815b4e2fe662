"""Group device activities that no operator of the recording launched.

They are rows by the launch call, such as that of a graph's replay, and by the operator of the
graph's capture where it is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import kinds_of_work, module_of
from tb_privateuse1.analysis.operators.groups import Group, call_site_of, frame_stack, module_class
from tb_privateuse1.trace import kernel_context, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, split_by_value, sums
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools


class Origin(NamedTuple):
    """The origin of activities; None if it is not known, or does not separate rows."""

    name: str | None = None
    """The captured operator, or its kind of work."""
    launcher: str | None = None
    """The call of the device's runtime."""
    module: str | None = None
    stack: str | None = None


class Row(Struct, frozen=True):
    """The activities of one launch call and captured operator."""

    origin: Origin
    activities: I64
    """Rows of ``trace.kernels``."""
    device_ns: int
    bound_ns: int | None
    bounded_ns: int
    launches: int
    launch_ns: int


def rows_without_operator(trace: Trace, inside: Bools, group: Group, limit: int) -> list[Row]:
    """Return the groups of activities without an operator, the most time first.

    ``inside`` selects rows of ``trace.kernels``. Groups beyond ``limit``, and activities without a
    known origin, are one last row.
    """
    rows = np.flatnonzero(inside & (trace.kernels.op < 0))
    origins, member = _origins(trace, rows, group)
    duration = (trace.kernels.end_ns - trace.kernels.start_ns)[rows]
    total = sums(member, duration, len(origins))
    order = [i for i in np.argsort(-total, kind="stable").tolist() if origins[i] != Origin()]
    shown = order[: max(limit, 0)]
    place = np.full(len(origins), len(shown))
    place[shown] = np.arange(len(shown))
    found = [origins[i] for i in shown] + [Origin()]
    return [_row(trace, rows[part], found[i]) for i, part in split_by_value(place[member])]


def _origins(trace: Trace, rows: I64, group: Group) -> tuple[list[Origin], I64]:
    """Return the distinct origins of activities, and the index of that of each."""
    kernels, none = trace.kernels.take(rows), np.full(len(rows), NONE, np.int32)
    operator = kernel_context.captured_operators(trace, kernels)
    launcher = kernel_context.launching_call(trace)[rows]
    module = frame = capture = none
    if group == "module":
        called = lookup(trace.launches.frame, kernels.launch, NONE)
        captured = kernel_context.captured_modules(trace, kernels)
        module = np.where(captured >= 0, captured, module_of.frame_modules(trace, called))
    if group == "stack":
        capture, frame = kernels.capture, kernel_context.kernel_context(trace).frame[rows]
        frame = np.where(capture >= 0, NONE, frame)
    first, member = group_rows(operator, launcher, module, frame, capture)
    number: dict[Origin, int] = {}
    of = []
    for i in first.tolist():
        name = trace.text(operator[i]) or None
        if group == "category" and name is not None:
            name = kinds_of_work.kind_of(name, trace.vendor)
        stack = kernel_context.captured_stack(trace, int(capture[i]))
        stack = stack or frame_stack(trace, int(frame[i]))
        origin = Origin(
            name,
            trace.text(launcher[i]) or None,
            module_class(trace.text(module[i])),
            call_site_of(stack),
        )
        of.append(number.setdefault(origin, len(number)))
    return list(number), np.array(of, np.int64)[member]


def _row(trace: Trace, rows: I64, origin: Origin) -> Row:
    kernels = trace.kernels.take(rows)
    duration = kernels.end_ns - kernels.start_ns
    calls = np.unique(kernels.launch[kernels.launch >= 0])
    return Row(
        origin=origin,
        activities=rows,
        device_ns=int(duration.sum()),
        bound_ns=uncertainty.duration_sum_bound(kernels),
        bounded_ns=int(duration[uncertainty.bounded_only(kernels)].sum()),
        launches=len(calls),
        launch_ns=int((trace.launches.end_ns[calls] - trace.launches.start_ns[calls]).sum()),
    )
