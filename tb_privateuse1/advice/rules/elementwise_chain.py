"""Chains of elementwise kernels: each one reads and writes memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.chains import Chains, chains_of, compiled_on_host
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.operators.module_of import forward_operators
from tb_privateuse1.analysis.simulation import profiler_time, scopes
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.analysis.work.calls import read_calls
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import containing, lookup, mask_of, previous, starts_run
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

_IDIOMS = ("elementwise", "bias_activation_dropout", "copies", "quantization")
_LEAST_UNSIZED = 0.05
"""Share of the step. Without shapes the chain's bytes are a guess, so the threshold is higher."""


_CALL_NS, _WITH_GRADIENTS_NS = 25_000, 150_000
"""A call of compiled code on a host: its guards, its results' memory. Of torch 2.13, 14 to 37 us
were measured in loops of short calls, and 100 to 220 us where gradients are computed as well."""
_CHEAPEST, _DEAREST = 0.6, 2.4
"""Times of that: 15 to 60 us, by the number of tensors that guards check, and by the processor."""
_UNROLLED = 8
"""Rounds a pass that are layers of one function. The compiler unrolls its loops; of more rounds,
some gained by that, and others took three times as long."""
_FASTER = 0.5
"""The share of its estimate that compiled code took least. Of 36 chains, those in new memory or
with ``tanh`` did; ``lgamma`` and ``pow`` took all of it."""


class _Calls(Struct, frozen=True):
    """Calls of compiled code, and what the chains in them save ahead of their price."""

    number: int
    each_ns: int
    saved_ns: int


