"""Differential flame graph: the call trees of two traces as one, with the change of each node."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.analysis.comparison.repeats import same_steps
from tb_privateuse1.analysis.comparison.rows import Status
from tb_privateuse1.analysis.comparison.significance import Verdict
from tb_privateuse1.analysis.flame import compared
from tb_privateuse1.analysis.flame.ignored import Ignored, parse_patterns
from tb_privateuse1.analysis.flame.tree import KINDS, Scope, Tree, build
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace import call_tree, device_times
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.flame import (
    GroupOption,
    IgnoreOption,
    LevelsOption,
    LibrariesOption,
    check_limit,
    find,
    largest,
    nodes_below,
    ordered,
)
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import chosen_window

Unit = Literal["device", "host"]


class FlameDiffNode(Struct, frozen=True):
    """All ranges with the same names from the root down, in both traces; figures are per step."""

    name: str
    kind: str
    """As in the flame graph."""
    parent: int | None
    """The row around it; null for the outermost."""
    status: Status
    base_calls: float
    now_calls: float
    base_ns: int | None
    now_ns: int | None
    """With the nodes inside. Null if the device time is not known."""
    change_ns: int | None
    noise_ns: int | None
    """How far off the change may be by the spread over steps; null with less than two of either."""
    bound_ns: int | None
    """How far off the change may be as device times are inferred; 0 for measured ones."""
    verdict: Verdict


class FlameDiff(Result, frozen=True):
    """The result of the lookup: rows depth first, the most time of both first among siblings."""

    provenance: Provenance
    base: Provenance
    rows: tuple[FlameDiffNode, ...]
    by: Unit
    base_steps: int
    now_steps: int
    base_total_ns: int | None
    now_total_ns: int | None
    """Per step, of all rows and what is too small to be one; null if it is not known."""
    nodes: int
    """How many nodes there are below the root, shown or not."""


def flame_diff(
    trace: Trace,
    base: Trace,
    *,
    by: Annotated[
        Literal["best", "device", "host"],
        "best is device time where both traces have it, else host time",
    ] = "best",
    levels: LevelsOption = "all",
    group: GroupOption = "instance",
    ignore_libraries: LibrariesOption = False,
    ignore: IgnoreOption = None,
    root: Annotated[str | None, "the first node: names from the outermost on, with ;"] = None,
    limit: Annotated[int, "at most this many rows, the largest first"] = 2000,
    step: Annotated[
        int | None, "the N of ProfilerStep#N in the new trace; the steady ones by default"
    ] = None,
    base_step: Annotated[
        int | None, "the N of ProfilerStep#N in the base; the steady ones by default"
    ] = None,
) -> FlameDiff:
    """The call trees of two traces, per step: what ``trace`` gains or loses against ``base``.

    Raises TraceError ``unknown_step``, ``unknown_node`` or ``bad_option``.
    """
    check_limit(limit)
    both = bool(len(trace.kernels) and len(base.kernels))
    unit: Unit = "device" if by == "device" or (by == "best" and both) else "host"
    ignored = Ignored(ignore_libraries, parse_patterns(ignore))

    def tree_of(part: Window) -> Tree:
        return build(part.trace, Scope(unit == "device", levels, group, ignored, part))

    now, old = chosen_window(trace, step), chosen_window(base, base_step)
    now_steps, base_steps = now.compared_steps, old.compared_steps
    trees = compared.compare(tree_of(old), tree_of(now))
    sides = (_Side(base, trees.base, base_steps, unit), _Side(trace, trees.now, now_steps, unit))
    top = NONE if root is None else find(trees.now, call_tree.split_path(root))
    totals = tuple(side.known(int(side.tree.total[side.tree.parent < 0].sum())) for side in sides)
    # Shares of a step of each: of equal weight, and whole numbers.
    size = trees.base.total * max(len(now_steps), 1) + trees.now.total * max(len(base_steps), 1)
    below = nodes_below(trees.now.parent, top)
    above = NONE if top == NONE else int(trees.now.parent[top])
    whole = int(size[below & (trees.now.parent == above)].sum())
    chosen = largest(size, below, whole, limit)
    rows, at = ordered(trees.now.parent, size, chosen, above)
    return FlameDiff(
        provenance=provenance(trace, now),
        base=provenance(base, old),
        rows=tuple(_rows(sides, rows, at, repeats=same_steps(old, now))),
        by=unit,
        base_steps=len(base_steps),
        now_steps=len(now_steps),
        base_total_ns=totals[0],
        now_total_ns=totals[1],
        nodes=int((below & (size > 0)).sum()),
    )


class _Side(Struct, frozen=True):
    """One of the traces, with its tree over the nodes of both."""

    trace: Trace
    tree: Tree
    steps: I64
    unit: Unit

    def known(self, ns: int) -> int | None:
        """Return a sum per step; None if it is not known."""
        mean = round(ns / max(len(self.steps), 1))
        return mean if self.unit == "host" else device_times.known_sum(self.trace, mean)

    def bound(self, node: int) -> float | None:
        """Return the bound of a node's time per step."""
        bound = int(self.tree.bound[node])
        if bound == MISSING:
            return None
        known = bound if self.unit == "host" else device_times.known_bound(self.trace, bound)
        return None if known is None else known / max(len(self.steps), 1)


def _rows(
    sides: tuple[_Side, _Side], nodes: list[int], at: dict[int, int], *, repeats: bool
) -> list[FlameDiffNode]:
    tree = sides[1].tree
    chosen = np.zeros(len(tree), np.bool_)
    chosen[nodes] = True
    place = np.cumsum(chosen) - 1
    samples = [compared.sample(s.tree, chosen, s.steps) for s in sides]
    noise = significance.noise(*samples, repeats=repeats)
    rows = []
    for node in nodes:
        before, after = (side.known(int(side.tree.total[node])) for side in sides)
        calls = [float(side.tree.calls[node] / max(len(side.steps), 1)) for side in sides]
        change = None if before is None or after is None else after - before
        spread = None if noise is None else round(float(noise[place[node]]))
        bounds = [side.bound(node) for side in sides]
        bound = None if None in bounds else round(sum(b or 0 for b in bounds))
        verdict: Verdict = "unknown"
        if change is not None:
            verdict = significance.verdict(change, spread, bound)
        kind, text = tree.labels[tree.label[node]]
        rows.append(
            FlameDiffNode(
                name=text,
                kind=KINDS[kind],
                parent=at.get(int(tree.parent[node])),
                status=("both" if calls[0] else "new") if calls[1] else "gone",
                base_calls=calls[0],
                now_calls=calls[1],
                base_ns=before,
                now_ns=after,
                change_ns=change,
                noise_ns=spread,
                bound_ns=bound,
                verdict=verdict,
            )
        )
    return rows
