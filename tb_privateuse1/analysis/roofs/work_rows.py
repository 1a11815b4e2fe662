"""Work and time of kernels or operators, one row each: what roofs are compared with."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I8, I64, Bools, Table


class WorkRows(Table, frozen=True):
    """Work and device time."""

    flops: I64
    """``MISSING`` without a model of the work."""
    bytes: I64
    """Bytes that must move from or to the device's memory; ``MISSING`` without a model."""
    type: I8
    """Index into ``rate_types.RATE_TYPES`` of the arithmetic; NONE for others, such as int64."""
    product: Bools
    """A product of matrices, which a matrix unit can compute; convolution and attention too."""
    on_unit: Bools
    """The names of the kernels say that the matrix unit computed it; a vendor without such names:
    ``product``."""
    duration_ns: I64
    bound_ns: I64
    """The error bound of the duration; ``MISSING`` if it is unknown."""
    at_most: Bools
    """A kernel may do fewer operations, or read fewer bytes from the memory: convolutions by fast
    transforms, rows that indices choose again. Such rates may exceed the device's."""

    @property
    def compute_known(self) -> Bools:
        """Return a mask of rows with FLOPs of a type that has rates."""
        known: Bools = (self.flops != MISSING) & (self.type != NONE)
        return known

    def longest_ns(self, resolution_ns: int) -> I64:
        """Return the longest that each row may have lasted; ``MISSING`` if it is unknown."""
        known = self.bound_ns != MISSING
        longest = self.duration_ns + np.where(known, self.bound_ns, 0) + resolution_ns
        return np.where(known, longest, MISSING)


def clock_resolution_ns(times_ns: I64) -> int:
    """Return the step of the clock of these times: their greatest common divisor, at least 1.

    Old profilers write whole microseconds: a kernel of "2 us" lasted 1 to 3.
    """
    if not len(times_ns):
        return 1
    return max(int(np.gcd.reduce(times_ns - times_ns[0])), 1)
