"""Follow a tensor from its maker to its readers, within a thread and a step.

No profiler records which tensor is which: one is known by its elements. So a question has an answer
only if nothing else of that size is read or made where that would matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tb_privateuse1.analysis.idioms.later_calls import LaterCalls
from tb_privateuse1.analysis.idioms.needed_inputs import (
    CASTS,
    VIEWS,
    Needs,
    needs_of,
    read_sizes,
)
from tb_privateuse1.analysis.idioms.result_tensors import result_of
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_MOST = 50_000
"""Operators that are looked at in one recording: as many as for other results that nobody reads."""
_SCALES = frozenset(("mul", "div", "true_divide"))


class Known(Struct, frozen=True):
    """A distinct call: what it reads and makes, as far as that is recorded."""

    call: Arguments
    word: str
    kind: str
    sizes: frozenset[int]
    """Elements of the tensors that it reads."""
    result: Tensor | None
    needs: Needs | None

    @property
    def is_view(self) -> bool:
        """Return whether its result has the elements of its first input, in some other shape."""
        return self.word in VIEWS or self.kind == "view"

    @property
    def passes(self) -> bool:
        """Return whether its result is its first input: a view of it, or in another type."""
        return self.is_view or self.word in CASTS

    @property
    def scales(self) -> bool:
        """Return whether it multiplies one tensor by a number."""
        tensors = [one for one in self.call.tensors() if one.shape]
        return self.word in _SCALES and len(tensors) == 1

    @property
    def made(self) -> int:
        """Return the elements of a new result; 0 if it makes none or they are not known."""
        if self.is_view:
            return 0
        if self.result is not None:
            return self.result.numel
        return 0 if self.needs is None else self.needs.result


class FollowedCalls:
    """The outermost operators with shapes by thread and start, parsed once for each distinct one.

    After 50,000 looks it says that nothing is known, so that a question costs little in any trace.
    """

    def __init__(self, trace: Trace) -> None:
        self.later = LaterCalls(trace)
        self.rows: I64 = self.later.rows
        self._trace = trace
        ops = trace.ops
        self._columns = (ops.name, ops.shapes, ops.dtypes, ops.strides, ops.concrete)
        part = starts_run(ops.thread[self.rows], ops.step[self.rows])
        self._starts: list[int] = part.nonzero()[0].tolist()
        self._part: I64 = part.cumsum()
        self._known: dict[tuple[int, ...], Known | None] = {}
        self._left = _MOST

    def at(self, place: int) -> Known | None:
        """Return the call at a place among ``rows``; None if its inputs are not known."""
        row = int(self.rows[place])
        key = tuple(int(column[row]) for column in self._columns)
        if key not in self._known:
            self._known[key] = self._read(place)
        return self._known[key]

    def _read(self, place: int) -> Known | None:
        call = self.later.call(place)
        if call is None:
            return None
        kind, word = kind_of(call.name, self._trace.vendor), reduced_name(call.name).strip("_")
        return Known(call, word, kind, read_sizes(call), result_of(call, word),
                     needs_of(call, kind))  # fmt: skip

    def first_of(self, place: int) -> int:
        """Return the first place of the thread and step that a place is in."""
        return self._starts[int(self._part[place]) - 1]

    def behind(self, place: int) -> Iterator[tuple[int, Known | None]]:
        """Yield the places behind one of its thread and step, with their calls.

        The last one is unknown if there was no time to look further.
        """
        part = int(self._part[place])
        end = self._starts[part] if part < len(self._starts) else len(self.rows)
        for one in range(place + 1, end):
            self._left -= 1
            if self._left < 0:
                yield one, None
                return
            yield one, self.at(one)

    def readers(self, place: int, elements: int) -> list[int] | None:
        """Return the places that read a tensor of so many elements, made at a place.

        Views of it, and conversions of its type, are none. It ends where such a tensor is made.
        None if an operator is not known.
        """
        found: list[int] = []
        for one, known in self.behind(place):
            if known is None:
                return None
            if elements in known.sizes and not known.passes:
                found.append(one)
            if known.made == elements and not known.passes:
                break
        return found


@memoize
def followed_calls(trace: Trace) -> FollowedCalls:
    """Return the calls of a trace, for all that follow tensors in it."""
    return FollowedCalls(trace)
