"""Give kernels of graph replays the modules and names that the program wrote into the graph.

``torch.cuda.graph(..., enable_annotations=True)`` keeps what ``mark_kernels`` says of each node.
``torch.cuda._annotate_cuda_graph_trace`` (torch 2.12 and later) writes it into the arguments of
kernels with a ``graph node id``. docs/reference/formats.md has the names and their sources.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference import eager_matches
from tb_privateuse1.inference.stage_inputs import GraphAnnotations, Strings
from tb_privateuse1.trace.call_tree import MODULE
from tb_privateuse1.trace.captures import Captures
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import ANNOTATION, FRAME, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import Bools

MARK = "(annotated in the graph)"
"""The outermost range of what annotations say, and no recorded capture."""

_OPERATOR = re.compile(r"[A-Za-z_]\w*::[\w.]+")
_MOST_MODULES = 64
"""Around a kernel: more are no path of modules."""

_Range = tuple[str, int]
"""Name and kind of a range."""


def add_annotations(trace: Trace, annotations: GraphAnnotations | None) -> Trace:
    """Return the trace with the annotated places of kernels that no capture has.

    ``captures`` of kernels that an eager run matches (``eager_matches``) keep their operators,
    inside of the annotated modules.
    """
    kernels, captures = trace.kernels, trace.captures
    if annotations is None or not len(annotations.event):
        return trace
    at = np.searchsorted(annotations.event, kernels.event)
    at = np.minimum(at, len(annotations.event) - 1)
    matched = _is_matched(trace)[kernels.capture]
    annotated = (annotations.event[at] == kernels.event) & (kernels.event >= 0)
    rows = np.flatnonzero(annotated & ((kernels.capture < 0) | matched))
    if not len(rows):
        return trace
    at, before = at[rows], kernels.capture[rows]
    first, group = group_rows(
        before, annotations.module[at], annotations.name[at], annotations.phase[at]
    )
    strings = Strings(trace.strings)
    tree = _Tree(strings, captures)
    leaves = []
    for row in first.tolist():
        inside = _operators_of(trace, int(before[row]))
        leaves.append(tree.leaf([*_annotated(trace, annotations, int(at[row])), *inside]))
    capture = kernels.capture.copy()
    capture[rows] = np.array(leaves, np.int32)[group]
    return replace(
        trace,
        kernels=replace(kernels, capture=capture),
        captures=tree.captures(),
        strings=tuple(strings.all),
    )


def _is_matched(trace: Trace) -> Bools:
    """Return which ranges an eager run has; the last entry is for ``NONE``."""
    captures, found = trace.captures, np.zeros(len(trace.captures) + 1, np.bool_)
    for row, (name, parent) in enumerate(zip(captures.name, captures.parent, strict=True)):
        found[row] = found[parent] if parent >= 0 else trace.text(name) == eager_matches.MARK
    return found


def _annotated(trace: Trace, annotations: GraphAnnotations, row: int) -> list[_Range]:
    """Return the ranges that a row says, the outermost first."""
    module, name, phase = (
        trace.text(int(column[row])) if column[row] >= 0 else ""
        for column in (annotations.module, annotations.name, annotations.phase)
    )
    parts = module.split(".")[:_MOST_MODULES] if module else []
    paths = [".".join(parts[: n + 1]) for n in range(len(parts))]
    found = [(MARK, ANNOTATION)]
    found += [(phase, ANNOTATION)] * bool(phase)
    found += [(MODULE + path, FRAME) for path in paths]
    if name:
        found.append((name, OPERATOR if _OPERATOR.fullmatch(name) else ANNOTATION))
    return found


def _operators_of(trace: Trace, row: int) -> list[_Range]:
    """Return the operators around a captured launch, the outermost first."""
    captures, found = trace.captures, []
    while row >= 0:
        if captures.kind[row] == OPERATOR:
            found.append((trace.text(captures.name[row]), OPERATOR))
        row = int(captures.parent[row])
    return found[::-1]


class _Tree:
    """The ranges of captures, with new paths behind them."""

    def __init__(self, strings: Strings, captures: Captures) -> None:
        self._strings, self._before = strings, captures
        self._rows: dict[tuple[int, str, int], int] = {}

    def leaf(self, path: list[_Range]) -> int:
        """Return the row of the innermost range of a path."""
        parent = NONE
        for name, kind in path:
            behind = len(self._before) + len(self._rows)
            parent = self._rows.setdefault((parent, name, kind), behind)
        return parent

    def captures(self) -> Captures:
        """Return the whole table."""
        parents, names, kinds = zip(*self._rows, strict=True)
        ids = [self._strings.id(name) for name in names]
        return Captures(
            name=np.concatenate((self._before.name, ids)).astype(np.int32),
            kind=np.concatenate((self._before.kind, kinds)).astype(np.int8),
            parent=np.concatenate((self._before.parent, parents)).astype(np.int32),
        )
