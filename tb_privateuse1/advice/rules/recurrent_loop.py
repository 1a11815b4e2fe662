"""A loop whose rounds need each other: over a sequence, with products, or of small kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.recurrent_loops import (
    ROUNDS,
    Recurrences,
    recurrent_loops,
)
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.idioms.small_recurrences import (
    FEW_BYTES,
    SmallRecurrences,
    small_recurrences,
)
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import fill, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE

_CALL_NS, _SLOW_CALL_NS = 500, 2_000
"""A call on the host for few numbers. Of NumPy, 220 to 550 ns were measured; torch's operators take
1 to 2 us there."""
_TAPED_CALL_NS = 5_000
"""The same with its gradient, by torch: 3 to 6 us."""
_BYTES_PER_NS = 1.0
"""A host's exponentials: 4 ns for a number of four bytes. Sums are ten times as fast."""
_COPIES = 2
"""Rounds that take as long as a copy to the host and one back, with the wait for the first."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield loops over the items of a sequence that keep a state, with products and without."""
    yield from _with_products(case)
    if not case.is_host:
        yield from _of_small_kernels(case)


class _OnHost(Struct, frozen=True, eq=False):
    """The time that goes if loops of small kernels run on the host: instants, and activities.

    ``least`` and ``most`` are times of the claim.
    """

    claim: intervals.Set
    looping: intervals.Set
    work: Slow
    least: float
    most: float


