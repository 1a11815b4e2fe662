"""Build findings on chains of operators that one fused operator would do, with their saving.

A fused operator takes away device time and the host's launches at once. Where host and device are
about level, each alone would gain nothing.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.idioms.attention import attention_chains
from tb_privateuse1.analysis.idioms.chains import Chains, chains_of, of_single_calls
from tb_privateuse1.analysis.idioms.cross_entropy import loss_tails
from tb_privateuse1.analysis.idioms.nodes import Graph, working_graph
from tb_privateuse1.analysis.idioms.parameter_loops import parameter_loops
from tb_privateuse1.analysis.idioms.small_recurrences import small_recurrences
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.recording.compiled_regions import region_calls
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import ends_run, lookup
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.trace.vendor import GENERIC

COMPOSITES = (
    r"^aten::(native_(layer|group|batch)_norm(_backward)?|_softmax(_backward_data)?"
    r"|_log_softmax(_backward_data)?|gelu(_backward)?|silu(_backward)?|nll_loss_forward"
    r"|embedding_dense_backward|addmm|baddbmm|native_dropout|_fused_rms_norm|cumsum|topk|sort)$"
)
"""Operators with one kernel in most backends: the backend's author, not the model's, fuses them."""

PARTICULAR = ("norm", "rotary", "gate", "loss")
"""Idioms with rules of their own."""

_CACHED = 3
"""Operators of a chain on a host that count as none. What one writes the next finds in the
processor's cache, and a residual sum, an activation and a reduction are in every network."""

_USUAL = 3.0
"""Times of the median of calls. A cold cache makes a call about twice as long."""

_LONGEST_LIST = 12
"""Operators that a sentence names: it stays readable."""


