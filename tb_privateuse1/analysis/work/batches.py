"""Recognize the samples and tokens of steps by the shapes of their first operators.

Tokens are the indices that are looked up in the largest embedding. Samples are the batch of these
indices, or else the first dimension of the first convolution or product of each forward pass.
Where the shapes allow another reading, the figure stays unknown, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.kinds_of_work import Kind, kind_of
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.analysis.work import registry
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import known_call, read_call
from tb_privateuse1.analysis.work.related_calls import named
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import containing, lookup, previous
from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I64

_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "convolution", "_convolution")
_INPUTS = {"embedding": 1, "linear": 0, "mm": 0, "addmm": 1} | dict.fromkeys(_CONVOLUTIONS, 0)
"""Position of the input; the weight of an embedding is before it, that of others behind it."""
_PRODUCTS = ("linear", "mm", "addmm")
_CHAINS = ("bmm", "baddbmm", "matmul")
"""Products of hand-written attention."""


class Batches(Struct, frozen=True):
    """The samples and tokens of some steps together; None with a sentence on why."""

    samples: int | None
    tokens: int | None
    samples_missing: str | None
    tokens_missing: str | None


class _Unclear(Exception):
    """The shapes do not say it; the argument is a sentence."""


class _Call(Struct, frozen=True):
    """A distinct call: its name without namespace, and the shapes of input and weight."""

    name: str
    shape: tuple[int, ...]
    weight: tuple[int, ...]


class _Calls(Struct, frozen=True):
    """The calls of forward passes, by start: ``which`` is an index into ``distinct``."""

    which: I64
    start_ns: I64
    number: I64
    """The forward pass."""
    passes: int
    distinct: tuple[_Call, ...]

    def named(self, *names: str) -> _Calls:
        """Return the calls of these operators."""
        return self.of(lambda call: call.name in names)

    def of(self, wanted: Callable[[_Call], bool]) -> _Calls:
        """Return the calls for which a condition holds."""
        mask = np.array([wanted(call) for call in self.distinct], np.bool_)[self.which]
        return self.take(np.flatnonzero(mask))

    def take(self, rows: I64) -> _Calls:
        """Return some of the calls."""
        columns = self.which[rows], self.start_ns[rows], self.number[rows]
        return _Calls(*columns, self.passes, self.distinct)

    def first(self) -> _Calls:
        """Return the first call of each pass; raises _Unclear if a pass has none."""
        number, at = np.unique(self.number, return_index=True)
        if not len(number) or len(number) < self.passes:
            raise _Unclear(say("Not every forward pass has a convolution or product with shapes."))
        return self.take(at)

    def total(self, count: Callable[[_Call], int]) -> int:
        """Return the sum of a number over all calls."""
        which, calls = np.unique(self.which, return_counts=True)
        found = zip(which.tolist(), calls.tolist(), strict=True)
        return sum(count(self.distinct[i]) * n for i, n in found)

    @property
    def used(self) -> list[_Call]:
        """Return the distinct calls that occur."""
        return [self.distinct[i] for i in distinct_values(self.which).tolist()]


def batches(trace: Trace, steps: I64) -> Batches:
    """Return the samples and tokens of these rows of ``trace.steps``."""
    calls = _forward_calls(trace, steps)
    tokens = _attempt(lambda: _tokens(trace, calls))
    samples = _attempt(lambda: _samples(trace, steps, calls))
    return Batches(samples[0], tokens[0], samples[1], tokens[1])


def _attempt(count: Callable[[], int]) -> tuple[int | None, str | None]:
    try:
        return count(), None
    except _Unclear as reason:
        return None, str(reason.args[0])


def _forward_calls(trace: Trace, steps: I64) -> _Calls:
    """Return the outermost calls with an input and a weight in the forward passes of steps."""
    ops = trace.ops
    starts, ends = _passes(trace, steps)
    some = (ops.kind == OPERATOR) & lookup(named(trace, _INPUTS), ops.name, False)
    inner = (ops.parent >= 0) & some[ops.parent]
    rows = np.flatnonzero(some & ~inner & (ops.shapes >= 0))
    at = containing(starts, ends, ops.start_ns[rows])
    rows, at = rows[at >= 0], at[at >= 0]
    order = np.argsort(ops.start_ns[rows], kind="stable")
    rows, at = rows[order], at[order]
    first, group = group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
    distinct = tuple(_call(trace, row) for row in rows[first].tolist())
    found = _Calls(group, ops.start_ns[rows], at, len(starts), distinct)
    return found.of(lambda call: bool(call.shape))


def _passes(trace: Trace, steps: I64) -> tuple[I64, I64]:
    """Return starts and ends of the forward passes in steps; of inference the steps themselves.

    Each reaches back to the backward pass before: a frozen embedding has no gradient.
    """
    table = trace.steps
    starts, ends = table.host_start_ns[steps], table.host_end_ns[steps]
    found = training_phases.find_passes(trace)
    if not len(starts) or not len(found.backward_ns):
        return starts, ends
    at = containing(starts, ends, found.backward_ns)
    inside = (at >= 0) & (found.forward_ns < found.backward_ns)
    before = previous(found.end_ns, 0)
    return np.maximum(before, starts[at])[inside], found.backward_ns[inside]


def _call(trace: Trace, row: int) -> _Call:
    name = registry.reduced_name(trace.text(trace.ops.name[row]))
    position = _INPUTS[name]
    try:
        call = known_call(trace, row)
        weight = call.tensor(0 if name == "embedding" else position + 1)
        return _Call(name, call.tensor(position).shape, weight.shape)
    except UnknownWork:
        return _Call(name, (), ())


def _lookups(calls: _Calls) -> _Calls:
    """Return the lookups in the largest embedding whose vectors a product multiplies."""
    found = calls.named("embedding")
    if not found.used:
        raise _Unclear(say("No forward pass looks up an embedding with recorded shapes."))
    rows = {(math.prod(one.shape[:-1]), one.shape[-1]) for one in calls.named(*_PRODUCTS).used}
    weight = max(one.weight for one in found.used)
    found = found.of(lambda call: call.weight == weight)
    if not all((math.prod(one.shape), weight[-1]) in rows for one in found.used):
        raise _Unclear(say("No product has the rows that the embedding returns."))
    found.first()
    return found


def _tokens(trace: Trace, calls: _Calls) -> int:
    found = _lookups(calls)
    if any(len(one.shape) < 2 for one in found.used) and not _has(trace, "attention"):
        raise _Unclear(say("The embedding's indices may be samples as well as tokens."))
    return found.total(lambda call: math.prod(call.shape))


def _samples(trace: Trace, steps: I64, calls: _Calls) -> int:
    try:
        found = _lookups(calls)
    except _Unclear:
        found = _first_products(trace, steps, calls)
    if len(found.which) > found.passes:
        raise _Unclear(say("A forward pass looks up its embedding several times."))
    if len({(one.name, one.weight) for one in found.used}) > 1:
        raise _Unclear(say("Forward passes begin with different operators."))
    if len(found.which) > len(steps) and _optimizer_steps(trace, steps) > len(steps):
        raise _Unclear(say("A step has several forward passes and optimizer steps."))
    if found.used[0].name in _CONVOLUTIONS:
        return found.total(_images)
    if all(len(one.shape) == 2 for one in found.used) and found.used[0].name != "embedding":
        if _has(trace, "attention", "recurrent"):
            raise _Unclear(say("Rows of the first product may be tokens as well as samples."))
        return found.total(lambda call: call.shape[0])
    of_attention = _attention_shapes(trace)
    return found.total(lambda call: _batch(call.shape, of_attention))


def _first_products(trace: Trace, steps: I64, calls: _Calls) -> _Calls:
    """Return the first convolution or product of each forward pass.

    Raises _Unclear if another one may be before it: in work that no operator launched, such as the
    replay of a graph, or in an earlier pass of steps that are not marked.
    """
    products = calls.named(*_CONVOLUTIONS, *_PRODUCTS)
    found = products.first()
    kernels = trace.kernels
    launch = kernels.launch[(kernels.op < 0) & (kernels.launch >= 0) & ~kernels.communication]
    starts, ends = _passes(trace, steps)
    at_ns = trace.launches.start_ns[launch]
    number = containing(starts, ends, at_ns)
    inside = number >= 0
    if (at_ns[inside] < found.start_ns[number[inside]]).any():
        raise _Unclear(say("Work of no operator, such as a graph's replay, is before the product."))
    marked = all(trace.text(n).startswith(call_tree.STEP) for n in trace.steps.name.tolist())
    if not marked and not len(training_phases.find_passes(trace).backward_ns):
        first = {(one.name, one.weight) for one in found.used}
        if len(products.of(lambda call: (call.name, call.weight) in first).which) > found.passes:
            raise _Unclear(
                say("No steps are marked (ProfilerStep), and the first product repeats.")
            )
    return found


def _images(call: _Call) -> int:
    return call.shape[0] if len(call.shape) == len(call.weight) else 1


def _batch(shape: tuple[int, ...], of_attention: set[tuple[int, ...]]) -> int:
    """Return the batch of an input that is (batch, sequence, …) or (sequence, batch, …).

    Attention works on (batch, heads, sequence, …), (batch, sequence, heads, …) or (batch times
    heads, sequence, …), and so shows which it is.
    """
    if len(shape) < 2:
        raise _Unclear(say("The indices have one dimension: sequences of a batch are not apart."))
    batch, length = shape[:2]
    if batch == length:
        return batch
    first, second = (
        any(_fits(one, *sides) for one in of_attention)
        for sides in ((batch, length), (length, batch))
    )
    if first == second:
        raise _Unclear(say("No attention shows which dimension of the first input is the batch."))
    return batch if first else length


def _fits(shape: tuple[int, ...], batch: int, length: int) -> bool:
    if len(shape) == 4:
        return shape[0] == batch and length in shape[1:3]
    return len(shape) == 3 and batch > 0 and shape[0] % batch == 0 and shape[1] == length


def _attention_shapes(trace: Trace) -> set[tuple[int, ...]]:
    """Return the shapes of first inputs of attention, and of products of two tensors."""
    ops = trace.ops
    names = [
        n
        for n in distinct_values(ops.name).tolist()
        if registry.reduced_name(trace.strings[n]) in _CHAINS
        or kind_of(trace.strings[n], trace.vendor) == "attention"
    ]
    rows = np.flatnonzero(np.isin(ops.name, names) & (ops.shapes >= 0))
    first, _ = group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
    shapes = set()
    for row in rows[first].tolist():
        call = read_call(trace, row)
        inputs = [] if call is None else list(call.tensors())
        shapes |= {tensor.shape for tensor in inputs[:2]}
    return shapes


def _has(trace: Trace, *kinds: Kind) -> bool:
    names = distinct_values(trace.ops.name[trace.ops.kind == OPERATOR]).tolist()
    return any(kind_of(trace.strings[n], trace.vendor) in kinds for n in names)


def _optimizer_steps(trace: Trace, steps: I64) -> int:
    stepping = training_phases.phase_kinds(trace) == training_phases.STEPPING
    return int(np.isin(trace.ops.step[stepping], steps[steps != NONE]).sum())
