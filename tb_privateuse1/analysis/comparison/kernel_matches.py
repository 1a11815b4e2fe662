"""Match kernels that have other names in the other trace, by the operators that launch them.

Compilers and libraries put versions, tiles and architectures into names. Two kernels are one if the
same operator launches each of them with the same inputs at the same place among its kernels, for
most of the launches of both. Names are not compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from tb_privateuse1.trace import groupby, kernel_context
from tb_privateuse1.trace.model import KERNEL, Trace
from tb_privateuse1.trace.table import I64

_Site = tuple[str, str, int]
"""The launching operator, its input shapes, and the place of the kernel among its kernels."""


def renamed_kernels(base: Trace, now: Trace, base_steps: I64, now_steps: I64) -> Mapping[str, str]:
    """Return the new name of each kernel that only the base has; steps are rows of ``steps``."""
    old, new = _sites(base, base_steps), _sites(now, now_steps)
    gone, come = (
        {name: sites for name, sites in one.items() if name not in other}
        for one, other in ((old, new), (new, old))
    )
    of_site: dict[_Site, set[str]] = defaultdict(set)
    for name, sites in come.items():
        for site in sites:
            of_site[site].add(name)
    found: dict[str, str] = {}
    for name, sites in gone.items():
        near = {other for site in sites for other in of_site.get(site, ())}
        same = [other for other in sorted(near) if _are_one(sites, come[other])]
        if len(same) == 1:
            found[name] = same[0]
    taken = Counter(found.values())
    return {name: other for name, other in found.items() if taken[other] == 1}


def _are_one(old: Counter[_Site], new: Counter[_Site]) -> bool:
    """Return whether most launches of each have a counterpart in the other."""
    common = sum((old & new).values())
    return 2 * common > max(old.total(), new.total())


def _sites(trace: Trace, steps: I64) -> dict[str, Counter[_Site]]:
    """Return by kernel its launches in the first chosen step by site."""
    kernels, ops = trace.kernels, trace.ops
    found: dict[str, Counter[_Site]] = defaultdict(Counter)
    if not len(steps):
        return found
    names = kernel_context.operator_names(trace, kernels)
    rows = np.flatnonzero(
        (kernels.kind == KERNEL) & ~kernels.communication & (kernels.step == steps[0])
        & (kernels.op >= 0) & (names >= 0)
    )  # fmt: skip
    op = kernels.op[rows]
    order = np.lexsort((kernels.start_ns[rows], op))
    rows, op = rows[order], op[order]
    first = np.searchsorted(op, op)
    place = np.arange(len(op)) - first
    heads, group = groupby.group_rows(kernels.name[rows], names[rows], ops.shapes[op], place)
    count = np.bincount(group, minlength=len(heads)).tolist()
    for i, calls in zip(heads.tolist(), count, strict=True):
        row = rows[i]
        site = trace.text(names[row]), trace.text(ops.shapes[op[i]]), int(place[i])
        found[trace.text(kernels.name[row])][site] += calls
    return found
