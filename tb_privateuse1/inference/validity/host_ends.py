"""Repair the ends of host ranges that end long after their recording does.

A range of more than a day is longer than any recording. So is one that lasts longer than all ranges
take to begin, and long enough for an overflow, if its thread contradicts it: an operator that
outlasts the operator or the step around it, or a call of the runtime around operators. Others may
be true: a wait for the device ends a recording.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference.quality.check_subject import microseconds
from tb_privateuse1.inference.validity.far_times import DAY_NS
from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE, Figures, Finding
from tb_privateuse1.trace.groupby import LAST, maxima, split_by_value
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.trace.vendor import Vendor

_OVERFLOW_NS = 1 << 32
"""The least time that a counter of 32 bits in ns is off by when it overflows."""
_OPERATORS = frozenset({"cpu_op", "operator"})
_OTHERS = frozenset({"user_annotation", "python_function"})
_FIGURES: tuple[Figures, ...] = ("operators", "steps", "stacks")


def cut(raw: Raw, vendor: Vendor) -> tuple[Raw, tuple[Finding, ...]]:
    """Return the columns with possible ends of host ranges, and a finding that counts them.

    A repaired range is as long as the longest other one of its name, but ends with the one around
    it, and with the recording.
    """
    groups = {category: group for category, group in raw.groups.items() if len(group)}
    if not groups:
        return raw, ()
    first = min(int(group.start_ns.min()) for group in groups.values())
    last = max(int(group.start_ns.max()) for group in groups.values())
    host = [c for c in groups if _is_host(c.lower(), vendor)]
    long = {c: np.flatnonzero(groups[c].end_ns - groups[c].start_ns > last - first) for c in host}
    long = {
        c: r[groups[c].end_ns[r] - groups[c].start_ns[r] >= _OVERFLOW_NS] for c, r in long.items()
    }
    if not any(_may_be_wrong(groups[c], rows, c) for c, rows in long.items()):
        return raw, ()
    operators = _others(raw, groups, long)
    limits = {c: _limits(groups[c], rows, operators) for c, rows in long.items()}
    wrong = {c: _contradicted(groups[c], long[c], limits[c], operators, c, vendor) for c in host}
    lost = {c: long[c][wrong[c]] for c in host if wrong[c].any()}
    if not lost:
        return raw, ()
    last_end = max(last, *(_last_end(groups[c], lost.get(c)) for c in host))
    repaired = dict(raw.groups)
    for category, rows in lost.items():
        limit = np.minimum(limits[category][wrong[category]], last_end)
        end = _possible_ends(groups[category], rows, limit)
        repaired[category] = replace(groups[category], end_ns=end)
    return replace(raw, groups=repaired), (_finding(raw, lost, sum(len(groups[c]) for c in host)),)


def _may_be_wrong(group: Group, rows: I64, category: str) -> bool:
    """Return whether any long range may be contradicted: annotations and frames are by a day."""
    length = group.end_ns[rows] - group.start_ns[rows]
    return bool(len(rows)) and (category.lower() not in _OTHERS or bool((length > DAY_NS).any()))


def _is_host(category: str, vendor: Vendor) -> bool:
    calls = vendor.launch_categories.search(category)
    return category in _OPERATORS or category in _OTHERS or bool(calls)


def _others(raw: Raw, groups: dict[str, Group], long: dict[str, I64]) -> Group:
    """Return the operators and steps that are not long, and start with no long range.

    Of two ranges that start together, nothing but the length tells which is the outer one.
    """
    starts = np.concatenate([groups[c].start_ns[rows] for c, rows in long.items()])
    is_step = step_strings(raw.strings)
    found = []
    for category in long:
        group = groups[category]
        kept = ~np.isin(group.start_ns, starts)
        kept[long[category]] = False
        if category.lower() not in _OPERATORS:
            kept &= is_step[group.name] & (category.lower() in _OTHERS)
        found.append(group.take(kept))
    return Group.join(found, MISSING_OF)


def _limits(group: Group, rows: I64, operators: Group) -> I64:
    """Return the end of the operator or step around each row; a late time without one."""
    place = group.thread[rows], group.start_ns[rows]
    around = intervals.innermost(operators.thread, operators.start_ns, operators.end_ns, *place)
    limit = np.append(operators.end_ns, LAST)[around]
    return np.where(limit > place[1], limit, LAST)


def _contradicted(
    group: Group, rows: I64, limits: I64, operators: Group, category: str, vendor: Vendor
) -> Bools:
    """Return which long ranges last more than a day, or are contradicted by their thread."""
    start, end = group.start_ns[rows], group.end_ns[rows]
    found: Bools = end - start > DAY_NS
    if category.lower() in _OPERATORS:
        return found | (end > limits)
    if vendor.launch_categories.search(category.lower()):
        for thread, own in split_by_value(group.thread[rows]):
            starts = np.sort(operators.start_ns[operators.thread == thread])
            following = np.append(starts, LAST)[np.searchsorted(starts, start[own], side="right")]
            found[own] |= following < end[own]
    return found


def _last_end(group: Group, wrong: I64 | None) -> int:
    ends = group.end_ns if wrong is None else np.delete(group.end_ns, wrong)
    return int(ends.max(initial=0))


def _possible_ends(group: Group, wrong: I64, limit: I64) -> I64:
    """Return the ends, of wrong rows the latest ones that a limit and others of the name allow."""
    length = group.end_ns - group.start_ns
    length[wrong] = MISSING
    longest = maxima(group.name, length, int(group.name.max()) + 1, int(MISSING))[group.name[wrong]]
    start, end = group.start_ns[wrong], group.end_ns.copy()
    latest = np.where(longest >= 0, start + np.maximum(longest, 0), LAST)
    end[wrong] = np.maximum(start, np.minimum(latest, limit))
    return end


def _finding(raw: Raw, wrong: dict[str, I64], total: int) -> Finding:
    lengths = [
        (int(raw.groups[c].end_ns[row] - raw.groups[c].start_ns[row]), c, row)
        for c, rows in wrong.items()
        for row in rows.tolist()
    ]
    longest, category, row = max(lengths)
    message = say(
        "{count:,} of {total:,} ranges of the host last longer than the recording, up to {time} "
        "({name}). They end with the range around them, or are as long as others of their name.",
        count=len(lengths),
        total=total,
        time=microseconds(longest),
        name=shorten(raw.strings[raw.groups[category].name[row]], LONGEST_INLINE),
    )
    hint = say(
        "A counter of the profiler overflowed, or it wrote no end. How long they took is not known."
    )
    return Finding("impossible_host_ends", message, hint, len(lengths), "warning", _FIGURES)
