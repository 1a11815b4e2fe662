"""Find copies of tensors where nobody writes to the tensor or to its copy: one would do.

No recording says which tensor is which. A copy counts if nothing may write to either one: no
operator of the program writes in place to a tensor of that type with as many elements or fewer,
which may be a view of it. What is copied has to be a result of the program itself, so that no
other thread or process fills it, and dense, so that the copy has the same layout.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.outermost_calls import Key, OutermostCalls, outermost_calls
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS
from tb_privateuse1.analysis.work.arguments import Tensor
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.columns import latest_before, lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_CLONE = "aten::clone"
_GRAPHS = re.compile(r"(?i)graph_?(launch|replay|exec)")
"""What a graph's replay writes, no operator tells."""
_AS_IT_IS = ("", "3")
"""Memory formats that keep the layout: none given, and ``torch.preserve_format``."""


@memoize
def unwritten_copies(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` that copy a tensor, where nobody writes either one."""
    none = np.empty(0, np.int64)
    if _CLONE not in trace.strings or any(map(_GRAPHS.search, _called(trace))):
        return none
    calls = outermost_calls(trace)
    copied = {
        number: key
        for number in np.unique(calls.call[calls.named("clone")]).tolist()
        if (key := _copied(trace, int(calls.rows[calls.first[number]]))) is not None
    }
    least = _written(trace, calls) if copied else {}
    weights = {int(np.prod(shape)) for shape in accumulations(trace).shapes}
    unwritten = {
        number: key
        for number, key in copied.items()
        if key[0] < least.get(key[1], key[0] + 1) and key[0] not in weights
    }
    return np.sort(_of_results(trace, calls, unwritten)) if unwritten else none


def _called(trace: Trace) -> list[str]:
    return [trace.text(name) for name in np.unique(trace.launches.name).tolist()]


def _copied(trace: Trace, row: int) -> Key | None:
    """Return the key of what a call copies without a change of its layout; else None."""
    call = read_call(trace, row)
    given = call.optional(0) if call is not None and call.name == _CLONE else None
    if call is None or given is None or given.strides is None or call.value(1) not in _AS_IT_IS:
        return None
    return (given.numel, given.dtype) if _is_dense(given) else None


def _is_dense(given: Tensor) -> bool:
    """Return whether a tensor fills its memory, in some order of its dimensions."""
    sides = sorted(zip(given.strides or (), given.shape, strict=False))
    extent = 1
    for stride, size in sides:
        if size != 1 and stride != extent:
            return False
        extent *= size
    return True


def _written(trace: Trace, calls: OutermostCalls) -> dict[str, int]:
    """Return by type the fewest elements of a tensor that the program writes in place.

    Passes and optimizers write gradients, parameters and their own state. An operator of the
    program's own may write any of its tensors.
    """
    least: dict[str, int] = {}
    for number in np.unique(calls.call[~calls.ends]).tolist():
        call = calls.calls[number]
        if not call.writes:
            continue
        row = int(calls.rows[calls.first[number]])
        name, given = trace.text(trace.ops.name[row]), read_call(trace, row)
        if name.startswith("aten::"):
            targets = call.reads[:1]
        else:
            targets = () if given is None else tuple((1, one.dtype) for one in given.tensors())
        for elements, dtype in targets:
            least[dtype] = min(least.get(dtype, elements), elements)
    return least


def _of_results(trace: Trace, calls: OutermostCalls, copied: dict[int, Key]) -> I64:
    """Return the rows of calls whose tensor another operator made last, in its step and thread.

    ``copied`` has by call the key of its tensor. All keys are looked up in one order, by key and
    then by place.
    """
    ids = {key: i for i, key in enumerate(dict.fromkeys(copied.values()))}
    makes, views = (np.zeros(len(calls.calls), np.bool_) for _ in range(2))
    given, made = (np.full(len(calls.calls), NONE, np.int64) for _ in range(2))
    for number, key in copied.items():
        given[number] = ids[key]
    for i, call in enumerate(calls.calls):
        if call.result in ids:
            made[i] = ids[call.result]
            makes[i] = call.word not in (*VIEWS, "clone")
            is_part = call.word in VIEWS and call.reads[:1] != (call.result,)
            views[i] = is_part or call.word == "clone"  # no results of their own
    places = np.flatnonzero((given[calls.call] != NONE) & ~calls.ends)
    sources = np.flatnonzero((makes | views)[calls.call])
    count = len(calls.rows)
    order = np.sort(made[calls.call[sources]] * count + sources)
    of = given[calls.call[places]]
    at = latest_before(order, of * count + places)
    known = lookup(order, at, NONE) // count == of
    source, places = order[at[known]] % count, places[known]
    good = makes[calls.call[source]] & (calls.thread[source] == calls.thread[places])
    step = trace.ops.step[calls.rows]
    rows: I64 = calls.rows[places[good & (step[source] == step[places])]]
    return rows
