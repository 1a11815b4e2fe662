"""Find constants that are computed again: results of numbers alone, by the calls that make them.

Equal calls on equal constants give an equal constant. What is not made in the recording, and is of
whole numbers or truth values, is as good as a constant within one step: lengths, places, a mask of
the batch. Tensors of one size look alike, so such a chain counts only if it comes three
times in a step, makes a table of two vectors, and no other numbers were made in between.

A whole number of Python that scales a constant is not recorded, nor is a tensor of one element. It
may be the size of a model, equal in all layers, or the number of a layer: such tables are apart.
So are those that a layer takes as its weight. A weight that changes with the number of a step would
be unusual, so those of one step count as those of the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.idioms.outermost_calls import FLOATING, Call, Key, OutermostCalls
from tb_privateuse1.analysis.idioms.prepared_weights import weight_read
from tb_privateuse1.analysis.idioms.result_tensors import FACTORIES, VIEWS
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import sums_before
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_FAR = 8
"""A constant is followed past this many other operators: behind a layer's few, not through it."""
_MOST = 50_000
"""Operators that are followed: those of the largest judged recordings would take 0.2 s."""
_TIMES = 3
"""Equal chains on a batch's numbers in a step: a batch may have two tensors of one size. So of
tables that a whole number scales: two may be of two kinds. Of a layer's weight it is steps."""
_JOINS = ("cat", "concat", "stack")
"""Operators that read a list of tensors: its types are not recorded."""
_SCALES = ("mul", "div", "true_divide", "floor_divide", "pow")
"""Operators that scale by a number. One that is added is often a place, which moves on."""
_COUNT: Key = (1, "int64")
"""A whole number of Python as torch records it, or a tensor of one element."""


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
    is_given: bool
    """It is made of a batch's numbers."""
    step: int = NONE
    """Where a whole number that is not recorded scales it: the step that has this number."""


class Repeats(Struct, frozen=True, eq=False):
    """Places of operators that compute a constant another time."""

    sure: I64
    scaled: I64
    """Those of tables that an unrecorded whole number scales: it may be another one each time."""
    weights: I64
    """Those of a layer's weight that such a number scales, behind the first step that makes it."""
    beside: I64
    """Those that may be of another tensor, too: as large as a constant, and made by no operator."""


