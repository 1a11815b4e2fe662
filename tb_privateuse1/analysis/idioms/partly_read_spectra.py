"""Find decompositions, running sums and transforms that are computed in full for a few numbers.

The greatest singular value is that of a few products with the matrix, and the last of running sums
is a sum. Such methods converge by the matrix, or are worth it by the length, so that what remains
of the time is a guess from their operations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.fused_kernel_rates import product_rate, time_of
from tb_privateuse1.analysis.idioms.result_tensors import CUTS, cut_share
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

_LEAST = 64
"""Rows or numbers: shorter ones take the time of their calls."""
MOST_READ = 1 / 8
"""The greatest share of the numbers that is "few"."""
_NEAR = 16
"""Operators behind a decomposition among which its first readers are."""
_PASSES = 6
"""Products with the matrix of ``svd_lowrank``, which iterates twice."""
_BESIDE = 6
"""Vectors that ``svd_lowrank`` takes beside the few: its default."""
_OF_FULL: Mapping[str, float] = {
    "linalg_svd": 21, "svd": 21, "linalg_svdvals": 10, "linalg_eigh": 9, "linalg_eigvalsh": 4.5,
    "linalg_eigvals": 10, "linalg_matrix_norm": 10, "linalg_norm": 10,
}  # fmt: skip
"""Operations of a decomposition, in cubes of the rows (Golub and Van Loan, Matrix Computations).
Without vectors they are the half: LAPACK takes 0.53 to 0.57 of the time, from 96 to 256 rows."""
_OF_LOWRANK = 21 + 5 * 8 / 3
"""The same of ``svd_lowrank``: a decomposition and five orthogonal bases. Each works column by
column, so that its few columns take their share: 0.6 to 1.7 times what was measured for an eighth
of 64 to 512 vectors."""
_OF_PASS = 1 / 2
"""Of a running sum: it writes as much as it reads, where a sum only reads."""
_GREATEST = frozenset(("max", "amax"))
_NORMS = frozenset(("linalg_matrix_norm", "linalg_norm"))
_VALUES = frozenset(("linalg_svdvals", "linalg_eigvalsh", "linalg_eigvals"))
_WITH_VECTORS = frozenset(("linalg_svd", "svd", "linalg_eigh"))
_RISING = frozenset(("linalg_eigh", "linalg_eigvalsh"))
"""Their greatest values are the last ones; those of others the first ones."""
_RUNNING = frozenset(("cumsum", "cumprod", "logcumsumexp"))
_BASES = frozenset(("linalg_svd", "linalg_qr"))
"""Operators that complete a basis with vectors of no value, if they are asked to."""
_TALL = 2
"""Rows for each column, or the other way round, from which a complete basis is much larger."""


@memoize
def partly_read_spectra(trace: Trace) -> Costly:
    """Return what computes all numbers where few are read, with the guessed share that goes."""
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    for at in calls.named(*_NORMS, *_VALUES, *_WITH_VECTORS, *_RUNNING, *_BASES):
        known = calls.at(at)
        if known is None:
            continue
        try:
            share = _share(trace, calls, at, known)
        except (UnknownWork, IndexError, ValueError, ZeroDivisionError):
            continue
        if share > 0:
            shares[at] = share
    return costly(calls, shares, list(shares))


def _share(trace: Trace, calls: FollowedCalls, at: int, known: Known) -> float:
    """Return the share of a call's time that another method does without; 0 if it is needed."""
    x = known.call.tensor(0)
    if known.word in _RUNNING:
        readers = calls.readers(at, x.numel)
        reader = calls.at(readers[0]) if readers and len(readers) == 1 else None
        if reader is None or _taken(reader) > MOST_READ or calls.is_read_beyond(at, x.numel):
            return 0.0
        return _OF_PASS
    *batch, rows, columns = x.shape
    values = min(rows, columns)
    completed = _completed(calls, at, known)
    if completed or known.word == "linalg_qr":
        return completed
    few = _few(calls, at, known, values)
    if values < _LEAST or not few or few > MOST_READ * values:
        return 0.0
    # A single one takes products alone: the power method's.
    columns_left = (few + _BESIDE) / values if few > 1 else 0.0
    decomposing = _OF_LOWRANK / _OF_FULL[known.word] * columns_left
    rate = product_rate(trace)
    if rate is None:
        return min(_OF_PASS, 1 - decomposing)
    operations = 2 * _PASSES * math.prod(batch) * rows * columns * (few + _BESIDE)
    time = int(time_of(trace, calls.rows[np.array([at])])[0])
    return 1 - decomposing - operations / rate * 1e9 / max(time, 1)


