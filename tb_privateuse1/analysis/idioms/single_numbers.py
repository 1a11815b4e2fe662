"""Find long runs of operators on single numbers: the call is the cost, not the work.

A tensor of one element takes a call of some microseconds for what one of many elements takes as
well, and what a number of Python takes in a twentieth of the time.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.analysis.idioms.batched_cost import Ranges
from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.operators import library_frames
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.work.arguments import has_tensor
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import ends_run, mask_of, starts_run
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools, Table, ThreadRow

LEAST = 64
"""Operators on numbers in a row. The formulas of a step (a loss, a schedule, a step's length) have
some tens at most; what takes an element at a time has some for each of many."""
_ONE = re.compile(r"\[(\[(1(,\s*1)*)?\](,\s*\[(1(,\s*1)*)?\])*)?\]")
"""Shapes of tensors of one element, beside inputs that are no tensors."""
_TABLE = re.compile(r"^\[\[\d+(,\s*\d+)+\]")
"""Shapes of a view of a tensor with two dimensions or more."""


class NumberRuns(Table, frozen=True):
    """Runs of operators on single numbers, on their threads.

    ``calls`` are those on numbers, ``kinds`` the distinct ones among them; ``first`` is a row of
    ``trace.ops``. ``recorded`` says that autograd records the run, ``given`` that the program makes
    new numbers about as often as it repeats itself.
    """

    thread: ThreadRow
    start_ns: I64
    end_ns: I64
    calls: I64
    kinds: I64
    first: I64
    recorded: Bools
    given: Bools

    def ranges(self) -> Ranges:
        """Return the runs as ranges whose rounds may need each other."""
        return Ranges(self.thread, self.start_ns, self.end_ns, np.zeros(len(self), np.bool_))


def number_runs(trace: Trace, top: I64) -> NumberRuns:
    """Return the runs of operators on single numbers with nothing but views in between.

    ``top`` are the operators that no other one called, by thread and start. What optimizers and
    other functions of torch run is theirs. With gradients, numbers of one series may need each
    other, and cannot be Python's: such a run counts if it takes numbers from a table.
    """
    ops = trace.ops
    number, neutral = _on_numbers(trace, top)
    new = starts_run(ops.thread[top], ops.step[top]) | ~(number | neutral)
    at = np.flatnonzero(number)
    segment = np.cumsum(new)
    begins, ends = at[starts_run(segment[at])], at[ends_run(segment[at])]
    run = np.cumsum(starts_run(segment[at])) - 1
    calls = np.bincount(run, minlength=len(begins))
    rows = top[at]
    long = calls[run] >= LEAST
    distinct, _ = group_rows(run[long], ops.name[rows[long]], ops.shapes[rows[long]])
    kinds = np.bincount(run[long][distinct], minlength=len(begins))
    taped = mask_of(run[long & (ops.sequence[rows] >= 0)], len(begins))
    made = np.bincount(segment[operators_named(trace, "lift_fresh")[top]], minlength=len(top) + 1)
    tables = neutral & groupby.named_rows(trace.strings, ops.shapes[top], _is_table)
    alone = np.bincount(segment[tables], minlength=len(top) + 1)[segment[begins]] == 0
    found = NumberRuns(
        thread=ops.thread[top[begins]],
        start_ns=ops.start_ns[top[begins]],
        end_ns=ops.end_ns[top[ends]],
        calls=calls,
        kinds=kinds,
        first=top[begins],
        recorded=taped,
        given=2 * made[segment[begins]] * kinds >= calls,
    ).take(np.flatnonzero((calls >= LEAST) & ~(taped & alone)))
    return found.take(~in_torch(trace, found.first, found.end_ns)) if len(found) else found


def _is_table(shapes: str) -> bool:
    return bool(_TABLE.match(shapes))


def _on_numbers(trace: Trace, top: I64) -> tuple[Bools, Bools]:
    """Return which operators compute with single numbers, and which of them make views or room."""
    ops, strings = trace.ops, trace.strings
    one = groupby.named_rows(strings, ops.shapes[top], lambda text: bool(_ONE.fullmatch(text)))
    typed = groupby.named_rows(strings, ops.dtypes[top], has_tensor)
    own = call_tree.starts_with(trace, "aten::")[ops.name[top]]
    kinds = [KINDS.index(kind) for kind in ("view", "allocation")]
    neutral = own & np.isin(name_categories(trace)[ops.name[top]], kinds)
    return one & typed & own & ~neutral, neutral


def in_torch(trace: Trace, first: I64, end_ns: I64) -> Bools:
    """Return which runs lie inside of an optimizer's step, or of one call of torch's functions.

    A run has its first row of ``trace.ops``, and its end.
    """
    ops, frames = trace.ops, trace.frames
    optimizer = groupby.named_rows(
        trace.strings, ops.name, lambda name: name.startswith("Optimizer.")
    )
    found: Bools = call_tree.around(ops.parent, ops.parent[first], optimizer) >= 0
    at = ops.frame[first].copy()
    lined = groupby.named_rows(
        trace.strings, frames.name, lambda name: bool(library_frames.LINED.match(name))
    )
    climbing = np.flatnonzero(at >= 0)
    while len(climbing):
        here = at[climbing]
        inner = ~lined[here] | (frames.end_ns[here] < end_ns[climbing])
        climbing = climbing[inner]
        at[climbing] = frames.parent[here[inner]]
        climbing = climbing[at[climbing] >= 0]
    known = np.flatnonzero(at >= 0)
    names = frames.name[at[known]]
    found[known] |= groupby.named_rows(trace.strings, names, library_frames.is_torch)
    return found
