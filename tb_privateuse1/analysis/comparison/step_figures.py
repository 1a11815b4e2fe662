"""Describe a figure over the steps of one run by its order statistics."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.table import F64, I64


class StepFigure(Struct, frozen=True):
    """A figure over the steps of one run: least and greatest value, median and quartiles."""

    steps: int
    least: int
    low: int
    median: int
    high: int
    most: int


def step_figure(values: I64 | F64) -> StepFigure:
    """Return the order statistics of one value per step, rounded; of an empty one all are 0."""
    if not len(values):
        return StepFigure(0, 0, 0, 0, 0, 0)
    found = np.percentile(values, (0, 25, 50, 75, 100))
    return StepFigure(len(values), *(round(float(one)) for one in found))
