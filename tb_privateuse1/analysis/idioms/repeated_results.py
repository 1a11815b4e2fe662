"""Find work that gives what is there already: by where the inputs of each operator come from.

Profilers record no identity of tensors. A tensor is known here by elements and type, and only
if its origin is sure. Three origins make a result one that is there already:

- constants: a chain of operators from ``arange``, ``ones`` and others with the same numbers;
- conversions: a tensor that is converted to another type, and directly back;
- weights: what works on an unchanged tensor before it enters a layer at the place of a weight.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import Call, Key, OutermostCalls
from tb_privateuse1.analysis.idioms.result_tensors import FACTORIES, VIEWS
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, STEPPING, phase_kinds
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_FAR = 8
"""A constant is followed past this many other operators: behind a layer's few, not through it."""
_MOST = 50_000
"""Operators that are followed: those of the largest judged recordings would take 0.2 s."""
_WEIGHT_AT = {"linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "convolution": 1, "embedding": 0,
              "addmm": 2, "layer_norm": 2, "rms_norm": 2}  # fmt: skip
"""Where a layer takes its weight."""
_LONGEST = 6
"""Operators from a weight to its layer: those of a normalized or an adapted one."""
_FLOATING = ("float64", "float32", "float16", "bfloat16")


class Repeated(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` whose result is there already, by origin of their inputs."""

    constants: I64
    conversions: I64
    """With the nodes of autograd that convert the gradients there and back."""
    weights: I64

    def rows(self) -> I64:
        """Return the rows of all origins, in order."""
        return np.unique(np.concatenate((self.constants, self.conversions, self.weights)))


@memoize
def repeated_results(trace: Trace) -> Repeated:
    """Return the operators whose result is there already; the first one of its kind is needed."""
    none = np.empty(0, np.int64)
    if not (trace.ops.shapes >= 0).any():
        return Repeated(none, none, none)
    operators = OutermostCalls(trace)
    return Repeated(
        constants=operators.rows[_constants(operators)],
        conversions=_with_gradients(trace, operators.rows[_there_and_back(operators)]),
        weights=operators.rows[_weights(trace, operators)],
    )


class _Value(Struct, frozen=True, eq=False):
    """A constant: its number, and the operators that it is made of."""

    number: int
    place: int
    made_of: tuple[_Value, ...]
    call: Call
    is_table: bool
    """It has an element for each pair of two vectors'."""
    is_sure: bool
    """All numbers of its calls are recorded."""


class _Constants:
    """The constants of a trace: equal ones have the same number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, ...], int] = {}
        self.seen: dict[int, int] = {}
        """By number, the place of the first one."""
        self.found: list[_Value] = []
        self.changed: set[int] = set()
        """Numbers of those that somebody writes to later: buffers."""

    def make(self, call: int, place: int, made_of: tuple[_Value, ...], what: Call) -> _Value:
        """Return the value of a call on constants."""
        key = (call, *(one.number for one in made_of))
        number = self.numbers.setdefault(key, len(self.numbers))
        value = _Value(
            number=number,
            place=place,
            made_of=made_of,
            call=what,
            is_table=_pairs_up(what) or any(one.is_table for one in made_of),
            is_sure=not what.has_number and all(one.is_sure for one in made_of),
        )
        self.seen.setdefault(number, place)
        self.found.append(value)
        return value

    def change(self, value: _Value) -> None:
        """Note that a value, or what it is a view of, is written to."""
        self.changed.add(value.number)
        if value.call.word in VIEWS or value.call.writes:
            for one in value.made_of[:1]:
                self.change(one)


def _pairs_up(call: Call) -> bool:
    sizes = [elements for elements, _ in call.reads]
    return len(sizes) > 1 and call.result is not None and call.result[0] > max(sizes)


def _constants(operators: OutermostCalls) -> I64:
    """Return the places of operators that compute a constant another time.

    Numbers of Python are not recorded where they are multiplied: those of a vector may be the time
    of a step. A table of two vectors has none of these.
    """
    constants = _Constants()
    starts = np.flatnonzero(operators.named(*FACTORIES, "zeros_like", "ones_like", "full_like"))
    done, left = -1, _MOST
    for start in starts.tolist():
        if start > done and left > 0:
            last = _follow(operators, constants, start)
            left -= last - start + 1
            done = last
    gone: set[int] = set()
    for value in constants.found:
        again = constants.seen[value.number] < value.place
        computes = not value.call.is_factory and value.call.word not in VIEWS
        known = value.is_sure or value.is_table
        if again and computes and known and value.number not in constants.changed:
            _collect(value, gone)
    return np.array(sorted(gone), np.int64)


def _collect(value: _Value, gone: set[int]) -> None:
    """Add the places of a value and all that it is made of."""
    left = [value]
    while left:
        one = left.pop()
        if one.place not in gone:
            gone.add(one.place)
            left += one.made_of


def _follow(operators: OutermostCalls, constants: _Constants, start: int) -> int:
    """Follow the constants from a factory on; return the last place that was looked at."""
    values: dict[Key, list[_Value]] = defaultdict(list)
    others, place = 0, start
    while place < len(operators.rows) and operators.thread[place] == operators.thread[start]:
        call = operators.at(place)
        if operators.ends[place]:
            break
        read = None if operators.records[place] else _taken(call, values)
        if read is not None and call.result is not None:
            value = constants.make(int(operators.call[place]), place, read, call)
            if call.writes:
                _fill(values, constants, value)
            if call.result[0] > 1:
                values[call.result].append(value)
            others = 0
        else:
            _forget(call, values, constants)
            others += 1
            if others > _FAR or not any(values.values()):
                break
        place += 1
    return place


def _taken(call: Call, values: dict[Key, list[_Value]]) -> tuple[_Value, ...] | None:
    """Return the constants that a call reads; None if it reads anything else.

    Two inputs of one size and type are the last two values of these.
    """
    if call.is_factory:
        return ()
    if not call.is_pure:
        return None
    taken: list[_Value] = []
    count: dict[Key, int] = defaultdict(int)
    for key in call.reads:
        count[key] += 1
        held = values.get(key, [])
        if not held:
            return None
        taken.append(held[-min(count[key], len(held))])
    return tuple(taken)


def _fill(values: dict[Key, list[_Value]], constants: _Constants, value: _Value) -> None:
    """Note what a constant that is written in part is now: the tensor that it is a view of."""
    base = value.made_of[0]
    while base.call.word in VIEWS and base.made_of:
        base = base.made_of[0]
        if base.call.result is not None:
            filled = constants.make(-1 - base.number, value.place, (base, value), base.call)
            values[base.call.result].append(filled)


def _forget(call: Call, values: dict[Key, list[_Value]], constants: _Constants) -> None:
    """Drop the constants that another result can be taken for, and note those written to."""
    if call.writes:
        for held in (values.get(key, []) for key in call.reads[:1] or [call.result or (0, "")]):
            for value in held[-1:]:
                constants.change(value)
    if call.result is None:
        values.clear()
    else:
        values.pop(call.result, None)


def _there_and_back(operators: OutermostCalls) -> I64:
    """Return the places of conversions to another type and directly back."""
    is_cast = operators.named("to", "to_copy")
    first = np.flatnonzero(is_cast[:-1] & is_cast[1:])
    first = first[operators.thread[first] == operators.thread[first + 1]]
    if not len(first):
        return first
    pairs, pair = groupby.group_rows(operators.call[first], operators.call[first + 1])
    back = np.array(
        [_goes_back(operators.at(i), operators.at(i + 1)) for i in first[pairs].tolist()], np.bool_
    )
    chosen: I64 = first[back[pair]]
    return np.union1d(chosen, chosen + 1)


def _goes_back(there: Call, back: Call) -> bool:
    if len(there.reads) != 1 or len(back.reads) != 1:
        return False
    begin, middle = there.reads[0], there.result
    floats = begin[1] in _FLOATING and middle is not None and middle[1] in _FLOATING
    return floats and begin != middle and back.reads[0] == middle and back.result == begin


def _with_gradients(trace: Trace, rows: I64) -> I64:
    """Return the rows, and autograd's nodes that compute their gradients."""
    if not len(rows):
        return rows
    forward = call_tree.linked_forward(trace.ops)
    outer = call_tree.self_or_nearest(trace.ops.parent, mask_of(rows, len(trace.ops)))
    nodes = np.flatnonzero(phase_kinds(trace) == BACKWARD)
    nodes = nodes[forward[nodes] >= 0]
    return np.union1d(rows, nodes[outer[forward[nodes]] >= 0])


def _weights(trace: Trace, operators: OutermostCalls) -> I64:
    """Return the places of work on weights that nobody changes, in all steps but the first.

    Without backward passes and optimizers, weights stay as they are.
    """
    none = np.empty(0, np.int64)
    if operators.ends.any() or (phase_kinds(trace) == STEPPING).any():
        return none
    layers = np.flatnonzero(operators.named(*_WEIGHT_AT))
    before = np.maximum(layers - 1, 0)
    pairs, pair = groupby.group_rows(operators.call[before], operators.call[layers])
    feeds = np.array(
        [_feeds(operators.at(int(before[i])), operators.at(int(layers[i]))) for i in pairs.tolist()]
        or [False],
        np.bool_,
    )
    if not feeds.any():
        return none
    made = _made_by_calls(operators)
    step = trace.ops.step[operators.rows]
    seen: dict[tuple[int, ...], int] = {}
    gone: list[int] = []
    for layer in layers[feeds[pair]].tolist()[:_MOST]:
        chain = _chain(operators, made, layer)
        key = tuple(int(operators.call[i]) for i in chain)
        if chain and seen.setdefault(key, int(step[layer])) != int(step[layer]):
            gone += chain
    return np.unique(np.array(gone, np.int64))


def _feeds(before: Call, layer: Call) -> bool:
    """Return whether an operator makes the weight of the layer behind it, and not its input."""
    at = _WEIGHT_AT.get(layer.word, 0)
    if not before.is_pure or before.word in VIEWS or at >= len(layer.reads):
        return False
    others = layer.reads[:at] + layer.reads[at + 1 :]
    return before.result == layer.reads[at] and before.result not in others


def _made_by_calls(operators: OutermostCalls) -> dict[Key, set[int]]:
    """Return the calls that have a result of each size and type."""
    made: dict[Key, set[int]] = defaultdict(set)
    for number, place in enumerate(operators.first.tolist()):
        if (result := operators.at(place).result) is not None:
            made[result].add(number)
    return made


def _chain(operators: OutermostCalls, made: dict[Key, set[int]], layer: int) -> list[int]:
    """Return the places of the operators that make a layer's weight from unchanged tensors."""
    chain: list[int] = []
    wanted = {operators.at(layer).reads[_WEIGHT_AT[operators.at(layer).word]]}
    for place in range(layer - 1, max(layer - 1 - _LONGEST, -1), -1):
        call = operators.at(place)
        if call.result not in wanted or not call.is_pure:
            break
        chain.append(place)
        wanted |= set(call.reads)
    numbers = {int(operators.call[i]) for i in chain}
    inputs = {key for i in chain for key in operators.at(i).reads}
    inputs -= {result for i in chain if (result := operators.at(i).result) is not None}
    own = all(not made.get(key, set()) - numbers for key in inputs)
    return chain[::-1] if inputs and own and all(one in _FLOATING for _, one in inputs) else []