class Fusion(Struct, frozen=True, eq=False):
    """Chains to fuse, with rows of the trace's tables."""

    graph: Graph
    group: I64
    """The chain of each node of the graph, -1 for none."""
    calls: I64
    """The chains."""
    duration_ns: I64
    fused_ns: I64
    """By chain."""
    kernels: I64
    shares: np.ndarray
    """By row of ``kernels``, the share of its time that goes."""
    removed_ops: I64
    """Outermost operators that go: all of a chain but one."""
    claim: intervals.Set

    @property
    def typical(self) -> int:
        """Return the chain of median time: neither the longest nor the first, which is cold."""
        order = self.calls[np.argsort(self.duration_ns[self.calls], kind="stable")]
        return int(order[len(order) // 2])

    def ops(self, chain: int | None = None) -> I64:
        """Return the launching operators of all chains, or of one."""
        chosen = np.isin(self.group, self.calls) if chain is None else self.group == chain
        return self.graph.nodes.op[chosen].astype(np.int64)


def fuse(
    case: RuleContext, graph: Graph, group: I64, duration_ns: I64, fused_ns: I64
) -> Fusion | None:
    """Return what fusing these chains takes away in the judged steps; None without any chain."""
    node = graph.kernel_node
    chain = np.where(node >= 0, group[np.maximum(node, 0)] if len(group) else -1, -1)
    rows = np.flatnonzero(case.judged_kernels & (chain >= 0))
    if not len(rows):
        return None
    calls = groupby.distinct_values(chain[rows])
    share = 1 - fused_ns / np.maximum(duration_ns, 1)
    shares = share[chain[rows]]
    removed = _but_one(case, graph, np.where(np.isin(group, calls), group, -1))
    launching = case.time(removed)
    # Without sizes, chains are mere neighbors: enough to count kernels, not to count launches.
    host = (case.of_host(launching) if "shapes" in case.has else None) or intervals.EMPTY
    device = _of_device(case, device_time.shortened(case, rows, shares), launching)
    later = np.zeros(len(case.trace.kernels), np.bool_)
    later[rows[1:]] = chain[rows[1:]] == chain[rows[:-1]]
    between = device_time.gaps_before(case, later)
    return Fusion(
        graph=graph,
        group=group,
        calls=calls,
        duration_ns=duration_ns,
        fused_ns=fused_ns,
        kernels=rows,
        shares=shares,
        removed_ops=removed,
        claim=intervals.merge(intervals.merge(device, host), between),
    )


def _of_device(case: RuleContext, spent: intervals.Set, launching: intervals.Set) -> intervals.Set:
    """Return the device time that goes before the host limits, which loses its launches as well."""
    limits = case.limits
    own = device_time.of_device(case, spent)
    saved = intervals.intersect(intervals.intersect(spent, limits.busy), limits.chain)
    if not len(saved[0]):
        return own
    work = intervals.covered_length(limits.busy, *limits.chain)
    lead = int((work * limits.spare).sum())
    most = lead + intervals.length(intervals.intersect(launching, case.window))
    shorter = device_bound.shorten(saved, min(1.0, most / intervals.length(saved)))
    return intervals.merge(own, shorter)


def removal(case: RuleContext, found: Fusion) -> Scope:
    """Return the removal of kernels and launches together."""
    return case.without(ops=found.removed_ops, kernels=found.kernels, kernel_share=found.shares)


def fuse_chains(case: RuleContext, *idioms: str) -> Fusion | None:
    """Return the chains of some idioms that save time and are the model's own, or None."""
    found = chains_of(case.trace)
    chosen = of_model(case, found, *idioms)
    return fuse_chosen(case, found, chosen, found.table.fused_ns) if chosen.any() else None


def of_model(case: RuleContext, found: Chains, *idioms: str) -> Bools:
    """Return by chain whether it is of some idioms, saves time, and is the model's own."""
    chosen = found.of(*idioms) & (found.table.saved_ns > 0) & ~_inside_composites(case, found)
    if not chosen.any():
        return chosen
    chosen &= ~of_single_calls(case.trace, found)
    chosen &= loss_tails(case.trace).loss[found.table.first] < 0  # a loss is one finding
    chosen &= parameter_loops(case.trace).loop[found.table.first] < 0  # so is a loop over tensors
    if case.is_host:
        chosen &= found.table.nodes > _CACHED
    elif "shapes" in case.has:  # and so is a loop whose rounds need each other
        chosen &= small_recurrences(case.trace).of[found.table.first] < 0
    return chosen


def fuse_chosen(case: RuleContext, found: Chains, chosen: Bools, fused_ns: I64) -> Fusion | None:
    """Return what fusing some chains takes away, by the time of each as one operator."""
    group = np.where(lookup(chosen, found.chain, False), found.chain, -1)
    return fuse(case, found.graph, group, found.table.duration_ns, fused_ns)


def _inside_composites(case: RuleContext, found: Chains) -> Bools:
    nodes = found.graph.nodes
    around = case.trace.ops.parent[nodes.op[found.table.first]]
    inside: Bools = case.around(around, case.named("ops", COMPOSITES)) >= 0
    return inside


def _but_one(case: RuleContext, graph: Graph, group: I64) -> I64:
    """Return the outermost operators of all nodes of each chain but the one of most device time."""
    nodes = _all_but_one(graph, group)
    return np.unique(_outermost_alone(case, graph.nodes.op[nodes].astype(np.int64)))


def _all_but_one(graph: Graph, group: I64) -> I64:
    """Return the nodes of each chain but the one of most device time."""
    nodes = np.flatnonzero(group >= 0)
    order = np.lexsort((graph.nodes.duration_ns[nodes], group[nodes]))
    last = ends_run(group[nodes][order])
    return nodes[order[~last]]


def launching_ns(case: RuleContext, found: Chains) -> I64:
    """Return by chain the time of all operators but one beyond the work of their nodes.

    It is at most some times the median of operators of a name, whatever their sizes: the rest is
    time in which the machine ran something else.
    """
    nodes, ops = _all_but_one(found.graph, found.chain), case.trace.ops
    outer = _outermost_alone(case, found.graph.nodes.op[nodes].astype(np.int64))
    beyond = ops.end_ns[outer] - ops.start_ns[outer] - found.graph.nodes.duration_ns[nodes]
    beyond = np.maximum(beyond, 0)
    _, name = groupby.group_rows(ops.name[outer])
    order = np.lexsort((beyond, name))
    count = np.bincount(name)
    middle = np.cumsum(count) - count + (count - 1) // 2
    most = np.rint(_USUAL * beyond[order][middle]).astype(np.int64)[name]
    return groupby.sums(found.chain[nodes], np.minimum(beyond, most), len(found.table))


@memoize
def _inside_of_lone(trace: Trace) -> Bools:
    """Return which rows of ``trace.ops`` are directly inside of one that launches nothing else."""
    ops = trace.ops
    launching = np.zeros(len(ops), np.int64)
    launching[working_graph(trace).nodes.op] = 1
    total = groupby.with_descendants(ops.parent, launching)
    return lookup((total == 1) & (ops.kind == OPERATOR), ops.parent, False)


def _outermost_alone(case: RuleContext, rows: I64) -> I64:
    """Return the outermost operator around each row that launches nothing else."""
    ops, alone = case.trace.ops, _inside_of_lone(case.trace)
    at = rows.copy()
    climbing = np.flatnonzero(alone[at])
    while len(climbing):
        at[climbing] = ops.parent[at[climbing]]
        climbing = climbing[alone[at[climbing]]]
    outermost: I64 = at[at != NONE]
    return outermost


def in_chains(case: RuleContext) -> Bools:
    """Return a flag per row of ``trace.kernels``: it is part of attention, a norm, … by hand.

    Rules on single kernels leave these to the rules on such chains.
    """
    chains, attention = chains_of(case.trace), attention_chains(case.trace)
    saves = (chains.table.saved_ns > 0) & chains.of(*PARTICULAR)
    in_one = lookup(saves, chains.chain, False) | (attention.chain >= 0)
    return lookup(in_one, chains.graph.kernel_node, False)


def may_be_compiled(case: RuleContext) -> bool:
    """Return whether torch compiles for this device: a known vendor's, or as it did here."""
    known = case.is_host or case.vendor.name != GENERIC.name
    return known or len(region_calls(case.trace).rows) > 0


def describe(case: RuleContext, found: Fusion) -> str:
    """Return the sentences on a typical chain: its operators, its time and that of one pass."""
    chain = found.typical
    ops = found.ops(chain)
    names = [case.trace.text(case.trace.ops.name[row]) for row in ops.tolist()]
    listed = names[:_LONGEST_LIST]
    values = {
        "operators": plural(len(names), "operator"),
        "names": join_list(listed),
        "now": float(found.duration_ns[chain]) / 1e3,
        "fused": float(found.fused_ns[chain]) / 1e3,
    }
    if case.is_host:
        return say(
            "A typical one has {operators} ({names}) and takes {now:,.3g} µs. One operator would "
            "need about {fused:,.3g} µs at the rates that this recording reaches.",
            **values,
        )
    return say(
        "A typical one has {operators} ({names}) and takes {now:,.3g} µs of device time. One "
        "kernel would need about {fused:,.3g} µs at the rates that this recording reaches.",
        **values,
    )


def evidence(case: RuleContext, found: Fusion) -> tuple[Example, ...]:
    """Return the operators of the typical chain as examples."""
    ops = found.ops(found.typical)
    return case.examples("ops", ops, [say("of a typical chain")] * len(ops))


def per_step(case: RuleContext, found: Fusion) -> float:
    """Return the number of chains a step."""
    return len(found.calls) / max(len(case.steps), 1)


def how() -> str:
    """Return how the saving of a fusion is computed."""
    return say(
        "The time of these kernels beyond one pass over what they read and write from outside, "
        "while others waited for the device; and the host's time for all operators but one, while "
        "the device had nothing to do."
    )
