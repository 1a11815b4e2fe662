"""Allocations by the device's driver inside the step, which the caching allocator should serve."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.account.classes import NUMBER
from tb_privateuse1.analysis.account.host_activity import LAUNCHES
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import containing, lookup
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64

_RETURNS = r"(?i)free|release|unmap"
_EMPTIES = r"\bempty_?cache\b"
_FULL = 0.9
"""Share of the capacity from which a pool is full, as in ``memory_capacity``."""

Reason = Literal["grows", "emptied", "off", "pieces", "limit"]
"""Why steady steps call the driver: they only take memory; the program empties the cache; each
tensor comes from the driver; the memory is full, and in pieces; or it is at its limit."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the runtime calls that allocate or release in the judged steps."""
    launches, own = case.trace.launches, case.class_intervals
    here = (own.time_class == NUMBER["device_memory"]) & (own.table == LAUNCHES)
    rows = np.unique(own.row[here]).astype(np.int64)
    claim = case.of_host(case.in_classes("device_memory"))
    if claim is None or case.share(intervals.length(claim)) < NOISE:
        return
    called = sorted({case.trace.text(name) for name in launches.name[rows]})
    reason = find_reason(case, rows)
    yield RuleFinding(
        title=say(
            "Driver allocations {inside}: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
            inside=case.inside,
        ),
        explanation=say(
            "{calls} of {names} within the analyzed steps. Such calls wait for the device and "
            "take up to milliseconds; the caching allocator makes them unnecessary once it "
            "holds enough.{reason}",
            calls=plural(len(rows), "call"),
            names=join_list(called[:4]),
            reason="" if reason is None else _REASONS[reason],
        ),
        events=len(rows),
        evidence=case.examples("launches", rows),
        how=say("The time of these calls while the device had nothing to do."),
        claim=claim,
        change=case.change("class:device_memory=0"),
        confidence="high",
        source=_emptying_function(case, rows)
        if reason == "emptied"
        else case.source(launches.op[rows].astype(np.int64)),
        lacks=case.lacks("memory", "stacks"),
        fix=None if reason is None else _FIXES[reason],
    )


def find_reason(case: RuleContext, rows: I64) -> Reason | None:
    """Return why steady steps call the driver; None if too few steps show it.

    ``rows`` are those calls, of ``trace.launches``.
    """
    launches, steps = case.trace.launches, case.trace.steps.take(case.steps)
    returns = case.named("launches", _RETURNS)[rows]
    step = np.searchsorted(steps.start_ns, launches.start_ns[rows], side="right")
    takes, gives = int((~returns).sum()), int(returns.sum())
    # A caching allocator serves nearly all tensors by itself. While it fills, it returns nothing.
    is_unused = takes > len(steps) and 2 * takes >= _tensors(case)
    if is_unused and 2 * gives >= takes:
        return "off"
    taken, given = np.unique(step[~returns]), np.unique(step[returns])
    if len(steps) < 2 or 2 * len(taken) <= len(steps):
        return None
    if 2 * len(given) <= len(steps):
        return "grows"
    if len(_emptying(case, rows)):
        return "emptied"
    return "pieces" if _is_full(case) and _sizes_vary(case) else "limit"


def _tensors(case: RuleContext) -> int:
    """Return how many tensors were allocated in the judged steps; at least one.

    Without memory events, each kernel writes one.
    """
    memory, steps = case.trace.memory, case.trace.steps
    made = (memory.bytes > 0) & (memory.device_type != allocations.CPU)
    if not made.any():
        return max(int(case.judged_kernels.sum()), 1)
    step = containing(steps.host_start_ns, steps.host_end_ns, memory.ts_ns[made])
    return max(int(np.isin(step, case.steps).sum()), 1)


