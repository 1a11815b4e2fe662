"""Memory that the allocator reserves but no tensor uses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace.model import MISSING

_LEAST, _MUCH = 0.3, 1 << 30
"""Share of the reserved bytes, and bytes. The caching allocator rounds and splits blocks of 2 and
20 MiB (c10/cuda), so that small pools always have unused parts."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield reserved minus allocated memory at the peak of the allocated memory."""
    trace = case.trace
    for device in allocations.memory_devices(trace.memory):
        memory = trace.memory
        rows = np.flatnonzero(
            (memory.device_type == device[0])
            & (memory.device == device[1])
            & (memory.reserved_bytes != MISSING)
            & (memory.allocated_bytes != MISSING)
        )
        if device[0] == allocations.CPU or not len(rows):
            continue
        peak = rows[int(np.argmax(memory.allocated_bytes[rows]))]
        reserved, used = int(memory.reserved_bytes[peak]), int(memory.allocated_bytes[peak])
        unused = reserved - used
        if unused < _MUCH or unused < _LEAST * reserved:
            continue
        yield RuleFinding(
            title=say(
                "{unused} of {device} are reserved and not used at the peak",
                unused=with_unit("bytes", unused),
                device=allocations.device_label(trace, device),
            ),
            explanation=say(
                "When most was allocated ({used}), the allocator held {reserved}: {share} lie in "
                "pieces that did not fit what was asked for, or were needed before.",
                used=with_unit("bytes", used),
                reserved=with_unit("bytes", reserved),
                share=percent(unused / reserved),
            ),
            events=1,
            evidence=case.examples("memory", np.array([peak])),
            how=say("Saves memory, and time only where the device runs out of it."),
            confidence="medium",
        )


RULE = Rule(
    name="fragmentation",
    title=say("Memory reserved and not used"),
    cause="memory",
    looks_for=say("Total Reserved less Total Allocated when most is allocated."),
    why=say("It is missing for larger batches, and leads to running out of memory that is there."),
    fix=say(
        "Let segments grow (expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF or the backend's "
        "own), keep shapes the same from step to step, allocate the largest buffers first."
    ),
    threshold=say(
        "{least} and {much} GiB: an allocator needs some room to round and to cache.",
        least=exact_percent(_LEAST),
        much=_MUCH >> 30,
    ),
    reference=say("PyTorch CUDA semantics, memory management."),
    code=Code(
        before="python train.py",
        after="PYTORCH_ALLOC_CONF=expandable_segments:True python train.py",
    ),
    check=check,
    reads_all=True,
    needs=("memory",),
)
