"""Find work on all rows where a mask keeps each row of one result alone: two networks, experts.

What works on one row after the other can be given the rows that are kept. Which these are is in no
trace. Of two results that ``where`` chooses from, each row is read of exactly one, whatever the
mask is; of results behind gates that exclude each other, of at most one.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.equal_rows import works_on_rows
from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.partly_read_products import beyond_reading
from tb_privateuse1.analysis.idioms.row_gates import Gate, gate_of, row_run
from tb_privateuse1.analysis.work.arguments import Tensor
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64, I64

_LEAST_GATES = 8
"""With fewer values of a gate, one branch may get all rows as often as not."""
_LEAST_ROWS = 64
"""With fewer rows, reading the weights and the calls themselves take the time of a product."""
_LONGEST = 64
"""Operators between a gate and the first one of its branch."""
_NEAR = 4
"""Operators from taking rows to writing them: the mask may be turned between them."""
_SAME_SIZE = 6
"""Tensors of the result's size in a branch: two layers with norms and activations."""
_UNEVEN = 1.5
"""Operations of the costliest branch for one of the cheapest, from which they are not alike."""


class SelectedRows(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their work that goes; ``readers`` choose.

    ``most`` is how many times that it may be, if all rows go to the cheapest branch.
    """

    rows: I64
    shares: F64
    readers: I64
    most: float
    is_even: bool
    """All branches have about as many operations, so that the choice does not matter."""


class _Branch(Struct, frozen=True):
    """The places that make a result of as many rows as its gate has values."""

    places: tuple[int, ...]
    cost: int
    """Operations of its products and convolutions, in multiplications."""


class _Gated(Struct, frozen=True):
    """A place with a gate, and the branch that it reads."""

    at: int
    gate: Gate
    branch: _Branch


@memoize
def selected_rows(trace: Trace) -> SelectedRows:
    """Return branches whose rows are read of one or few of them, and what chooses them."""
    calls = followed_calls(trace)
    groups = [pair for at in calls.named("where") if (pair := _chosen_from_two(trace, calls, at))]
    groups += [found for at in calls.named("index_put") if (found := _assigned(calls, at))]
    taken = {one for group in groups for branch in group[1] for one in branch.places}
    gated = [one for at in calls.named("where", "masked_fill", "mul") if (one := _gated(calls, at))]
    groups += _exclusive(calls, [one for one in gated if not taken.intersection(one.branch.places)])
    shares: dict[int, float] = {}
    readers: dict[int, float] = {}
    most, is_even = 1.0, True
    for kept, branches, places in groups:
        costs = [one.cost for one in branches]
        shares |= {place: 1 - kept for one in branches for place in one.places}
        readers |= dict.fromkeys(places, 1.0)
        if max(costs) > _UNEVEN * min(costs):
            is_even = False
            most = max(most, (sum(costs) - min(costs)) / (sum(costs) * (1 - kept)))
    rows, gone = calls.everywhere(shares)
    # Weights are read as a whole however few rows there are.
    whole = {place: float(_whole_bytes(calls.at(place))) for place in shares}
    read = calls.everywhere(whole)[1].astype(np.int64)
    gone = np.minimum(gone, beyond_reading(trace, rows, read)) if len(rows) else gone
    return SelectedRows(rows, gone, calls.everywhere(readers)[0], most, is_even)


_Group = tuple[float, list[_Branch], list[int]]
"""The share of all branches' rows that is read, the branches, and the places that choose."""


def _whole_bytes(known: Known | None) -> int:
    return 0 if known is None or known.needs is None else known.needs.whole_bytes


def _chosen_from_two(trace: Trace, calls: FollowedCalls, at: int) -> _Group | None:
    """Return the two branches that ``where`` chooses rows from."""
    known = calls.at(at)
    found = None if known is None else _gate_and_result(known)
    if known is None or found is None or len(_wholes(known)) != 2:
        return None
    gate, elements = found
    pairs = []
    for times in range(1, _SAME_SIZE + 1):
        second = _branch(calls, at, elements, gate.numel, times)
        first = second and _branch(calls, second.places[0], elements, gate.numel)
        if second and first:
            pairs.append((first, second))
    if not pairs:
        return None
    first, second = min(pairs, key=lambda pair: abs(pair[0].cost - pair[1].cost))
    inputs = {_reads(calls, one.places[0], gate.numel) for one in (first, second)}
    is_square = inputs == {elements}
    if elements in inputs and not (is_square and _are_apart(trace, calls, first, second)):
        return None
    if _is_read_again(calls, at, elements, is_residual=is_square):
        return None
    return 1 / 2, [first, second], [at]


def _assigned(calls: FollowedCalls, at: int) -> _Group | None:
    """Return the branch whose rows are taken by a mask and written by it: ``y[m] = branch(x)[m]``.

    The written rows tell how many are taken. Rows that are written where they were taken from
    would change nothing, so that what is written is another tensor, though it may be as large.
    """
    written = calls.at(at)
    rows = None if written is None else written.call.optional(2)
    if rows is None or len(rows.shape) < 2 or not rows.numel:
        return None
    for place in range(at - 1, max(at - _NEAR, calls.first_of(at)) - 1, -1):
        known = calls.at(place)
        x = None if known is None else known.call.optional(0)
        if known is None or x is None:
            return None
        if known.word != "index":
            if rows.numel in known.sizes:
                return None  # what is written is not what was taken
            continue
        if x.shape[1:] != rows.shape[1:] or x.shape[0] <= rows.shape[0]:
            return None
        branch = _branch(calls, place, x.numel, x.shape[0])
        readers = None if branch is None else calls.readers(branch.places[-1], x.numel)
        if branch is None or readers is None or not {place, at}.issuperset(readers):
            return None
        return rows.shape[0] / x.shape[0], [branch], [at]
    return None


def _are_apart(trace: Trace, calls: FollowedCalls, first: _Branch, second: _Branch) -> bool:
    """Return whether two branches are of other modules: else one may read what the other made."""
    frames = trace.frames
    inner = call_tree.self_or_nearest(frames.parent, call_tree.is_module(trace))
    names = [
        lookup(inner, trace.ops.frame[calls.rows[np.array(one.places)]], NONE)
        for one in (first, second)
    ]
    if any((one == NONE).any() for one in names):
        return False
    one, other = (frames.name[frame] for frame in names)
    return not np.isin(one, other).any()


def _gated(calls: FollowedCalls, at: int) -> _Gated | None:
    """Return a place that puts zeros, or another constant, where its gate does not keep a row."""
    known = calls.at(at)
    found = None if known is None else _gate_and_result(known)
    if known is None or found is None or len(_wholes(known)) != 1:
        return None
    tensor, elements = found
    branch = _branch(calls, at, elements, tensor.numel)
    gate = gate_of(calls, at, tensor) if branch else None
    if branch is None or gate is None or calls.readers(branch.places[-1], elements) != [at]:
        return None
    return _Gated(at, gate, branch)


def _exclusive(calls: FollowedCalls, gated: list[_Gated]) -> list[_Group]:
    """Return gated branches that exclude each other, if their results are added up.

    Gates with the same number begin another group: another tensor may be compared.
    """
    groups: dict[tuple[str, int, int], list[list[_Gated]]] = defaultdict(list)
    for one in gated:
        own = groups[one.gate.family]
        if not own or one.gate.which in {other.gate.which for other in own[-1]}:
            own.append([])
        own[-1].append(one)
    found: list[_Group] = []
    for group in (group for own in groups.values() for group in own):
        few, count = group[0].gate.few, len(group)
        if few < count and _are_joined(calls, group[-1].at):
            found.append((few / count, [one.branch for one in group], [one.at for one in group]))
    return found


def _are_joined(calls: FollowedCalls, at: int) -> bool:
    """Return whether what a place makes is read together with another tensor of its size."""
    known = calls.at(at)
    readers = (calls.readers(at, known.made) if known is not None else None) or []
    reader = calls.at(readers[0]) if readers else None
    return known is not None and reader is not None and len(_alike(reader, known.made)) > 1


def _gate_and_result(known: Known) -> tuple[Tensor, int] | None:
    """Return the gate of a call, with a value for each row, and the elements of its result."""
    result = known.result
    if result is None or result.numel != known.made:
        return None
    if known.word == "where":
        gates = [known.call.optional(0)]
    else:
        gates = [one for one in known.call.tensors() if one.shape and one.numel < result.numel]
    if len(gates) != 1 or gates[0] is None or gates[0].numel < _LEAST_GATES:
        return None
    if not row_run(gates[0], result.shape) or result.numel <= gates[0].numel:
        return None
    return gates[0], result.numel


def _wholes(known: Known) -> list[Tensor]:
    return [one for one in known.call.tensors() if one.shape and one.numel == known.made]


def _branch(
    calls: FollowedCalls, at: int, elements: int, rows: int, times: int = _LONGEST
) -> _Branch | None:
    """Return what makes a result that a place reads, as far back as it works on its rows alone.

    Each result on the way has one reader. It ends where a tensor of the result's size is read for
    this many times: that may be the other branch's result. None without a product or a convolution.
    """
    places: list[int] = []
    cost, result = 0, elements
    while len(places) < _LONGEST:
        maker = calls.maker(at, elements)
        known = None if maker is None else calls.at(maker)
        if maker is None or known is None:
            break
        if places and calls.readers(maker, elements) != [places[0]]:
            break
        read = _read_rows(known, rows)
        if not read:
            break
        places.insert(0, maker)
        cost += _operations(known)
        at, elements = maker, read
        times -= read == result
        if not times:
            break
    return _Branch(tuple(places), cost) if cost else None


def _read_rows(known: Known, rows: int) -> int:
    """Return the elements of what a call reads if each of some rows needs its own; else 0."""
    needs, x = known.needs, known.call.optional(0)
    if known.kind == "convolution" and x is not None and x.shape[:1] == (rows,):
        others = [one for one in known.call.tensors() if one.numel == x.numel]
        return x.numel if len(others) == 1 and known.made else 0
    if needs is None or not works_on_rows(known, needs.rows_of, may_draw=True):
        return 0
    if known.made % rows or needs.rows_of % rows:
        return 0
    if known.kind == "gemm" and known.made // needs.row < _LEAST_ROWS:
        return 0
    is_whole = not (known.made // rows % needs.row or needs.rows_of // rows % needs.row_in)
    return needs.rows_of if is_whole else 0


def _operations(known: Known) -> int:
    """Return the multiplications of a product or a convolution; 0 for anything else."""
    if known.kind == "gemm" and known.needs is not None:
        return known.made * known.needs.row_in
    weight = known.call.optional(1)
    if known.kind == "convolution" and weight is not None:
        return known.made * math.prod(weight.shape[1:])
    return 0


def _reads(calls: FollowedCalls, at: int, rows: int) -> int:
    known = calls.at(at)
    return 0 if known is None else _read_rows(known, rows)


def _is_read_again(calls: FollowedCalls, at: int, elements: int, *, is_residual: bool) -> bool:
    """Return whether something behind a choice may read one of the results that it chose from.

    A call with two tensors of the size reads another one beside the choice's result, which a sum
    may be with the branches' input. So may one of several readers, but for products of it that
    directly follow each other and are read together: queries, keys and values.
    """
    readers = calls.readers(at, elements)
    if readers is None:
        return True
    known = [calls.at(one) for one in readers]
    pairs = [one for one in known if one is None or len(_alike(one, elements)) > 1]
    if is_residual and len(pairs) == 1 and pairs[0] is not None and pairs[0].word == "add":
        pairs = []
    several = len(known) > 1 and not _are_products(calls, range(readers[0], readers[-1] + 1))
    return bool(pairs) or several


def _are_products(calls: FollowedCalls, places: range) -> bool:
    """Return whether there are products alone at some places, and views, that are read together.

    Heads of several results follow each other as well, but each has scores of its own.
    """
    known = [calls.at(one) for one in places]
    if not all(one is not None and (one.kind == "gemm" or one.is_view) for one in known):
        return False
    sizes = {one.made for one in known if one is not None and one.kind == "gemm"}
    behind = (one for _, (_, one) in zip(range(_LONGEST), calls.behind(places[-1]), strict=False))
    return any(
        one is not None and sum(x.numel in sizes for x in one.call.tensors()) > 1 for one in behind
    )


def _alike(known: Known, elements: int) -> list[Tensor]:
    return [one for one in known.call.tensors() if one.numel == elements]
