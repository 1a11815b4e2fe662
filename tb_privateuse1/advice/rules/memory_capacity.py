"""Device memory close to its capacity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.memory_peak import peak_use
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.memory.categories import Category
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64

_LEAST = 0.9
"""Share of the capacity (torch-tb-profiler)."""
_MANY, _STEADY = 100, 0.02
"""Events of a program that works; the swing of its level, as a share of the capacity."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield per device the greatest total reserved, or allocated if that is unknown."""
    trace = case.trace
    for device in allocations.memory_devices(trace.memory):
        capacity = allocations.capacity_bytes(trace, device)
        if capacity is None:
            continue
        rows = _rows(case, device)
        memory = trace.memory.take(rows)
        reserved = memory.reserved_bytes.max(initial=MISSING)
        column = memory.reserved_bytes if reserved > 0 else memory.allocated_bytes
        peak = int(column.max(initial=0))
        if not _LEAST * capacity <= peak <= capacity or _is_pool(case, column, capacity):
            continue
        full = {
            "peak": with_unit("peak_bytes", peak),
            "capacity": with_unit("peak_bytes", capacity),
        }
        part = (
            say("{peak} of {capacity} were reserved.", **full)
            if reserved > 0
            else say("{peak} of {capacity} were allocated.", **full)
        )
        use = peak_use(case, device)
        yield RuleFinding(
            title=say(
                "{device} is {share} full at its peak",
                device=allocations.device_label(trace, device),
                share=percent(peak / capacity),
            ),
            explanation=say(
                "{part} A larger batch or a longer sequence may fail, and near the "
                "limit the allocator returns memory and asks for it again, "
                "which stops the device.{use}",
                part=part,
                use=use.sentence,
            ),
            events=len(rows),
            evidence=case.examples("memory", rows[[int(np.argmax(column))]]),
            how=say("Saves no time by itself: it endangers the run."),
            confidence="high",
            urgent=True,
            fix=_TEMPORARY
            if use.most == "temporaries" and use.in_optimizer
            else None
            if use.most is None
            else _FIXES.get(use.most),
        )


_FIXES: dict[Category, str] = {
    "parameters": say(
        "Shard the parameters over the ranks (FSDP), or keep them in bf16, fp8 or int8; the memory "
        "view shows what is alive at the peak."
    ),
    "optimizer_state": say(
        "Shard the optimizer's states over the ranks (FSDP, ZeroRedundancyOptimizer), or keep them "
        "in fewer bits (8-bit Adam); the memory view shows what is alive at the peak."
    ),
    "gradients": say(
        "Share gradients with the buckets (gradient_as_bucket_view), shard them (FSDP), or run the "
        "optimizer in the backward pass; the memory view shows what is alive at the peak."
    ),
}
"""By the category with most of the peak; of activations it is the rule's."""


_TEMPORARY = say(
    "Use a fused optimizer (fused=True): for-each ones make temporary results as large as all "
    "parameters. Or update parameters one by one (foreach=False), or in the backward pass."
)


def _is_pool(case: RuleContext, level_bytes: I64, capacity: int) -> bool:
    """Return whether the memory is that of a server, which takes it once and divides it itself.

    Its level hardly changes while requests come and go. In training it rises and falls with the
    activations of each step.
    """
    if len(level_bytes) < _MANY or len(find_passes(case.trace).backward_ns):
        return False
    return int(level_bytes.max() - level_bytes.min()) <= _STEADY * capacity


def _rows(case: RuleContext, device: tuple[int, int]) -> I64:
    memory = case.trace.memory
    return np.flatnonzero((memory.device_type == device[0]) & (memory.device == device[1]))


RULE = Rule(
    name="memory_capacity",
    title=say("Memory almost full"),
    cause="memory",
    looks_for=say("Peak of reserved (or allocated) bytes against the device's memory."),
    why=say("What does not fit ends the run."),
    fix=say(
        "Recompute activations (torch.utils.checkpoint), use mixed precision or a smaller batch "
        "with accumulation, shard states (FSDP); the memory view shows what is alive at the peak."
    ),
    threshold=say(
        "{least} of the capacity (torch-tb-profiler); a peak above it belongs to another device. A"
        " level that hardly changes is the memory that a server takes once and divides itself.",
        least=exact_percent(_LEAST),
    ),
    reference=say("torch-tb-profiler memory rule."),
    code=Code(
        before="x = layer(x)",
        after="x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)",
    ),
    check=check,
    reads_all=True,
    needs=("memory",),
)
