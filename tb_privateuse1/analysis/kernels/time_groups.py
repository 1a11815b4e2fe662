"""Group device activities by operator, kernel, module class, function or annotation.

Without device times the same groups hold operators, for their host time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.operators import groups, module_of, named_regions, user_functions
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import kernel_context
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64

By = Literal["operator", "kernel", "module", "function", "annotation"]


class Label(NamedTuple):
    """The kind and the name of a group."""

    kind: str
    """``operator``, ``module``, ``function``, ``annotation``, or of an activity its kind."""
    name: str | None
    """None for what belongs to no operator, module, function or annotation."""
    launcher: str | None = None
    """Of activities that no operator launched: the call that did."""


class Groups(Struct, frozen=True):
    """A partition of the rows of a table."""

    labels: tuple[Label, ...]
    member: I64
    """The index of each row's label."""


def available_groups(trace: Trace) -> tuple[By, ...]:
    """Return the groups that the recording has names for."""
    on_device = len(trace.kernels) > 0
    captured = kernel_context.is_captured_module(trace)
    annotations = named_regions.find_regions(trace, "annotations")
    found: dict[By, bool] = {
        "operator": True,
        "kernel": on_device,
        "module": module_of.has_modules(trace) or bool(captured.any()),
        "function": _has_functions(trace),
        "annotation": len(annotations.name) > 0,
    }
    return tuple(by for by, known in found.items() if known)


def _has_functions(trace: Trace) -> bool:
    """Return whether any frame or stack has a function of the program."""
    if (user_functions.frame_functions(trace) >= 0).any():
        return True
    stacks = map(trace.text, np.unique(trace.ops.stack).tolist())
    return any(user_functions.listed_title(trace, stack, begins=False) for stack in stacks)


def activity_groups(trace: Trace, by: By) -> Groups:
    """Return the groups of all rows of ``trace.kernels``; each row is in one."""
    return BUDGET.compute(trace, (activity_groups, by), lambda: _of_activities(trace, by))


def operator_groups(trace: Trace, by: By) -> Groups:
    """Return the groups of all rows of ``trace.ops``; by kernel all are in one without a name."""
    return BUDGET.compute(trace, (operator_groups, by), lambda: _of_operators(trace, by))


def _of_activities(trace: Trace, by: By) -> Groups:
    kernels = trace.kernels
    match by:
        case "operator":
            names = kernel_context.operator_names(trace, kernels)
            launcher = kernel_context.launching_call(trace)

            def operator(i: int) -> Label:
                return Label(by, _text(trace, names[i]), _text(trace, launcher[i]))

            return _grouped(operator, names, launcher)
        case "kernel":
            kinds = breakdown.activity_kinds(kernels)

            def kernel(i: int) -> Label:
                return Label(breakdown.KINDS[kinds[i]], _text(trace, kernels.name[i]))

            return _grouped(kernel, kinds, kernels.name)
        case "module":
            return _modules(trace, _activity_modules(trace))
        case "function":
            return _functions(trace, *_activity_functions(trace))
        case "annotation":
            regions = named_regions.find_regions(trace, "annotations")
            region = np.maximum(*named_regions.kernel_regions(trace, regions))
            return _named(trace, by, lookup(regions.name, region, NONE))


def _of_operators(trace: Trace, by: By) -> Groups:
    match by:
        case "operator":
            return _named(trace, by, trace.ops.name)
        case "kernel":
            return _named(trace, by, np.full(len(trace.ops), -1, np.int32))
        case "module":
            return _modules(trace, groups.innermost_modules(trace))
        case "function":
            return _functions(trace, *user_functions.operator_functions(trace))
        case "annotation":
            regions = named_regions.find_regions(trace, "annotations")
            ahead = module_of.forward_operators(trace)
            of = np.where(ahead >= 0, lookup(regions.of_op, ahead, NONE), regions.of_op)
            return _named(trace, by, lookup(regions.name, of.astype(np.int32), NONE))


def _text(trace: Trace, string: np.integer) -> str | None:
    return trace.text(string) or None


def _grouped(label: Callable[[int], Label], *columns: NDArray[np.integer]) -> Groups:
    """Return the groups of rows with equal labels; ``label`` is that of a row."""
    first, group = group_rows(*columns)
    number: dict[Label, int] = {}
    of = [number.setdefault(label(i), len(number)) for i in first.tolist()]
    return Groups(tuple(number), np.array(of, np.int64)[group])


def _named(trace: Trace, kind: str, name: I32) -> Groups:
    return _grouped(lambda i: Label(kind, _text(trace, name[i])), name)


def _modules(trace: Trace, name: I32) -> Groups:
    def label(i: int) -> Label:
        return Label("module", groups.module_class(trace.text(name[i])))

    return _grouped(label, name)


def _functions(trace: Trace, stack: I32, function: I32) -> Groups:
    """Return groups by the function in a stack, or without one by that of a frame."""

    def label(i: int) -> Label:
        return Label("function", user_functions.listed_of(trace, stack[i], function[i]))

    return _grouped(label, stack, function)


def _activity_modules(trace: Trace) -> I32:
    """Return the innermost module of each activity; of a graph's replay that of the capture."""
    kernels = trace.kernels
    called = module_of.frame_modules(trace, lookup(trace.launches.frame, kernels.launch, NONE))
    captured = kernel_context.captured_modules(trace, kernels)
    without = np.where(captured >= 0, captured, called)
    linked = lookup(groups.innermost_modules(trace), kernels.op, NONE)
    return np.where(kernels.op >= 0, linked, without).astype(np.int32)


def _activity_functions(trace: Trace) -> tuple[I32, I32]:
    """Return the strings of the stack and of the function of each activity."""
    kernels = trace.kernels
    stack, function = user_functions.operator_functions(trace)
    captured = user_functions.captured_functions(trace)
    called = user_functions.frame_functions(trace)
    of_launch = lookup(called, kernel_context.kernel_context(trace).frame, NONE)
    of_capture = lookup(captured, kernels.capture, NONE)
    without = np.where(of_capture >= 0, of_capture, of_launch)
    of_op = lookup(function, kernels.op, NONE)
    found = np.where(kernels.op >= 0, of_op, without).astype(np.int32)
    return lookup(stack, kernels.op, NONE), found