class _Constants:
    """The constants of a trace: equal ones have the same number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Key | int, ...], int] = {}
        self.seen: dict[tuple[int, int], int] = {}
        """By number, and step if one scales it, the place of the first one."""
        self.steps: dict[int, set[int]] = defaultdict(set)
        """By number, the steps that scale it."""
        self.weights: set[int] = set()
        """Numbers of what a layer takes as its weight, and of what that is made of."""
        self.found: list[_Value] = []
        self.changed: set[int] = set()
        """Numbers of those that somebody writes to later: buffers."""
        self.others: set[Key] = set()
        """Sizes and types of results on the way that are no constants."""
        self.doubted: set[int] = set()
        """Numbers of what is made of one constant twice, or of it and of a tensor of its size."""

    def make(
        self, call: int, place: int, made_of: tuple[_Value, ...], what: Call, step: int = NONE
    ) -> _Value:
        """Return the value of a call on constants; ``step`` has the number that scales them."""
        key = (call, *[one.number for one in made_of])
        number = self.numbers.setdefault(key, len(self.numbers))
        is_table, is_sure, is_given = what.pairs_up, not what.has_number, False
        for one in made_of:
            is_table |= one.is_table
            is_sure &= one.is_sure
            is_given |= one.is_given
            step = max(step, one.step)
        is_sure &= step == NONE
        if any(one.number in self.doubted for one in made_of):
            self.doubted.add(number)
        value = _Value(number, place, made_of, what, is_table, is_sure, is_given, step)
        self.seen.setdefault((number, step), place)
        self.steps[number].add(step)
        self.found.append(value)
        return value

    def given(self, key: Key, part: int, what: Call) -> _Value:
        """Return the value of a batch's numbers in a part of the recording."""
        number = self.numbers.setdefault((key, part), len(self.numbers))
        return _Value(number, -1, (), what, is_table=False, is_sure=True, is_given=True)

    def repeated(self) -> Iterator[_Value]:
        """Yield the results that are there already, and that nobody writes to."""
        times = Counter((one.number, one.step) for one in self.found)
        for one in self._computed():
            again = self.seen[one.number, one.step] < one.place
            known = one.is_table or (one.is_sure and not one.is_given)
            least = _TIMES * (one.is_given or one.step != NONE)
            if again and known and times[one.number, one.step] >= least:
                yield one

    def repeated_weights(self) -> Iterator[_Value]:
        """Yield the weights of layers that a number scales, in all steps but the first one."""
        for one in self._computed():
            steps = self.steps[one.number]
            known = one.step != NONE and one.is_table and one.number in self.weights
            if known and one.step > min(steps) and len(steps) >= _TIMES:
                yield one

    def _computed(self) -> Iterator[_Value]:
        for one in self.found:
            computes = not one.call.is_factory and one.call.word not in VIEWS
            if computes and one.number not in self.changed:
                yield one

    def weigh(self, value: _Value) -> None:
        """Note that a layer takes a value as its weight."""
        left = [value]
        while left:
            one = left.pop()
            if one.number not in self.weights:
                self.weights.add(one.number)
                left += one.made_of

    def change(self, value: _Value) -> None:
        """Note that a value, or what it is a view of, is written to."""
        self.changed.add(value.number)
        if value.call.word in VIEWS or value.call.writes:
            for one in value.made_of[:1]:
                self.change(one)


def repeated_constants(trace: Trace, operators: OutermostCalls) -> Repeats:
    """Return the places of operators that compute a constant another time.

    Numbers of Python are not recorded where they are multiplied: those of a vector may be the time
    of a step. A table of two vectors has none of these.
    """
    constants, given = _Constants(), _Given(trace, operators)
    starts = operators.named(*FACTORIES, "zeros_like", "ones_like", "full_like")
    done, left = -1, _MOST
    begins = np.flatnonzero(starts | given.starts)
    for start, stop in zip(begins.tolist(), operators.stops(begins).tolist(), strict=True):
        if start > done and left > 0:
            last = _follow(operators, constants, given, start, stop)
            left -= last - start + 1
            done = last
    sure, scaled, weights, beside = {-1}, {-1}, {-1}, {-1}
    for value in constants.repeated():
        known = beside if value.number in constants.doubted else sure
        _collect(value, known if value.step == NONE else scaled)
    for value in constants.repeated_weights():
        _collect(value, weights)
    rest = beside - sure - scaled - weights
    kinds = (sure - scaled - weights, scaled - {-1}, weights - scaled, rest)
    return Repeats(*(np.array(sorted(some), np.int64) for some in kinds))


class _Given:
    """Numbers of a batch: whole numbers and truth values that no operator of the recording makes.

    ``part`` numbers the steps, and within these what is behind an operator that may make numbers.
    """

    def __init__(self, trace: Trace, operators: OutermostCalls) -> None:
        self._made, calls = operators.made(), operators.calls
        reads_given = np.array([one.is_pure and self._all(one) for one in calls] or [False])
        self.starts = reads_given[operators.call] & ~operators.ends
        unknown = np.array([one.may_number for one in calls] or [False])
        behind = sums_before(unknown[operators.call] & ~operators.ends)[1:]
        self.step = trace.ops.step[operators.rows]
        _, self.part = groupby.group_rows(behind, self.step)

    def _all(self, call: Call) -> bool:
        return call.word not in VIEWS and all(self.has(key) for key in call.reads)

    def has(self, key: Key) -> bool:
        """Return whether a tensor of a size and type must be of the batch."""
        return key[0] > 1 and key[1] not in FLOATING and key not in self._made


