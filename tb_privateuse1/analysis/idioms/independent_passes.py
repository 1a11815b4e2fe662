"""Find equal passes of one module in a step that do not need each other: one batch can do all.

The inputs may be anything: views of a sample, observations of several worlds, pairs of texts. That
a pass reads what the one before returned shows by elements and types: what is made of its outputs
has those of an input. A pass that writes what it was given keeps a state there. So may one that has
a result of an input's size inside, unless all that it reads of that size is made between passes.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.batched_cost import TILE
from tb_privateuse1.analysis.idioms.independent_rounds import ROUNDS
from tb_privateuse1.analysis.idioms.outermost_calls import (
    FLOATING,
    Call,
    Key,
    OutermostCalls,
    outermost_calls,
)
from tb_privateuse1.analysis.idioms.repeated_sequences import RangeHashes
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS
from tb_privateuse1.analysis.operators import library_frames
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.steps.training_phases import STEPPING, find_passes, phase_kinds
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.analysis.work.calls import group_calls, read_call
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import (
    containing,
    lookup,
    mask_of,
    previous,
    starts_run,
    sums_before,
)
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools, FrameRow64, Table

_MOST = 2_000
"""Pairs of passes that are looked at; a loop of more shows its kind before."""
_READS = ("item", "local_scalar_dense", "is_nonzero")
_HANDED = re.compile(r"^<built-in method (tolist|numpy|__array__) of Tensor")
"""Functions in C that hand a tensor's values to Python."""
_LENDS = re.compile(r"(^|/)torch/.+: functional_call$")
"""Functions that call a module with weights which they are given."""
_GROWS = re.compile(
    r"upsample|interpolate|index|gather|take|repeat|pad|cat|stack|embedding|mm|matmul|conv|linear"
    r"|outer|kron|einsum|cdist|meshgrid|tile|one_hot|diag"
)
"""Operators whose result may have more elements than what they read."""
_LAYERS = (
    "linear", "conv1d", "conv2d", "conv3d", "layer_norm", "group_norm", "instance_norm", "rms_norm",
)  # fmt: skip
"""Operators whose tensors but the first are weights."""


class IndependentPasses(Table, frozen=True):
    """Passes of one module in a row, with the run of each.

    ``frame`` is the call of the module. ``first`` and ``until`` are the places of its operators
    among the outermost ones; with what follows each pass of a loop, if that is equal, too. ``read``
    says that the host reads results between passes of the run.
    """

    frame: FrameRow64
    run: I64
    start_ns: I64
    end_ns: I64
    first: I64
    until: I64
    read: Bools


class _Pass(Struct, frozen=True):
    """Tensors that a pass reads from outside, and its results that it does not read itself.

    ``kept`` are the sizes of inputs that it makes, too, with how often it reads one that is not
    the most recent result. ``again`` are the other sizes of such reads, ``weights`` the
    elements of its weights: lists of tensors have no types in a recording.
    """

    inputs: frozenset[Key]
    outputs: frozenset[Key]
    kept: dict[Key, int]
    again: frozenset[Key]
    weights: frozenset[int]


@memoize
def independent_passes(trace: Trace) -> IndependentPasses:
    """Return the runs of passes that do not need each other; none without stacks and shapes."""
    calls = outermost_calls(trace)
    frame, first, until = _passes(trace, calls)
    alike = _alike(trace, calls, frame, first, until)
    read = np.zeros(len(frame), np.bool_)
    starts = trace.frames.start_ns[frame]
    by_start = np.flatnonzero(trace.frames.thread == thread_roles(trace).main)
    by_start = by_start[np.argsort(trace.frames.start_ns[by_start], kind="stable")]
    begins = trace.frames.start_ns[by_start]
    known: dict[tuple[object, ...], bool] = {}
    alike &= ~_begin_with_state(trace, calls, alike, first, until)
    asked = np.flatnonzero(alike)
    alike[asked[_MOST:]] = False
    for at in asked[:_MOST].tolist():
        one, between = (int(first[at]), int(until[at])), (int(until[at]), int(first[at + 1]))
        key = (bytes(calls.call[slice(*one)]), bytes(calls.call[slice(*between)]))
        if key not in known:
            known[key] = _is_independent(calls, one, between)
        alike[at] = known[key]
        if known[key]:
            low, high = np.searchsorted(begins, starts[at : at + 2])
            inside = by_start[low:high]
            # A function that goes on calls the next pass.
            inside = inside[trace.frames.end_ns[inside] <= starts[at + 1]]
            read[at + 1], used = _is_read(trace, calls, range(one[0], between[1]), inside)
            alike[at] = not used
    run = np.cumsum(np.append(True, ~alike)[: len(frame)]) - 1
    size = np.bincount(run, minlength=1)[run] if len(run) else run
    seen = np.bincount(run, weights=read, minlength=1)[run] > 0 if len(run) else read
    until, end_ns = _with_rest(trace, calls, run, first, until, trace.frames.end_ns[frame])
    start_ns = trace.frames.start_ns[frame]
    found = IndependentPasses(frame, run, start_ns, end_ns, first, until, seen)
    return found.take(np.flatnonzero(size > 1))