def _of_small_kernels(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield loops whose kernels are so small that the host is as fast: over items, then others."""
    found = small_recurrences(case.trace)
    for loops in (found.where(found.taken), found.where(~found.taken)):
        if len(loops.ranges):
            yield from _of_loops(case, loops)


def _of_loops(case: RuleContext, found: SmallRecurrences) -> Iterator[RuleFinding]:
    """Yield loops of one kind: all take the next item of a tensor, or none does."""
    taped, taken = bool(found.ranges.backward.any()), bool(found.taken.all())
    saved = _on_host(case, found, is_sure=taken and not taped)
    if case.share(intervals.length(saved.claim)) < MANY_PLACES:
        return
    ranges = found.ranges
    ahead = ranges.take(np.flatnonzero(~ranges.backward & case.judged[ranges.place]))
    title, explanation = _OVER_ITEMS if taken else _OF_ROUNDS
    yield RuleFinding(
        title=fill(title, share=percent(case.share(intervals.length(saved.claim)))),
        explanation=fill(
            explanation,
            loops=len(ahead),
            rounds=float(ahead.rounds.mean()),
            calls=float((found.calls / ranges.rounds).mean()),
        ),
        events=int(ahead.rounds.sum()),
        evidence=case.examples("ops", ahead.place.astype(np.int64)),
        how=say(
            "The time of the loops, less {copies} rounds for a copy to the host and one back, and "
            "less {each:,.1f} µs on the host for each operator.",
            copies=_COPIES,
            each=(_TAPED_CALL_NS if taped else _CALL_NS) / 1e3,
        ),
        claim=saved.claim,
        removes=case.without(
            instants=saved.looping, kernels=saved.work.rows, kernel_share=saved.work.shares
        ),
        least=saved.least,
        most=saved.most,
        confidence="medium" if taken and not taped else "low",
        source=case.source(ahead.place.astype(np.int64)),
        lacks=case.lacks("stacks"),
        fix=_FIXES[taken, taped],
        code=_ON_HOST,
    )


def _on_host(case: RuleContext, found: SmallRecurrences, *, is_sure: bool) -> _OnHost:
    """Return what goes; one operator for a whole loop would leave a round of it.

    If the program is device-bound, a wait for queued work may take the loop's time.
    """
    ranges = found.ranges
    share = _left(found, _TAPED_CALL_NS if ranges.backward.any() else _CALL_NS)
    slow = _left(found, _SLOW_CALL_NS)
    looping = _part(ranges, share)
    of = lookup(found.of, found.graph.kernel_node, NONE)
    rows = np.flatnonzero((of >= 0) & case.judged_kernels)
    work = Slow(rows, share[of[rows]])
    host = case.of_host(looping) or intervals.EMPTY
    claim = intervals.merge(device_time.claim_of(case, work), host)
    whole = max(intervals.length(claim), 1)
    sure = case.of_host(_part(ranges, slow)) or intervals.EMPTY
    all_but_one = case.of_host(_part(ranges, 1 - 1 / ranges.rounds)) or intervals.EMPTY
    return _OnHost(
        claim=claim,
        looping=looping,
        work=work,
        least=min(intervals.length(sure) / whole, 1.0) if is_sure else 0.0,
        most=max(intervals.length(all_but_one) / whole, 1.0),
    )


def _left(found: SmallRecurrences, call_ns: int) -> np.ndarray:
    """Return the share of each loop that goes if each operator is a call on the host."""
    ranges = found.ranges
    duration = np.maximum(ranges.end_ns - ranges.start_ns, 1)
    stays = (call_ns * found.calls + found.moved_bytes / _BYTES_PER_NS) / duration
    gone: np.ndarray = 1 - np.minimum(stays + _COPIES / ranges.rounds, 1)
    return gone


def _part(ranges: Recurrences, share: np.ndarray) -> intervals.Set:
    """Return the first part of each range, by its share."""
    order = np.argsort(ranges.start_ns, kind="stable")
    spans = ranges.start_ns[order], ranges.end_ns[order]
    return intervals.union(*device_bound.shorten(spans, share[order]))


_OVER_ITEMS = (
    say("A loop of small kernels, one item after the other: {share} of the time"),
    say(
        "{loops:,} loops took {rounds:,.0f} items each, with {calls:,.0f} operators for each item. "
        "None multiplies matrices, and all are on a few numbers: a launch takes longer than their "
        "work. By the sizes that they read and write, rounds need the one before: one batch cannot "
        "do those."
    ),
)
_OF_ROUNDS = (
    say("A loop of small kernels: {share} of the time"),
    say(
        "{loops:,} loops ran {rounds:,.0f} equal rounds each, of {calls:,.0f} operators. None "
        "multiplies matrices, and all are on a few numbers: a launch takes longer than their work. "
        "Whether a round needs the one before is not recorded."
    ),
)
_FIXES = {
    (True, False): say(
        "Compute it where the data comes from, ahead of the copy to the device; else copy the "
        "small tensors to the host once, loop over arrays of NumPy there, and copy the result back "
        "once. Sums and products so far are one operator (cumsum, cumprod, cummax), and so is a "
        "loop whose rounds only read their own item. Where the result is needed on the device, "
        "compile the loop (torch.compile) or capture it as a graph."
    ),
    (True, True): say(
        "Sums and products so far are one operator (cumsum, cumprod, logcumsumexp), and so is a "
        "loop whose rounds only read their own item. Else compile the loop (torch.compile), or run "
        "it on the host: gradients go through x.cpu() and back."
    ),
    (False, False): say(
        "If each round has tensors of its own, one operator does all of them: torch.stack, or "
        "torch._foreach_add. If a round needs the one before, copy the small state to the host, "
        "loop over arrays of NumPy there, and copy the result back once; or compile the loop "
        "(torch.compile), or capture it as a graph."
    ),
    (False, True): say(
        "If each round has tensors of its own, one operator does all of them: torch.stack. If a "
        "round needs the one before, compile the loop (torch.compile), or run it on the host: "
        "gradients go through x.cpu() and back."
    ),
}
"""By whether each round takes an item, and whether gradients go through the loop."""
_ON_HOST = Code(
    before=(
        "for t in reversed(range(len(rewards))):\n"
        "    last = rewards[t] + 0.99 * going[t] * last\n"
        "    returns[t] = last"
    ),
    after=(
        "rewards, going = rewards.cpu().numpy(), going.cpu().numpy()\n"
        "for t in reversed(range(len(rewards))):\n"
        "    last = rewards[t] + 0.99 * going[t] * last\n"
        "    returns[t] = last\n"
        "returns = torch.from_numpy(returns).to(device)"
    ),
)


def _with_products(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield loops with a product that needs what was written a round before."""
    found = recurrent_loops(case.trace, case.top_in_order)
    ranges = found.ranges
    if not len(ranges):
        return
    looping = _part(ranges, 1 - 1 / ranges.rounds)
    slow = found.slow.where(case.judged_kernels[found.slow.rows])
    claim = device_time.claim_of(case, slow)
    host = case.of_host(looping)
    claim = claim if host is None else intervals.merge(claim, host)
    if case.share(intervals.length(claim)) < MANY_PLACES:
        return
    ahead = ranges.take(np.flatnonzero(~ranges.backward))
    yield RuleFinding(
        title=say(
            "A loop over a sequence, each round on the result of the one before: {share} of the "
            "time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{loops:,} loops took {rounds:,.0f} items each, with operators of their own for each "
            "item, and again for its gradient. The rounds cannot be one batch: they need each "
            "other.",
            loops=len(ahead),
            rounds=float(ahead.rounds.mean()),
        ),
        events=int(ahead.rounds.sum()),
        evidence=case.examples("ops", ahead.place.astype(np.int64)),
        how=say(
            "The time of the loops and of their backward passes, less what a fused operator still "
            "does: the products with the state, one pass over the rest in each round, and once "
            "what all rounds have in common."
        ),
        claim=claim,
        removes=case.without(instants=looping, kernels=slow.rows, kernel_share=slow.shares),
        confidence="medium",
        source=case.source(ahead.place.astype(np.int64)),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="recurrent_loop",
    title=say("Loop over a sequence with a state"),
    cause="launching",
    looks_for=say(
        "{rounds} or more equal rounds of operators with products, each on the next item of a "
        "tensor, that read what the round before wrote. A round that writes into a cache does not "
        "count. On a device also rounds without a product, a module, or a copy to or from the "
        "host, whose operators move less than {most} KiB each: on the next item of a tensor, or "
        "equal ones of a marked step that may read what the round before wrote.",
        most=FEW_BYTES >> 10,
        rounds=ROUNDS,
    ),
    why=say(
        "Each round calls its operators for little work, multiplies what could be multiplied for "
        "all items at once, and adds its part to each gradient alone. Without products, a round is "
        "launches alone: the host does its work in less time."
    ),
    fix=say(
        "Give the whole sequence to a fused operator: torch.nn.LSTM, GRU or RNN instead of their "
        "cells. A cell of your own: multiply all items before the loop, and compile the loop "
        "(torch.compile) or capture it as a graph. A batch does not help: the rounds need each "
        "other."
    ),
    threshold=say(
        "{rounds} rounds and {least} of the step: the model changes.",
        least=exact_percent(MANY_PLACES),
        rounds=ROUNDS,
    ),
    reference=say("torch.nn.LSTM and torch.nn.LSTMCell."),
    code=Code(
        before=(
            "for i in range(x.shape[1]):\n    h, c = cell(x[:, i], (h, c))\n    outputs.append(h)"
        ),
        after="outputs, (h, c) = torch.nn.LSTM(size, width, batch_first=True)(x)",
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