def _collect(value: _Value, gone: set[int]) -> None:
    """Add the places of a value and all that it is made of."""
    left = [value]
    while left:
        one = left.pop()
        if one.place not in gone:
            gone.add(one.place)
            left += one.made_of


def _follow(
    operators: OutermostCalls, constants: _Constants, given: _Given, start: int, stop: int
) -> int:
    """Follow the constants from a place on; return the last place that was looked at."""
    values: dict[Key, list[_Value]] = defaultdict(list)
    constants.others.clear()
    numbers, records = operators.listed
    others, place = 0, start
    while place < stop:
        number = numbers[place]
        call = _joined(operators.calls[number], values)
        read, step = None, NONE
        if not records[place]:
            read = _taken(call, values, constants, given, place)
            step = int(given.step[place]) if _is_scaled(call) else NONE
        if read is not None and _is_view_of_given(call, read):
            others = 0
        elif read is not None and call.result is not None:
            value = constants.make(number, place, read, call, step)
            if _may_read_another(call, values):
                constants.doubted.add(value.number)
            if call.writes:
                _fill(values, constants, value)
            if call.result[0] > 1:
                values[call.result].append(value)
            others = 0
        else:
            for value in values.get(weight_read(call) or _COUNT, [])[-1:]:
                constants.weigh(value)
            _forget(call, values, constants)
            others += 1
            if others > _FAR or not values:
                break
        place += 1
    return place


def _taken(
    call: Call, values: dict[Key, list[_Value]], constants: _Constants, given: _Given, place: int
) -> tuple[_Value, ...] | None:
    """Return the constants that a call reads; None if it reads anything else.

    Two inputs of one size and type are the last two values of these, or one of them twice if
    nothing else of the kind was made.
    """
    if call.is_factory:
        return ()
    if not call.is_pure:
        return None
    taken: list[_Value] = []
    if _is_scaled(call) and given.step[place] == NONE:
        return None
    for i, key in enumerate(call.reads):
        if held := values.get(key):
            if key in constants.others and call.reads.count(key) > len(held):
                return None
            again = call.reads[: i + 1].count(key) if len(held) > 1 else 1
            taken.append(held[-min(again, len(held))])
        elif given.has(key):
            taken.append(constants.given(key, int(given.part[place]), call))
        elif key != _COUNT or not _is_scaled(call):
            return None
    return tuple(taken) if taken else None


def _may_read_another(call: Call, values: dict[Key, list[_Value]]) -> bool:
    """Return whether a call reads more tensors of a size and type than there are constants.

    A loader's or a buffer's looks the same. A list has one twice: the angles of both halves.
    """
    held = {key: len(values[key]) for key in call.reads if values.get(key)}
    return call.word not in _JOINS and any(call.reads.count(key) > held[key] for key in held)


def _is_scaled(call: Call) -> bool:
    """Return whether a whole number that is not recorded scales what a call reads."""
    return call.word in _SCALES and _COUNT in call.reads


def _joined(call: Call, values: dict[Key, list[_Value]]) -> Call:
    """Return a call that joins constants with their type; any other call as it is."""
    if call.word not in _JOINS or not call.reads or any(kind for _, kind in call.reads):
        return call
    kinds = {kind for size, kind in values if (size, "") in call.reads and values[size, kind]}
    reads = tuple((size, kind) for size, _ in call.reads for kind in kinds)
    if len(kinds) != 1 or any(key not in values for key in reads):
        return call
    size = sum(size for size, _ in reads)
    return replace(call, reads=reads, result=(size, *kinds), is_pure=True)


def _is_view_of_given(call: Call, read: tuple[_Value, ...]) -> bool:
    """Return whether a call is a mere view of a batch's numbers: of the same size, so the same."""
    same = call.result is not None and call.reads[:1] == (call.result,)
    return same and call.word in VIEWS and read[0].place < 0


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
        constants.others.add(call.result)
        values.pop(call.result, None)
