"""Group device activities for tables, and find those on a matrix unit."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.kernel_context import operator_names
from tb_privateuse1.trace.model import Kernels, Trace
from tb_privateuse1.trace.table import F64, I32, I64, Bools

Group = Literal["operator", "name", "launch"]

MATRIX_KINDS: tuple[kinds_of_work.Kind, ...] = ("gemm", "convolution", "attention")
"""Kinds of operators whose work a matrix unit could do."""


def group_kernels(trace: Trace, kernels: Kernels, group: Group) -> tuple[I64, I64]:
    """Return the first row of each group and the group of each row, by kind and name.

    ``operator`` and ``launch`` also separate launching operators; ``launch`` also separates launch
    configurations.
    """
    columns: list[NDArray[np.integer]] = [kernels.name, breakdown.activity_kinds(kernels)]
    if group != "name":
        columns.append(operator_names(trace, kernels))
    if group == "launch":
        columns.append(kernels.config)
    return group_rows(*columns)


def parse_numbers(trace: Trace, strings: I32) -> F64:
    """Return the numbers that some of the trace's strings hold; nan for other texts."""
    number = {-1: np.nan}
    for string in np.unique(strings[strings >= 0]).tolist():
        try:
            number[string] = msgspec.json.decode(trace.text(string), type=float)
        except msgspec.DecodeError:
            number[string] = np.nan
    return np.array([number[string] for string in strings.tolist()], np.float64)


def on_matrix_unit(trace: Trace, kernels: Kernels) -> Bools | None:
    """Return which activities run on the vendor's matrix unit, by name; None without such names."""
    pattern = trace.vendor.matrix_names
    if pattern is None:
        return None
    names = np.unique(kernels.name)
    using = [n for n in names.tolist() if pattern.search(trace.text(n))]
    found: Bools = np.isin(kernels.name, using)
    return found


def could_use_matrix_unit(trace: Trace, kernels: Kernels) -> Bools:
    """Return which activities were launched by an operator of ``MATRIX_KINDS``."""
    names = operator_names(trace, kernels)
    fitting = [
        n
        for n in np.unique(names).tolist()
        if kinds_of_work.kind_of(trace.text(n), trace.vendor) in MATRIX_KINDS
    ]
    found: Bools = np.isin(names, fitting)
    return found