def _completed(calls: FollowedCalls, at: int, known: Known) -> float:
    """Return the share of a complete basis that is beyond the matrix' own, if nobody reads it.

    Whether ``qr`` makes one is no recorded value: a cut of it shows that.
    """
    rows, columns = known.call.tensor(0).shape[-2:]
    least, most = min(rows, columns), max(rows, columns)
    is_complete = known.word == "linalg_svd" and known.call.value(1) == "True"
    if most < _TALL * max(least, _LEAST):
        return 0.0
    for _, one in calls.behind(at):
        if one is None:
            return 0.0
        if any(tensor.shape[-2:] == (most, most) for tensor in one.call.tensors()):
            if not one.is_view or _taken(one) > least / most:
                return 0.0
            is_complete = True
    return 1 - least / most if is_complete else 0.0


def _few(calls: FollowedCalls, at: int, known: Known, values: int) -> float:
    """Return how many values or vectors are read; 0 if no reader is near."""
    x = known.call.tensor(0)
    if known.word in _NORMS:
        # With dimensions, linalg_norm may be one of vectors.
        is_matrix = known.word == "linalg_matrix_norm" or (
            len(x.shape) == 2 and not known.call.value(2)
        )
        return float(is_matrix and known.call.value(1) in ("2", "2."))
    taken = [_of_values(calls, at, known.word, (*x.shape[:-2], values))]
    if known.word in _WITH_VECTORS:
        taken += _of_vectors(calls, at, known.word, x.shape[-2:])
    return max(taken) * values


def _of_values(calls: FollowedCalls, at: int, word: str, shape: tuple[int, ...]) -> float:
    """Return the share that the readers behind a decomposition take of its values.

    One that takes others than the greatest ones counts as taking all. Farther away a cut
    may be one of another tensor, and a product may begin with a bias of this shape.
    """
    found = 0.0
    for place, known in calls.behind(at):
        x = None if known is None else known.call.optional(0)
        if place - at > _NEAR and (known is None or known.kind == "gemm" or _cuts(known)):
            continue
        is_size = known is not None and known.word == "abs"  # their greatest one is read behind it
        if known is not None and x is not None and x.shape == shape and not is_size:
            found += _taken(known) if _takes_greatest(known, word in _RISING) else 1.0
    return found


def _cuts(known: Known) -> bool:
    return known.word in CUTS or known.word in _GREATEST


def _of_vectors(calls: FollowedCalls, at: int, word: str, shape: tuple[int, ...]) -> list[float]:
    """Return the shares that are cut of the vectors; one of 1 if a product reads all of them.

    The input may have their shape, and so may what is made later.
    """
    (rows, columns), values = shape, min(shape)
    sides = {(rows, rows), (columns, columns), (rows, values), (values, columns)}
    found: list[float] = []
    for _, (_, known) in zip(range(_NEAR), calls.behind(at), strict=False):
        if known is None:
            break
        alike = [one for one in known.call.tensors() if one.shape[-2:] in sides]
        if known.kind == "gemm" and alike and not found:
            return [1.0]
        if alike and known.word in CUTS:
            found.append(_taken(known) if _takes_greatest(known, word in _RISING) else 1.0)
        if known.made in {math.prod(side) for side in sides}:
            break
    return found


def _takes_greatest(known: Known, rises: bool) -> bool:
    """Return whether a cut begins with the first number, or ends with the last one if they rise.

    Methods for the least ones converge slowly.
    """
    if known.word not in CUTS:
        return known.word in _GREATEST
    x, dim = known.call.tensor(0), known.call.integer(1)
    size, first = x.shape[dim], known.call.integer(2) if known.call.value(2) else 0
    if not rises:
        return first == 0
    if known.word == "select":
        return first % size == size - 1
    last = known.call.integer(3) if known.word == "slice" and known.call.value(3) else size
    return last >= size and first != 0


def _taken(known: Known) -> float:
    """Return the share of its first input that a call takes; 1 if it takes all of it."""
    x = known.call.optional(0)
    if x is None or not x.numel:
        return 1.0
    if known.word in _GREATEST and len(known.call.inputs) == 1:
        return 1 / x.numel
    try:
        return cut_share(known.call, known.word)[0] if known.word in CUTS else 1.0
    except UnknownWork:
        return 1.0
