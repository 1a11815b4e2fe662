"""Kernels far from what such kernels reach of the device's roof, and those without known work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.slow_products import Slow, weight_reads
from tb_privateuse1.analysis.kernel_names import display_names
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.roofs.reach import Reach, reach
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64

_MUCH = 0.1
"""Share of the step: a tenth is worth a day's work (``engine``), and another kernel takes one."""
_FAR = 2 / 3
"""Of what such kernels reach: kernels of one library differ by a third with the shapes."""
_NAMES = 3
"""Kernels that a title or a sentence names."""
_EXPERTS = re.compile(r"(?i)matmul_ogs|fused_moe|moe_gemm|group(ed)?_?gemm|gmm_kernel")
"""Products of the tokens of each expert with its weights: Triton's, vLLM's, CK's, CUTLASS'."""
_TYPE = re.compile(r"(?i)mxfp4|mxfp8|nvfp4|fp4|fp8|e4m3|e5m2|int4|int8|bf16|fp16|tf32|fp32")


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield kernels below their roof, and the products of experts whose work is not recorded."""
    yield from _below_roof(case)
    yield from _experts(case)


def _below_roof(case: RuleContext) -> Iterator[RuleFinding]:
    table, own = reach(case.trace)
    free = case.judged_kernels & ~fusion.in_chains(case)
    free[weight_reads(case.trace).rows] = False
    far = table.least_ns < _FAR * table.best_share * table.duration_ns
    rows = np.flatnonzero(free & (own >= 0) & np.append(far, False)[own])
    spent = device_time.of_device(case, case.time(rows, "kernels"))
    if case.share(intervals.length(spent)) < _MUCH:
        return
    slow = _beyond(table, own[rows], rows, table.seen_share)
    most = device_time.claim_of(case, _beyond(table, own[rows], rows, table.best_share))
    claim = device_time.claim_of(case, slow)
    saves = case.share(intervals.length(claim)) >= MANY_PLACES
    chosen = groupby.distinct_values(own[rows])
    chosen = chosen[np.argsort(-table.duration_ns[chosen], kind="stable")]
    least, whole = table.least_ns[chosen].sum(), table.duration_ns[chosen].sum()
    yield RuleFinding(
        title=say(
            "Kernels reach {part} of their roof and take {spent} of the time",
            part=percent(float(least / whole)),
            spent=percent(case.share(intervals.length(spent))),
        ),
        explanation=say(
            "By the data sheet, {names} could take much less time for the same operations and "
            "bytes. Such kernels reach {best} of the roof elsewhere.",
            names=join_list(_described(case, table, int(one)) for one in chosen[:_NAMES]),
            best=percent(float(table.best_share[chosen].max())),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "Their time beyond the best rate of this recording, while others waited for the "
            "device. Upper end: what such kernels reach elsewhere."
        )
        if saves
        else say(
            "None is promised: nothing in this recording is nearer to the roof. With what such "
            "kernels reach elsewhere, it would be up to {most}.",
            most=percent(case.share(intervals.length(most))),
        ),
        claim=claim if saves else None,
        removes=device_time.removal_of(case, slow) if saves else None,
        most=max(intervals.length(most) / max(intervals.length(claim), 1), 1.0),
        confidence="low",
        source=case.source(case.trace.kernels.op[rows].astype(np.int64)),
        lacks=case.lacks("stacks"),
    )


def _beyond(table: Reach, number: I64, rows: I64, share: np.ndarray) -> Slow:
    """Return the share of each row's time beyond a share of the roof, where it is far from it."""
    least = table.least_ns / np.maximum(share * table.duration_ns, 1)
    return Slow(rows, np.where(least < _FAR, 1 - least, 0.0)[number])


def _described(case: RuleContext, table: Reach, one: int) -> str:
    name = int(table.name[one])
    return say(
        "{name} ({part} of its {roof})",
        name=display_names(case.trace).get(name) or case.trace.text(name),
        part=percent(float(table.least_ns[one] / table.duration_ns[one])),
        roof=say("arithmetic") if table.is_compute[one] else say("memory"),
    )


def _experts(case: RuleContext) -> Iterator[RuleFinding]:
    trace = case.trace
    rows = case.kernels(_EXPERTS.pattern)
    rows = rows[device_rates(trace).rows.flops[rows] == MISSING]
    spent = case.of_device(case.time(rows, "kernels"))
    if case.share(intervals.length(spent)) < _MUCH:
        return
    names = [trace.text(name) for name in groupby.distinct_values(trace.kernels.name[rows])]
    types = dict.fromkeys(kind.lower() for name in names for kind in _TYPE.findall(name))
    yield RuleFinding(
        title=say(
            "Products of experts take {spent} of the time, and their work is not recorded",
            spent=percent(case.share(intervals.length(spent))),
        ),
        explanation=say(
            "{kernels:,} kernels multiply tokens with the weights of their expert{types}. How "
            "many tokens each expert has is in no trace, and so is their distance from the roof. A "
            "device without units for a type of the weights converts them in each tile.",
            kernels=len(rows),
            types=say(", in {types} by their names", types=join_list(types)) if types else "",
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say("Not known without the number of tokens of each expert."),
        confidence="low",
        source=case.source(trace.kernels.op[rows].astype(np.int64)),
        fix=say(
            "Measure the kernel alone with the tokens of one batch, and compare with a dense "
            "product of as many rows. Tune its tiles for these sizes (vLLM: benchmark_moe.py), use "
            "the vendor's fused kernel for experts, or weights in a type of the matrix units."
        ),
    )


RULE = Rule(
    name="kernel_roofs",
    title=say("Kernels far from the reachable roof"),
    cause="device",
    looks_for=say(
        "Kernels of 50 µs and more with known operations and bytes, on a device with a data sheet, "
        "below {far} of what such kernels reach of it; products of experts by their names.",
        far=exact_percent(round(_FAR, 2)),
    ),
    why=say("The device is busy, but not with what it could do."),
    fix=say(
        "Look for a better kernel: another library or version, tuned tiles (torch.compile with "
        "mode='max-autotune'), sizes that are multiples of the tiles, a fused kernel of the vendor."
    ),
    threshold=say("{much} of the step: another kernel is a day's work.", much=exact_percent(_MUCH)),
    reference=say("S. Williams et al.: Roofline, CACM 2009; TraceLens roofline reports."),
    code=Code(
        before="model = torch.compile(model)",
        after='model = torch.compile(model, mode="max-autotune")',
    ),
    check=check,
    needs=("device",),
)
