"""Idiom: any other chain of element-wise operators and reductions, which compilers fuse."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.trace.table import Bools


def recognizes(members: Members) -> Bools:
    """Return all chains."""
    return np.ones(members.count, np.bool_)


IDIOM = Idiom("elementwise", recognizes)