def _with_rest(
    trace: Trace, calls: OutermostCalls, run: I64, first: I64, until: I64, end_ns: I64
) -> tuple[I64, I64]:
    """Return the ends of rounds: of passes with equal operators behind each, in long runs."""
    until, end_ns = until.copy(), end_ns.copy()
    _, call = group_calls(trace, calls.rows, ("name", "shapes"))
    hashes = RangeHashes(call)
    for _, some in groupby.split_by_value(run):
        rest = first[some[1:]] - until[some[:-1]]
        if len(some) < ROUNDS or len(set(rest.tolist())) > 1 or not rest[0]:
            continue
        begin = until[some]
        behind = np.minimum(begin + rest[0], len(calls.rows))
        equal = hashes.of(begin, behind) == hashes.of(begin[:1], behind[:1])
        if not equal[:-1].all():
            continue
        longer = some[equal]
        until[longer] = behind[equal]
        end_ns[longer] = trace.ops.end_ns[calls.rows[until[longer] - 1]]
    return until, end_ns


def _passes(trace: Trace, calls: OutermostCalls) -> tuple[I64, I64, I64]:
    """Return the calls of modules outside of any other, by module and start, with operators."""
    frames, main = trace.frames, thread_roles(trace).main
    modules = call_tree.is_module(trace)
    outer = modules & (intervals.nearest(frames.parent, modules) < 0) & (frames.thread == main)
    # The next call of such a function may have other weights.
    lent = groupby.named_rows(trace.strings, frames.name, lambda name: bool(_LENDS.search(name)))
    outer &= intervals.nearest(frames.parent, lent) < 0
    rows = np.flatnonzero(outer)
    rows = rows[np.lexsort((frames.start_ns[rows], frames.name[rows]))]
    low, high = np.searchsorted(calls.thread, (main, main + 1))
    at = trace.ops.start_ns[calls.rows[low:high]]
    first = low + np.searchsorted(at, frames.start_ns[rows])
    until = low + np.searchsorted(at, frames.end_ns[rows])
    some = until > first
    return rows[some], first[some], until[some]


def _alike(trace: Trace, calls: OutermostCalls, frame: I64, first: I64, until: I64) -> Bools:
    """Return which passes the next one equals, in the same step and with the same weights."""
    if len(frame) < 2:
        return np.zeros(max(len(frame) - 1, 0), np.bool_)
    frames, steps = trace.frames, trace.steps
    _, call = group_calls(trace, calls.rows, ("name", "shapes", "dtypes"))
    same = RangeHashes(call).of(first, until)
    start = frames.start_ns[frame]
    step = containing(steps.host_start_ns, steps.host_end_ns, start)
    found = ~starts_run(frames.name[frame], step, same.view(np.int64))[1:]
    ops, kinds = trace.ops, phase_kinds(trace)
    trained = np.concatenate((find_passes(trace).backward_ns, ops.start_ns[kinds == STEPPING]))
    untrained: Bools = found & (np.diff(np.searchsorted(np.sort(trained), start)) == 0)
    return untrained


def _begin_with_state(
    trace: Trace, calls: OutermostCalls, alike: Bools, first: I64, until: I64
) -> Bools:
    """Return which pairs of equal passes lie behind a tensor that may be the first of their states.

    Nobody has read it, and a pass reads one of its size beside the most recent result.
    """
    step = trace.ops.step[calls.rows]
    found = np.zeros(len(alike), np.bool_)
    begins = np.flatnonzero(alike & ~previous(alike, False))
    ends = np.append(np.flatnonzero(~alike), len(alike))
    ends = ends[np.searchsorted(ends, begins)]
    for begin, end in zip(begins[:_MOST].tolist(), ends.tolist(), strict=False):
        own, place = _pass(calls, int(first[begin]), int(until[begin])), int(first[begin])
        waiting = set() if own is None else set(own.again)
        while waiting and place > 0 and _same_part(calls, step, place - 1, int(first[begin])):
            place -= 1
            call = calls.at(place)
            if call.result in waiting:
                found[begin:end] = True
                break
            waiting.difference_update(call.reads)
    return found


def _same_part(calls: OutermostCalls, step: np.ndarray, place: int, other: int) -> bool:
    """Return whether two places are of one step and thread."""
    return bool(step[place] == step[other] and calls.thread[place] == calls.thread[other])


