"""Find the named parts of a program: nn.Modules, or annotations where there are none."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree, captured_ranges, intervals, kernel_context
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE, Frames, Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

Source = Literal["modules", "annotations", "none"]


class Regions(Struct, frozen=True):
    """Calls of modules (or annotations), and the one that each operator lies in."""

    source: Source
    name: I32
    start_ns: I64
    end_ns: I64
    parent: I32
    of_op: I32
    of_kernel: I32
    """That of each device activity without an operator: around its launch, or around its captured
    launch."""
    recorded: int
    """Calls in this recording. The rows behind are modules of a graph's capture, without times."""


def find_regions(
    trace: Trace, source: Literal["best", "modules", "annotations"] = "best"
) -> Regions:
    """Return the modules, or if none were recorded the annotations; ``source`` selects one."""
    found = _with_captured(trace, _modules(trace))
    if source == "annotations" or (source == "best" and not len(found.name)):
        found = _annotations(trace)
    return found


def _with_captured(trace: Trace, found: Regions) -> Regions:
    """Return the regions and, under those that replay graphs, the modules of the captures."""
    kernels = trace.kernels
    wanted = kernel_context.is_captured_module(trace)
    if found.source != "modules" or not wanted.any():
        return found
    n = len(found.name)
    nodes = call_tree.merge_calls(found.parent, found.name, np.ones(n, np.bool_))
    holder = lookup(captured_ranges.first_of_same_path(nodes), found.of_kernel, NONE)
    placed = captured_ranges.place_captures(trace.captures, wanted, holder, kernels.capture)
    parent = np.where(placed.parent >= 0, placed.parent + n, placed.holder)
    none = np.full(len(parent), NONE, np.int64)
    return Regions(
        found.source,
        np.concatenate((found.name, trace.captures.name[placed.node])),
        np.concatenate((found.start_ns, none)),
        np.concatenate((found.end_ns, none)),
        np.concatenate((found.parent, parent)).astype(np.int32),
        found.of_op,
        np.where(placed.of >= 0, placed.of + n, found.of_kernel).astype(np.int32),
        n,
    )


def kernel_regions(trace: Trace, regions: Regions) -> tuple[I32, I32]:
    """Return the region of each row of ``trace.kernels`` in the forward and the backward pass.

    An operator of the backward pass has its forward operator's region; an activity without an
    operator has that of its launch, in the forward pass. Each is ``NONE`` where the other holds.
    """
    kernels, forward = trace.kernels, call_tree.forward_of(trace)
    ahead = np.where(forward >= 0, NONE, regions.of_op).astype(np.int32)
    of_kernel = np.where(kernels.op >= 0, lookup(ahead, kernels.op, NONE), regions.of_kernel)
    back = lookup(lookup(regions.of_op, forward, NONE), kernels.op, NONE)
    return of_kernel.astype(np.int32), back


def region_labels(trace: Trace, name: I32, group: str) -> tuple[list[str], I32]:
    """Return the distinct labels, and the index of each range's label."""
    names, code = np.unique(name, return_inverse=True)
    texts = [trace.text(n).removeprefix(call_tree.MODULE) for n in names]
    if group == "class":
        texts = [call_tree.class_of(text) for text in texts]
    labels = list(dict.fromkeys(texts))
    number = {text: i for i, text in enumerate(labels)}
    return labels, np.array([number[text] for text in texts], np.int32)[code]


def _modules(trace: Trace) -> Regions:
    of_kernel = kernel_context.kernel_context(trace).frame
    return _regions("modules", trace.frames, call_tree.is_module(trace), trace.ops.frame, of_kernel)


def _annotations(trace: Trace) -> Regions:
    of_kernel = kernel_context.kernel_context(trace).around
    of_op = np.arange(len(trace.ops), dtype=np.int32)
    return _regions("annotations", trace.ops, call_tree.is_annotation(trace), of_op, of_kernel)


def _regions(
    source: Source, ranges: Frames | Ops, wanted: Bools, of_op: I32, of_kernel: I32
) -> Regions:
    """Return the wanted rows of a table; ``of_op`` and ``of_kernel`` are rows of it, or NONE."""
    number = (np.cumsum(wanted) - 1).astype(np.int32)
    around = lookup(number, intervals.nearest(ranges.parent, wanted), NONE)
    inner = lookup(number, call_tree.self_or_nearest(ranges.parent, wanted), NONE)
    return Regions(
        source,
        ranges.name[wanted],
        ranges.start_ns[wanted],
        ranges.end_ns[wanted],
        around[wanted],
        lookup(inner, of_op, NONE),
        lookup(inner, of_kernel, NONE),
        int(wanted.sum()),
    )
