"""Find the named parts of a program: nn.Modules, or annotations where there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.model import ANNOTATION, Trace
from tb_privateuse1.trace.table import I32, I64

Source = Literal["modules", "annotations", "none"]


@dataclass(frozen=True)
class Regions:
    """Calls of modules (or annotations), and the one that each operator lies in."""

    source: Source
    name: I32
    start_ns: I64
    end_ns: I64
    parent: I32
    of_op: I32


def find_regions(
    trace: Trace, source: Literal["best", "modules", "annotations"] = "best"
) -> Regions:
    """Return the modules, or if none were recorded the annotations; ``source`` selects one."""
    found = _modules(trace)
    if source == "annotations" or (source == "best" and not len(found.name)):
        found = _annotations(trace)
    return found


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
    frames = trace.frames
    wanted = call_tree.is_module(trace)
    number = (np.cumsum(wanted) - 1).astype(np.int32)
    up = call_tree.take(number, intervals.nearest(frames.parent, wanted))
    inner = call_tree.take(number, call_tree.self_or_nearest(frames.parent, wanted))
    return Regions(
        "modules",
        frames.name[wanted],
        frames.start_ns[wanted],
        frames.end_ns[wanted],
        up[wanted],
        call_tree.take(inner, trace.ops.frame),
    )


def _annotations(trace: Trace) -> Regions:
    ops = trace.ops
    wanted = (ops.kind == ANNOTATION) & ~call_tree.starts_with(
        trace, call_tree.STEP, call_tree.LOADER
    )[ops.name]
    number = (np.cumsum(wanted) - 1).astype(np.int32)
    up = call_tree.take(number, intervals.nearest(ops.parent, wanted))
    return Regions(
        "annotations",
        ops.name[wanted],
        ops.start_ns[wanted],
        ops.end_ns[wanted],
        up[wanted],
        call_tree.take(number, call_tree.self_or_nearest(ops.parent, wanted)),
    )
