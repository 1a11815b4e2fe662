"""Find dropout in inference: random numbers for a backward pass that never comes.

A model that is left in training mode draws them, and where autograd is on, it records a graph that
nobody goes through. Dropout may be meant: to ask a model several times how sure it is (Y. Gal, Z.
Ghahramani: "Dropout as a Bayesian Approximation", 2016). Then inputs are there several times, or
the same module is called again in an iteration, or a spread is computed of the results, or they
are added to those of the iterations before, or some dropouts are off while others are on.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import OutermostCalls, outermost_calls
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.recording.iterations import iterations
from tb_privateuse1.analysis.steps.training_phases import (
    BACKWARD,
    RESETTING,
    STEPPING,
    phase_kinds,
)
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import containing, mask_of, positions
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_DROPOUTS = frozenset(
    f"aten::{name}"
    for name in (
        "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout",
        "_fused_dropout",
    )
)  # fmt: skip
_DRAWS = frozenset(("aten::bernoulli_", "aten::native_dropout", "aten::_fused_dropout"))
"""What an active dropout calls; one that is off calls nothing."""
_SPREADS = ("std", "var", "std_mean", "var_mean", "cov")
_ADDS = ("add", "addcmul", "lerp")
_MULTIPLIES = ("repeat", "repeat_interleave", "tile", "expand")
_FORWARD_MODE = frozenset(("aten::_make_dual", "aten::_unpack_dual", "aten::_fw_primal"))
_KEEP = VIEWS | {name.removeprefix("aten::").strip("_") for name in _DROPOUTS}
_LAYERS = ("gemm", "convolution", "recurrent")
"""Kinds of work; a model's first or last layer is often one that no other is like."""
_FEWEST = 2
"""Iterations: behind a single one the recording may have been cut before its backward pass."""


class ServedDropouts(Struct, frozen=True, eq=False):
    """Active dropouts of inference, rows of ``trace.ops``."""

    rows: I64
    recorded: int
    """Outermost operators that autograd recorded beside them; 0 if it recorded none of these."""
    of_module: bool
    """A module of dropout draws, so that it is in training mode."""


@memoize
def served_dropouts(trace: Trace) -> ServedDropouts:
    """Return the dropouts of a recording without any backward pass that nothing says are meant."""
    none = ServedDropouts(np.empty(0, np.int64), 0, of_module=False)
    active = _active(trace)
    if not len(active) or _trains(trace) or _some_are_off(trace, active):
        return none
    found = iterations(trace)
    if found is None:
        return none
    start_ns = trace.ops.start_ns
    at = containing(found.start_ns, found.end_ns, start_ns[active])
    active, at = active[at >= 0], at[at >= 0]
    if len(np.unique(at)) < _FEWEST:
        return none
    calls = outermost_calls(trace)
    turn = containing(found.start_ns, found.end_ns, start_ns[calls.rows])
    modules = call_tree.is_module(trace)
    repeats = (
        _module_again(trace, modules, active, at)
        if modules.any()
        else _pass_again(trace, calls, turn, active)
    )
    if repeats or _several_inputs_or_spread(trace, calls, turn, active, at):
        return none
    if _adds_to_others(trace, calls, turn):
        return none
    recorded = _recorded(trace, calls, active) * np.count_nonzero(calls.records & (turn >= 0))
    return ServedDropouts(active, int(recorded), _of_module(trace, modules, active))


def _active(trace: Trace) -> I64:
    """Return the outermost dropouts that draw random numbers."""
    ops = trace.ops
    dropouts = groupby.named_rows(trace.strings, ops.name, _DROPOUTS.__contains__)
    if not dropouts.any():
        return np.empty(0, np.int64)
    draws = np.flatnonzero(groupby.named_rows(trace.strings, ops.name, _DRAWS.__contains__))
    inner = call_tree.around(ops.parent, draws, dropouts)
    inner = np.unique(inner[inner >= 0])
    outer = call_tree.around(ops.parent, ops.parent[inner], dropouts)
    found: I64 = np.unique(np.where(outer >= 0, outer, inner))
    return found


def _trains(trace: Trace) -> bool:
    """Return whether anything computes gradients, or changes parameters."""
    training = np.isin(phase_kinds(trace), (BACKWARD, STEPPING, RESETTING)).any()
    ops = trace.ops
    dual = groupby.named_rows(trace.strings, ops.name, _FORWARD_MODE.__contains__)
    return bool(training or dual.any())


def _some_are_off(trace: Trace, active: I64) -> bool:
    """Return whether a dropout with a chance above 0 is off while others draw."""
    ops = trace.ops
    named = groupby.named_rows(trace.strings, ops.name, _DROPOUTS.__contains__)
    inside = call_tree.around(ops.parent, ops.parent, mask_of(active, len(ops))) >= 0
    rows = np.flatnonzero(named & ~inside & ~mask_of(active, len(ops)))
    if not len(rows):
        return False
    first, _ = groupby.group_rows(ops.name[rows], ops.concrete[rows])
    return any(_is_off(trace, row) for row in rows[first].tolist())


def _is_off(trace: Trace, row: int) -> bool:
    call = read_call(trace, row)
    return call is None or call.value(2) != "True"


def _recorded(trace: Trace, calls: OutermostCalls, active: I64) -> bool:
    """Return whether autograd records any of the outermost operators around dropouts."""
    parent, count = trace.ops.parent, len(trace.ops)
    outer = np.unique(call_tree.around(parent, active, mask_of(calls.rows, count)))
    return bool(calls.records[positions(calls.rows, count)[outer[outer >= 0]]].any())


