"""Whole tables of embeddings that are updated for a few of their rows."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.dense_gradients import dense_gradients
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.device_times import is_on_host_alone


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the gradients and updates of rows of a table that no index names."""
    sparse_on_device = len(case.trace.kernels) > 0 and case.vendor.sparse_tensors
    if not sparse_on_device and not is_on_host_alone(case.trace):
        return
    work = dense_gradients(case.trace)
    gone = remove(case, Needless(work.rows, work.shares))
    if case.share(intervals.length(gone.claim)) < MANY_PLACES:
        return
    gradients = work.gradients[case.judged[work.gradients]]
    forward = call_tree.forward_of(case.trace)[gradients].astype("int64")
    yield RuleFinding(
        title=say(
            "Whole tables of embeddings are updated for at most {used} of their rows: {share} of "
            "the time",
            used=percent(work.used),
            share="",
        ),
        explanation=say(
            "{gradients:,} gradients of tables have all rows, and nearly all of them are zero: "
            "they are written, added, and read by the optimizer, which writes the whole table.",
            gradients=len(gradients),
        ),
        events=len(gradients),
        evidence=case.examples("ops", gradients),
        how=say(
            "The share of rows that a sparse update saves, of the time of these gradients, their "
            "addition and reset, and the optimizer's work on these tables."
        )
        if "shapes" in case.has
        else say(
            "The share of rows that a sparse update saves, of the time of these gradients, by the "
            "memory that they and the rows in use take. The optimizer's work on these tables was "
            "not recorded as theirs, and does not count."
        ),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(forward[forward >= 0]),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="dense_gradients",
    title=say("Dense gradients of embeddings"),
    cause="device",
    looks_for=say(
        "embedding_dense_backward or that of bags with at most one index for eight rows of the "
        "table, and an optimizer that changes no row without a gradient: neither momentum nor "
        "moments nor a weight decay of that shape."
    ),
    why=say(
        "A batch reads a few rows of a table, and its gradient is zero elsewhere. A dense one "
        "costs several passes over all rows in each step."
    ),
    fix=say(
        "Use sparse=True, which gives the same result, with an optimizer of its own for these "
        "tables (neither fused nor foreach); or a library that updates rows in the backward pass "
        "(torchrec, fbgemm)."
    ),
    threshold=say(
        "{least} of the step, on hosts and on devices that run torch's sparse tensors. A sparse "
        "update works on each row eight times as long as a dense one.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("torch.nn.Embedding (sparse); torchrec's fused optimizers."),
    code=Code(
        before="table = nn.EmbeddingBag(rows, width)",
        after="table = nn.EmbeddingBag(rows, width, sparse=True)",
    ),
    check=check,
    needs=("operators",),
    partly=("shapes",),
)
