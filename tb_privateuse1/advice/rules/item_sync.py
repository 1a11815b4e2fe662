"""``.item()`` and similar calls: the host waits until the device has finished."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.awaited_results import NUMBERS, held_reads
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64, Bools


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the waits inside operators that return a device value to Python.

    Where a busy machine held up the thread behind some, the others tell what a wait costs: the
    upper end of the range has all.
    """
    reading = case.named("ops", NUMBERS)
    every = case.waits_in(reading)
    waits = every[~held_reads(case, every)]
    claim = case.idle_by_waits(waits)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    rows = case.outermost(case.ops(NUMBERS))
    ops = rows[_waiting(case, rows, waits)]
    often = (
        say("once {per_step}", per_step=case.per_step)
        if len(ops) == len(case.steps)
        else say(
            "{times:.3g} times {per_step}", times=len(ops) / len(case.steps), per_step=case.per_step
        )
    )
    yield RuleFinding(
        title=say(
            "Values read from the device ({often}) cost {share} of the time",
            often=often,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} such as .item(), float(tensor) or “if tensor:” waited until the device "
            "had done all its work. The device then had nothing queued, and stood still until "
            "the host had launched again.",
            calls=plural(len(ops), "call"),
        ),
        events=len(ops),
        evidence=case.examples("ops", ops),
        how=say(
            "After each wait, the time in which the device had nothing to do, at most as long "
            "as the wait: so far ahead would the host have been without it."
        ),
        claim=claim,
        removes=case.without(waits=waits),
        most=len(every) / len(waits),
        confidence="high",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


def _waiting(case: RuleContext, rows: I64, waits: I64) -> Bools:
    """Return a flag per operator: one of the waits lies inside."""
    table = case.limits.waits
    ranges = (table.start_ns[waits], table.end_ns[waits])
    is_waiting: Bools = (
        intervals.covered_length(
            intervals.union(*ranges), case.trace.ops.start_ns[rows], case.trace.ops.end_ns[rows]
        )
        > 0
    )
    return is_waiting


RULE = Rule(
    name="item_sync",
    title=say("Values read from the device"),
    cause="waiting",
    looks_for=say("Waits inside of aten::item, _local_scalar_dense, is_nonzero, equal."),
    why=say("The host can only launch ahead as long as it need not know results."),
    fix=say(
        "Keep sums and losses on the device and read them every hundred steps; replace “if "
        "tensor:” by torch.where; collect values in a tensor and copy it once with "
        "non_blocking=True."
    ),
    threshold=say(
        "{least} of the step: usually one line that is easy to move.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("PyTorch performance tuning guide, avoid unnecessary CPU-GPU synchronization."),
    code=Code(
        before=("for batch in loader:\n    total += train(batch).item()"),
        after=(
            "total = torch.zeros((), device=device)\n"
            "for batch in loader:\n"
            "    total += train(batch).detach()\n"
            "print(total.item())"
        ),
    ),
    check=check,
    needs=("device", "operators"),
)