def _emptying(case: RuleContext, rows: I64) -> I64:
    """Return the calls below a frame that empties the allocator's cache."""
    trace = case.trace
    empties = call_tree.self_or_nearest(trace.frames.parent, case.named("frames", _EMPTIES))
    return rows[lookup(empties, trace.launches.frame[rows], NONE) >= 0]


def _emptying_function(case: RuleContext, rows: I64) -> ProgramFunction | None:
    return user_functions.of_launches(case.trace, _emptying(case, rows))


def _is_full(case: RuleContext) -> bool:
    """Return whether an accelerator's reserved memory came near its capacity."""
    memory = case.trace.memory
    for device in allocations.memory_devices(memory):
        capacity = allocations.capacity_bytes(case.trace, device)
        reserved = allocations.device_events(memory, device).reserved_bytes
        if capacity is not None and int(reserved.max()) >= _FULL * capacity:
            return True
    return False


def _sizes_vary(case: RuleContext) -> bool:
    """Return whether steps allocate blocks of other sizes than the step before did."""
    memory = case.trace.memory
    made = np.flatnonzero((memory.bytes > 0) & (memory.device_type != allocations.CPU))
    steps = case.trace.steps
    step = containing(steps.host_start_ns, steps.host_end_ns, memory.ts_ns[made])
    sizes = [np.unique(memory.bytes[made[step == one]]) for one in case.steps.tolist()]
    pairs = itertools.pairwise(one for one in sizes if len(one))
    differ = [not np.array_equal(before, after) for before, after in pairs]
    return 2 * sum(differ) > len(differ)


_REASONS: dict[Reason, str] = {
    "grows": say(" Steps take memory and return none: it grows, or shapes change."),
    "emptied": say(
        " Steps return memory in empty_cache() and take it again: the program empties the cache "
        "that would serve them."
    ),
    "off": say(
        " There are as many of them as tensors: the caching allocator is off, or the backend has "
        "none."
    ),
    "pieces": say(
        " Steps return memory and take it again: it is reserved nearly to the capacity, and sizes "
        "change from step to step, so that free pieces do not fit."
    ),
    "limit": say(
        " Steps return memory and take it again: the caching allocator works at the limit of the "
        "memory, or something empties its cache."
    ),
}

_FIXES: dict[Reason, str] = {
    "grows": say(
        "Leave the first steps out of the profile; keep shapes the same, or run the largest one "
        "first; look in the memory view for what is held from step to step."
    ),
    "emptied": say("Do not call empty_cache() in the loop: it makes no tensor smaller."),
    "off": say(
        "Switch the caching allocator on (unset PYTORCH_NO_CUDA_MEMORY_CACHING or the backend's "
        "variable). In a backend: serve tensors from a caching allocator (c10::DeviceAllocator)."
    ),
    "pieces": say(
        "Let segments grow (expandable_segments:True in PYTORCH_ALLOC_CONF), pad inputs to a few "
        "lengths, and leave more memory free."
    ),
    "limit": say(
        "Leave more memory free: a smaller batch, recomputed activations or sharded states; and "
        "do not call empty_cache() in the loop."
    ),
}

RULE = Rule(
    name="device_malloc",
    title=say("Memory from the driver in the loop"),
    cause="memory",
    looks_for=say("Runtime calls such as cudaMalloc, hipFree, aclrtMalloc within the steps."),
    why=say("Each is a synchronization, and a sign of memory at its limit or in pieces."),
    fix=say(
        "Leave the first steps out of the profile; keep shapes the same; let segments grow "
        "(expandable_segments:True); do not call empty_cache() in the loop; leave more memory "
        "free."
    ),
    threshold=say("{least} of the step: a warm allocator calls none.", least=exact_percent(NOISE)),
    reference=say("msprof-analyze memory rule (10 ms of aclrtMalloc and aclrtFree)."),
    code=Code(
        before=("for batch in loader:\n    train(batch)\n    torch.accelerator.empty_cache()"),
        after=("for batch in loader:\n    train(batch)"),
    ),
    check=check,
    needs=("device",),
)
