"""Find inverses of matrices that serve products alone, where a solver does both."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import LaterCalls
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

_INVERSES = ("inverse", "linalg_inv", "linalg_inv_ex")
_SMALL = 32
"""Columns of a block in LAPACK's factorization: a smaller matrix takes the time of its calls."""
_SOLVED = 3 / 4
"""Of an inverse's work, what solves for each column of the unit matrix: 2 n³ of 8/3 n³."""
_MOST = 20_000
"""Inverses of a recording that count."""


class Inverses(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their work that goes; ``inverses`` are of matrices.

    ``columns`` has by inverse the columns that its products multiply, as a share of the matrix's.
    """

    rows: I64
    shares: F64
    inverses: I64
    columns: F64


@memoize
def inverses(trace: Trace) -> Inverses:
    """Return inverses that products alone read, with fewer columns than the matrix has.

    A solver factorizes the matrix, too, and solves for the columns of the product instead of those
    of the unit matrix. So the products go, and the rest of the solving.
    """
    later = LaterCalls(trace)
    shares: dict[int, float] = {}
    found: dict[int, float] = {}
    for at in later.named(*_INVERSES)[:_MOST].tolist():
        call = later.call(at)
        x = None if call is None else call.optional(0)
        if x is None or not x.numel or len(x.shape) < 2 or x.shape[-1] < _SMALL:
            continue
        products, columns = _products(trace, later, at, x)
        if products and columns < 1:
            row = int(later.rows[at])
            found[row] = columns
            shares[row] = _SOLVED * (1 - columns)
            shares |= {int(later.rows[place]): 1.0 for place in products}
    rows = np.array(sorted(shares), np.int64)
    own = np.array(sorted(found), np.int64)
    return Inverses(
        rows,
        np.array([shares[row] for row in rows.tolist()]),
        own,
        np.array([found[row] for row in own.tolist()]),
    )


def _products(trace: Trace, later: LaterCalls, at: int, x: Tensor) -> tuple[list[int], float]:
    """Return the products that read an inverse, and their columns as a share of the matrix's.

    There are none if anything else reads as many elements. The matrix itself has as many: its own
    products count as well, so that less is claimed.
    """
    products: list[int] = []
    columns, step = 0.0, trace.ops.step[later.rows[at]]
    for place in later.behind(at):
        call = later.call(place)
        if trace.ops.step[later.rows[place]] != step:
            break
        if call is None or not any(_is_like(one, x) for one in call.tensors()):
            continue
        kind = kind_of(call.name, trace.vendor)
        if kind == "view" or _has_weight(call, x):
            continue
        others = _others(call, x)
        if kind != "gemm" or others is None:
            return [], 0.0
        products.append(place)
        columns += others / x.numel
    return products, columns


def _is_like(one: Tensor, x: Tensor) -> bool:
    """Return whether a tensor may be the inverse of x, or a view of it."""
    return one.numel == x.numel and one.dtype == x.dtype and x.shape[-1] in one.shape


def _has_weight(call: Arguments, x: Tensor) -> bool:
    """Return whether a layer multiplies something else by a weight of the matrix's size."""
    first = call.optional(0)
    return reduced_name(call.name) == "linear" and first is not None and not _is_like(first, x)


def _others(call: Arguments, x: Tensor) -> int | None:
    """Return the elements of the other factor of a product; None if there is none or another."""
    factors = [one for one in call.tensors() if len(one.shape) > 0]
    others = [one for one in factors if not _is_like(one, x)]
    return others[0].numel if len(others) == 1 and len(factors) == 2 else None