class _Compiled(Struct, frozen=True):
    """Chains, and the share of their saving that calls of compiled code leave."""

    found: fusion.Fusion
    calls: int = 0
    call_ns: int = 0
    left: float = 1.0
    least: float = 1.0
    most: float = 1.0
    """Times what is left."""

    @property
    def claim(self) -> intervals.Set:
        """Return the instants that are saved."""
        whole = self.found.claim
        return device_bound.shorten(whole, self.left) if self.calls else whole

    def removes(self, case: RuleContext) -> Scope:
        """Return the removal of these instants."""
        if not self.calls:
            return fusion.removal(case, self.found)
        taken = intervals.subtract(self.found.claim, self.claim)
        return scopes.outside_of(fusion.removal(case, self.found), taken)


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the chains that no rule for a more specific idiom covers."""
    made = _called(case) if case.is_host else _fused(case)
    sized = "shapes" in case.has
    least = MANY_PLACES if sized else _LEAST_UNSIZED
    if made is None or case.share(intervals.length(made.claim)) < least:
        return
    yield _finding(case, made, sized)


def _finding(case: RuleContext, made: _Compiled, sized: bool) -> RuleFinding:
    found, compiles = made.found, fusion.may_be_compiled(case)
    # Neighbors of unknown sizes may be independent of each other.
    least = made.least if compiles and sized else 0.0
    return RuleFinding(
        title=say(
            "Unfused elementwise operators: {each:,.0f} chains {per_step}",
            each=fusion.per_step(case, found),
            per_step=case.per_step,
        ),
        explanation=join_sentences(
            [
                say(
                    "{kernels:,} kernels only combine, convert or reduce tensors. Each reads from "
                    "memory what the one before has just written.",
                    kernels=len(found.kernels),
                ),
                fusion.describe(case, found),
            ]
        ),
        events=len(found.kernels),
        evidence=fusion.evidence(case, found),
        how=_how(case, made, sized),
        claim=made.claim,
        removes=made.removes(case),
        least=least,
        most=made.most,
        confidence="medium" if least > 0 else "low",
        source=case.source(found.ops()),
        lacks=case.lacks("shapes", "stacks"),
        fix=None if compiles else _WITHOUT_COMPILER,
    )


def _how(case: RuleContext, made: _Compiled, sized: bool) -> str:
    """Return how the saving is computed."""
    how = (
        fusion.how()
        if sized
        else say(
            "All but the longest kernel of each chain, while others waited for the device: "
            "fused, a chain is one way through memory. Sizes were not recorded."
        )
    )
    if not made.calls:
        return how
    return join_sentences(
        [
            how,
            say(
                "On a host, exponentials and reductions take as long in compiled code. Of it, "
                "{calls} {per_step} are taken off, at {call:,.0f} µs each.",
                calls=plural(max(round(made.calls / max(len(case.steps), 1)), 1), "call"),
                per_step=case.per_step,
                call=made.call_ns / 1e3,
            ),
        ]
    )


def _fused(case: RuleContext) -> _Compiled | None:
    """Return the chains of a device, whose launches take as long in compiled code."""
    found = fusion.fuse_chains(case, *_IDIOMS)
    return None if found is None else _Compiled(found)


def _called(case: RuleContext) -> _Compiled | None:
    """Return the chains of a host that save more than the calls of compiled code take.

    A function with several chains is one call, and a chain in each round of a loop is a call a
    round. So the most calls of one chain are those of all that are called as often or less.
    """
    chains = chains_of(case.trace)
    fused_ns = compiled_on_host(case.trace, chains)
    chosen = fusion.of_model(case, chains, *_IDIOMS) & _judged(case, chains)
    chosen &= (fused_ns < chains.table.duration_ns) & ~_of_complex(case, chains)
    if not chosen.any():
        return None
    saved = chains.table.duration_ns - fused_ns
    if "shapes" in case.has:
        saved = saved + fusion.launching_ns(case, chains)
    rows = np.flatnonzero(chosen)
    kind, has_gradients = _kinds(case, chains, rows), _have_gradients(case, chains)[rows]
    count, saved = _calls_of(case, _modules(case, chains)[rows], kind), saved[rows]
    call_ns = _WITH_GRADIENTS_NS if has_gradients.any() else _CALL_NS
    order = np.argsort(count, kind="stable")
    net = np.cumsum(saved[order]) - count[order] * call_ns
    # Of chains that are called equally often, all are in the sum of the last one.
    last = len(order) - 1 - int(np.argmax(net[::-1]))
    kept = order[: last + 1]
    calls = _Calls(int(count[order][last]), call_ns, int(saved[kept].sum()))
    return _priced(case, chains, rows[kept], fused_ns, calls)


def _priced(
    case: RuleContext, chains: Chains, kept: I64, fused_ns: I64, calls: _Calls
) -> _Compiled | None:
    """Return some chains with the share of their saving behind calls; None without any."""
    found = fusion.fuse_chosen(case, chains, mask_of(kept, len(chains.table)), fused_ns)
    if found is None:
        return None
    by_calls = intervals.intersect(found.claim, case.idle)
    taken = profiler_time.profiler_ns(case.trace, by_calls)
    whole = intervals.length(found.claim)
    saved = min(whole, calls.saved_ns) - taken
    net = saved - calls.number * calls.each_ns
    if net <= 0:
        return None
    alone = saved - len(kept) * calls.each_ns * _DEAREST
    faster = _FASTER * int(fused_ns[kept].sum())
    once = saved + faster - _passes(case) * calls.each_ns * _CHEAPEST
    return _Compiled(
        found,
        calls.number,
        calls.each_ns,
        left=net / (whole - taken),
        least=min(max(alone, 0) / net, 1.0),
        most=max(once / net, 1.0),
    )


def _of_complex(case: RuleContext, chains: Chains) -> Bools:
    """Return by chain whether it has complex numbers, for which torch's compiler makes no code.

    Its own operators do, or a view of such numbers directly ahead of one of them.
    """
    nodes, ops = chains.graph.nodes, case.trace.ops
    first, kind = groupby.group_rows(nodes.call)
    calls = read_calls(case.trace, nodes.op[first])
    found = [any("complex" in one.dtype for one in call.tensors()) if call else False
             for call in calls]  # fmt: skip
    views = np.flatnonzero(case.named("ops", r"^aten::view_as_(real|complex)$"))
    start = ops.start_ns[nodes.op]
    since = np.where(starts_run(nodes.thread), 0, previous(start, 0))
    behind = groupby.containing_by(
        nodes.thread, since, start, ops.thread[views], ops.start_ns[views]
    )
    complex_node = np.array(found, np.bool_)[kind] | mask_of(behind[behind >= 0], len(nodes))
    inside = chains.chain[complex_node & (chains.chain >= 0)]
    return mask_of(inside, len(chains.table))


def _judged(case: RuleContext, chains: Chains) -> Bools:
    """Return by chain whether it works in the judged steps."""
    node = chains.graph.kernel_node[case.judged_kernels]
    chain = lookup(chains.chain, node[node >= 0], NONE)
    return mask_of(chain[chain >= 0], len(chains.table))


def _kinds(case: RuleContext, chains: Chains, rows: I64) -> I64:
    """Return by chain the number of its kind: one that begins and ends with the same operators.

    Sizes may vary.
    """
    nodes, first = chains.graph.nodes, chains.table.first[rows]
    final = groupby.maxima(chains.chain, np.arange(len(nodes)), len(chains.table))[rows]
    is_backward = lookup(forward_operators(case.trace), nodes.op[first], NONE) >= 0
    _, kind = groupby.group_rows(nodes.word[first], nodes.word[final], is_backward)
    return kind


def _calls_of(case: RuleContext, place: I64, kind: I64) -> I64:
    """Return by chain how often its function is called: as often as chains of its kind come.

    Those of one call of the outermost module are in one call, and those of few rounds in one a
    pass.
    """
    own = np.where(place >= 0, place, -1 - np.arange(len(place)))
    once, _ = groupby.group_rows(kind, own)
    count, passes = np.bincount(kind[once])[kind], _passes(case)
    calls: I64 = np.where(count <= _UNROLLED * passes, np.minimum(count, passes), count)
    return calls


def _passes(case: RuleContext) -> int:
    """Return how often the whole program is run: a function ends ahead of its backward pass."""
    begun = find_passes(case.trace).backward_ns
    judged = np.count_nonzero(containing(*case.window, begun) >= 0)
    return max(int(judged), len(case.steps), 1)


def _modules(case: RuleContext, chains: Chains) -> I64:
    """Return by chain the frame of the outermost module around its function, or ``NONE``."""
    trace = case.trace
    op = chains.graph.nodes.op[chains.table.first]
    forward = lookup(forward_operators(trace), op, NONE)
    frame = lookup(trace.ops.frame, np.where(forward >= 0, forward, op), NONE)
    wanted = call_tree.is_module(trace)
    at = np.full(len(frame), NONE, np.int64)
    inside = np.flatnonzero(frame >= 0)
    above = call_tree.around(trace.frames.parent, frame[inside], wanted)
    while len(inside := inside[above >= 0]):
        at[inside] = above[above >= 0]
        outer = lookup(trace.frames.parent, at[inside], NONE)
        inside, outer = inside[outer >= 0], outer[outer >= 0]
        above = call_tree.around(trace.frames.parent, outer, wanted)
    return at


def _have_gradients(case: RuleContext, chains: Chains) -> Bools:
    """Return by chain whether it is of a backward pass, or has one."""
    forward, nodes = forward_operators(case.trace), chains.graph.nodes
    differentiated = mask_of(forward[forward >= 0], len(forward))
    with_one = (lookup(forward, nodes.op, NONE) >= 0) | differentiated[nodes.op]
    inside = chains.chain[with_one & (chains.chain >= 0)]
    return mask_of(inside, len(chains.table))


_WITHOUT_COMPILER = say(
    "Use a fused operator that the backend has (F.silu, torch.addcmul, torch.lerp, fused "
    "normalization), or write a kernel for the hottest chain. torch.compile fuses them only if it "
    "has a backend for this device; the recording has nothing compiled. Without any of these "
    "nothing is saved."
)


RULE = Rule(
    name="elementwise_chain",
    title=say("Unfused elementwise operators"),
    cause="device",
    looks_for=say(
        "Elementwise operators, casts, copies and reductions that read each other's results, "
        "outside of the optimizer; without shapes, three or more in a row."
    ),
    why=say("Such kernels wait for memory; one that does all of it needs a single pass."),
    fix=say(
        "torch.compile fuses them; else use fused operators (F.silu, torch.addcmul, fused "
        "normalization), or write a kernel for the hottest chain."
    ),
    threshold=say(
        "{least} of the step, {least_unsized} without shapes: torch.compile has a price, too.",
        least=exact_percent(MANY_PLACES),
        least_unsized=exact_percent(_LEAST_UNSIZED),
    ),
    reference=say("TraceLens fusion opportunities; msprof-analyze fusible sequences."),
    code=Code(
        before=(
            "def activate(x, bias):\n"
            "    return 0.5 * (x + bias) * (1 + torch.tanh(0.8 * (x + bias)))"
        ),
        after=(
            "@torch.compile\n"
            "def activate(x, bias):\n"
            "    return 0.5 * (x + bias) * (1 + torch.tanh(0.8 * (x + bias)))"
        ),
    ),
    remedy="compile",
    check=check,
    needs=("work", "operators", "links"),
)