def _module_again(trace: Trace, modules: Bools, active: I64, at: I64) -> bool:
    """Return whether a module around a dropout, but for its own one, is called again in a turn."""
    frames = trace.frames
    around = call_tree.around(frames.parent, trace.ops.frame[active], modules)
    rows, turns = [], []
    while len(around):
        around, first = np.unique(around, return_index=True)
        at = at[first]
        rows.append(around)
        turns.append(at)
        up = call_tree.around(frames.parent, frames.parent[around], modules)
        around, at = up[up >= 0], at[up >= 0]
    first, _ = groupby.group_rows(np.concatenate(rows))
    row, turn = np.concatenate(rows)[first], np.concatenate(turns)[first]
    own = groupby.named_rows(trace.strings, frames.name[row], _is_dropout)
    counted = (row >= 0) & ~own
    called, _ = groupby.group_rows(frames.name[row[counted]], turn[counted])
    return len(called) < int(np.count_nonzero(counted))


def _is_dropout(name: str) -> bool:
    return name.startswith(call_tree.MODULE) and "Dropout" in name


def _of_module(trace: Trace, modules: Bools, active: I64) -> bool:
    frame = call_tree.around(trace.frames.parent, trace.ops.frame[active], modules)
    names = np.unique(trace.frames.name[frame[frame >= 0]]).tolist()
    return any(_is_dropout(trace.text(name)) for name in names)


def _pass_again(trace: Trace, calls: OutermostCalls, turn: I64, active: I64) -> bool:
    """Return whether an iteration may have several passes, where no modules are recorded.

    A single pass has a layer that no other is like, and equal layers behind a dropout read what
    was made since the first of them.
    """
    kinds = np.array([_is_layer(trace, calls, i) for i in range(len(calls.calls))] or [False])
    places = np.flatnonzero(kinds[calls.call] & (turn >= 0))
    if not len(places):
        return True
    pair, group = groupby.group_rows(calls.call[places], turn[places])
    if np.bincount(group, minlength=len(pair)).min() > 1:
        return True
    outer = call_tree.around(trace.ops.parent, active, mask_of(calls.rows, len(trace.ops)))
    drawn = np.sort(positions(calls.rows, len(trace.ops))[outer[outer >= 0]])
    order = places[np.lexsort((places, group))]
    group = np.sort(group)
    same = np.flatnonzero(group[1:] == group[:-1])
    first, second = order[same], order[same + 1]
    made = _times_made(calls, first, second)
    draws = np.searchsorted(drawn, second) - np.searchsorted(drawn, first)
    return bool(((made == 0) & (draws > 0)).any())


def _adds_to_others(trace: Trace, calls: OutermostCalls, turn: I64) -> bool:
    """Return whether what an iteration's last layer makes is added to another tensor in place.

    Without shapes any sum behind it may be such a one. Answers to other inputs are not added up
    number by number. What a model adds to its states comes
    ahead of its last layer.
    """
    layers = np.array([_is_layer(trace, calls, i) for i in range(len(calls.calls))] or [False])
    known = np.flatnonzero((layers[calls.call] | calls.named(*_ADDS)) & (turn >= 0))
    made, adds = {}, set()
    for number, at in zip(calls.call[known].tolist(), turn[known].tolist(), strict=True):
        call = calls.calls[number]
        if layers[number]:
            made[at] = call.result
            adds.discard(at)
        elif call.writes and set(call.reads) <= {made.get(at)}:
            adds.add(at)
    return bool(adds)


def _is_layer(trace: Trace, calls: OutermostCalls, number: int) -> bool:
    name = trace.text(trace.ops.name[calls.rows[calls.first[number]]])
    return calls.calls[number].word == "embedding" or kind_of(name, trace.vendor) in _LAYERS


def _times_made(calls: OutermostCalls, first: I64, second: I64) -> I64:
    """Return how often a tensor of the size that a call reads was made until the next equal one.

    Dropout makes none: what it leaves is what was there.
    """
    made = np.zeros(len(first), np.int64)
    for number, some in groupby.split_by_value(calls.call[first]):
        key = calls.calls[number].reads[:1]
        numbers = [
            i
            for i, call in enumerate(calls.calls)
            if call.word not in _KEEP and (call.result,) == key
        ]
        at = np.flatnonzero(np.isin(calls.call, numbers))
        made[some] = np.searchsorted(at, second[some]) - np.searchsorted(at, first[some])
    return made


def _several_inputs_or_spread(
    trace: Trace, calls: OutermostCalls, turn: I64, active: I64, at: I64
) -> bool:
    """Return whether rows are multiplied ahead of an iteration's dropouts, or a spread follows.

    Without shapes rows may be multiplied wherever anything is.
    """
    start_ns = trace.ops.start_ns
    count = int(turn.max(initial=NONE)) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, NONE, np.int64)
    np.minimum.at(first, at, start_ns[active])
    np.maximum.at(last, at, start_ns[active])
    start = start_ns[calls.rows]
    known = turn >= 0
    spread = calls.named(*_SPREADS) & known
    if (start[spread] > last[turn[spread]]).any():
        return True
    more = np.flatnonzero(calls.named(*_MULTIPLIES) & known)
    more = more[start[more] < first[turn[more]]]
    if (trace.ops.shapes[calls.rows[more]] < 0).any():
        return True
    ranges = {
        call.result[0] for call in calls.calls if call.word == "arange" and call.result is not None
    }
    return any(_multiplies(calls, i, ranges) for i in np.unique(calls.call[more]).tolist())


def _multiplies(calls: OutermostCalls, number: int, ranges: set[int]) -> bool:
    """Return whether a call has its input several times: no table of places for all texts."""
    call = calls.calls[number]
    if not call.reads or call.reads[0][0] in ranges:
        return False
    return call.result is None or call.result[0] > call.reads[0][0]
