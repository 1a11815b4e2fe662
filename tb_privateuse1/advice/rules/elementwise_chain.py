"""Chains of elementwise kernels: each one reads and writes memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_NAMES = (
    r"^aten::(add|sub|rsub|mul|div|neg|abs|exp|log|sqrt|rsqrt|pow|square|reciprocal|sigmoid|tanh"
    r"|relu|gelu|silu|leaky_relu|hardtanh|clamp|clamp_min|clamp_max|where|masked_fill|fill"
    r"|threshold_backward|sigmoid_backward|tanh_backward|gelu_backward|silu_backward|addcmul"
    r"|addcdiv|lerp|eq|ne|gt|ge|lt|le|logical_\w+|bitwise_\w+|maximum|minimum|dropout"
    r"|native_dropout|native_dropout_backward|masked_scale)_?$"
)
_OPTIMIZER = r"^Optimizer\.(step|zero_grad)#"
_LEAST, _MANY = 0.05, 3


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield runs of three or more such kernels on a lane without another between."""
    kernels = case.trace.kernels
    named = np.append(case.named("ops", _NAMES), False)
    rows = np.flatnonzero(case.judged_kernels & (kernels.kind == 0))
    rows = rows[np.lexsort((kernels.start_ns[rows], kernels.lane[rows]))]
    chained = named[kernels.op[rows]]
    starts = np.append(True, kernels.lane[rows][1:] != kernels.lane[rows][:-1])[: len(rows)]
    starts |= ~chained | np.append(True, ~chained[:-1])[: len(rows)]
    run = np.cumsum(starts) - 1
    length = np.bincount(run, minlength=1)
    in_run = chained & (length[run] >= _MANY)
    in_run[in_run] = case.around(kernels.op[rows][in_run], case.named("ops", _OPTIMIZER)) < 0
    rows, run = rows[in_run], run[in_run]
    if not len(rows):
        return
    removable = _but_longest(case, rows, run)
    claim = case.of_device(case.time(removable, "kernels"))
    if case.share(intervals.length(claim)) < _LEAST:
        return
    runs = len(np.unique(run))
    yield RuleFinding(
        title=say(
            "Unfused elementwise operators take {share} of the time more than needed",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{kernels:,} kernels in {runs:,} runs of three or more only combine tensors "
            "element by element. Each reads from memory what the one before has just written.",
            kernels=len(rows),
            runs=runs,
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "All but the longest kernel of each run, while others waited for the device: "
            "fused, a run is one way through memory."
        ),
        claim=claim,
        removes=case.without(kernels=removable),
        confidence="medium",
        source=case.source(np.unique(kernels.op[rows]).astype(np.int64)),
        lacks=case.lacks("stacks"),
    )


def _but_longest(case: RuleContext, rows: I64, run: I64) -> I64:
    kernels = case.trace.kernels
    order = np.lexsort((kernels.end_ns[rows] - kernels.start_ns[rows], run))
    last = np.append(run[order][1:] != run[order][:-1], True)
    removable: I64 = rows[order[~last]]
    return removable


RULE = Rule(
    name="elementwise_chain",
    title=say("Unfused elementwise operators"),
    cause="device",
    looks_for=say(
        "Three or more elementwise kernels in a row on a stream, outside of the optimizer."
    ),
    why=say("Such kernels wait for memory; one that does all of it needs a single pass."),
    fix=say(
        "torch.compile fuses them; else use fused operators (F.silu, torch.addcmul, fused "
        "normalisation), or write a kernel for the hottest chain."
    ),
    threshold=say("5 % of the step: torch.compile has a price, too."),
    reference=say("TraceLens fusion opportunities; msprof-analyze fusible sequences."),
    check=check,
    needs=("device", "operators", "links"),
)