def _is_independent(calls: OutermostCalls, one: tuple[int, int], between: tuple[int, int]) -> bool:
    """Return whether the next equal pass reads nothing that is made of this one's outputs.

    Of a result whose size is not known, any input may be made that has no more elements; whole
    numbers only by a call that may return some.
    """
    own = _pass(calls, *one)
    if own is None:
        return False
    tainted, most = set(own.outputs), 0
    fresh: Counter[Key] = Counter()
    for place in range(*between):
        call = calls.at(place)
        if call.writes and call.reads and call.reads[0][0] in own.weights:
            return False
        fresh.subtract(key for key in call.reads if fresh[key])
        unsure = any(size <= most and dtype in FLOATING for size, dtype in call.reads)
        if tainted.isdisjoint(call.reads) and not unsure:
            fresh.update(() if call.result is None else (call.result,))
        elif call.result is not None:
            tainted.add(call.result)
        elif _GROWS.search(call.word):
            return False
        else:
            most = max(most, *(size for size, _ in call.reads))
            tainted |= {
                key
                for key in own.inputs
                if key[0] <= most and (call.may_number or key[1] in FLOATING)
            }
    is_given = all(count <= fresh[key] for key, count in own.kept.items())
    return is_given and tainted.isdisjoint(own.inputs)


def _pass(calls: OutermostCalls, first: int, until: int) -> _Pass | None:
    """Return a pass's inputs, and the results that it does not read; None with a state.

    A norm over the batch depends on who else is in it.
    """
    inputs: set[Key] = set()
    made: set[Key] = set()
    left: set[Key] = set()
    weights: set[Key] = set()
    unread: Counter[Key] = Counter()
    external: Counter[Key] = Counter()
    for place in range(first, until):
        call = calls.at(place)
        given = _given(call)
        outside = [key for key in given if key not in made]
        if "batch_norm" in call.word or (call.writes and call.reads[0] not in made):
            return None
        inputs.update(outside)
        weights.update(() if given == call.reads else call.reads)
        for key in given:
            counted = unread if unread[key] else external
            counted[key] += 1 if counted is external else -1
        left -= set(call.reads)
        if call.result is not None and (call.word not in VIEWS or not outside):
            made.add(call.result)
            left.add(call.result)
            unread[call.result] += 1
    known = calls.at(until - 1).result is not None
    kept = {key: external[key] for key in inputs & made}
    again = frozenset(external) - inputs
    sizes = frozenset(size for size, _ in weights - inputs - made)
    return _Pass(frozenset(inputs), frozenset(left), kept, again, sizes) if known else None


def _given(call: Call) -> tuple[Key, ...]:
    """Return what a call reads beside the weights of a layer."""
    if call.word == "embedding":
        return call.reads[1:]
    return call.reads[:1] if call.word in _LAYERS else call.reads


def _is_read(trace: Trace, calls: OutermostCalls, places: range, inside: I64) -> tuple[bool, bool]:
    """Return whether the host reads values between two passes, and whether functions may use them.

    Such a function is of the program or a library, and the program calls it: a world's move. What
    torch calls, as samples of a loader, does not know them. ``places`` has the operators from the
    one pass to the other, ``inside`` the frames.
    """
    frames = trace.frames
    names = [trace.text(name) for name in frames.name[inside].tolist()]
    handed = [bool(_HANDED.match(name)) for name in names]
    read = any(handed) or any(calls.at(place).word in _READS for place in places)
    around = lookup(frames.name, frames.parent[inside], NONE)
    callers = [trace.text(name) if name >= 0 else "" for name in around.tolist()]
    answers = any(
        library_frames.LINED.match(name)
        and not library_frames.is_torch(name)
        and not library_frames.is_torch(caller)
        and not caller.startswith(call_tree.MODULE)
        for name, caller in zip(names, callers, strict=True)
    )
    return read, read and answers


def has_few_rows(trace: Trace, passes: IndependentPasses) -> bool:
    """Return whether products of the first pass have fewer rows than are multiplied at a time.

    Of more rows a batch saves little: their work is longer than a call.
    """
    rows = outermost_calls(trace).rows[int(passes.first[0]) : int(passes.until[0])]
    for row in rows.tolist():
        kind = kind_of(trace.text(trace.ops.name[row]), trace.vendor)
        call = read_call(trace, row) if kind in ("gemm", "convolution", "recurrent") else None
        x = None if call is None else call.optional(0)
        if x is not None and x.numel >= TILE * (x.shape[-1] if kind == "gemm" else x.shape[1]):
            return False
    return True


def without_gradient(trace: Trace, passes: IndependentPasses) -> Bools:
    """Return which passes autograd records for no backward pass, beside one of the run with one."""
    calls, ops = outermost_calls(trace), trace.ops
    forward = call_tree.linked_forward(trace)
    linked = np.zeros(len(ops), np.bool_)
    linked[forward[forward >= 0]] = True
    needed = intervals.enclosing(ops.parent, linked) | linked

    def count(flags: Bools) -> I64:
        total = sums_before(flags.astype(np.int64))
        return total[passes.until] - total[passes.first]

    has, recorded = count(needed[calls.rows]) > 0, count(calls.records) > 0
    beside = mask_of(passes.run[has], int(passes.run.max(initial=0)) + 1)[passes.run]
    found: Bools = beside & recorded & ~has
    return found
