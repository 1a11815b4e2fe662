"""Find what operators between a step's passes do: whether they change what is trained, or read it.

A parameter is known by its shape, which autograd's accumulation of its gradient has. Without
shapes, what a module computes that has gradients elsewhere applies the model.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.idioms.accumulations import Shape, accumulations
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.operators.module_of import operator_modules
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools, Table

_PRODUCTS = ("gemm", "convolution", "attention", "recurrent")
_RESETS = ("zero", "fill")
_READS = ("item", "local_scalar_dense", "is_nonzero")
_LISTS = ("foreach_", "fused_", "amp_")


class Effects(Table, frozen=True):
    """The effects of some operators, a row each."""

    applies: Bools
    """It multiplies something by a parameter, as a model does."""
    joins: Bools
    """It is arithmetic, or a copy, of two tensors of a parameter's shape: an average, for one."""
    scales: Bools
    """It is arithmetic of one tensor of a parameter's shape, whose result has that shape, too."""
    writes: Bools
    """It writes a tensor of a parameter's shape in place, or a list of tensors."""
    lists: Bools
    """It writes a list of tensors at once."""
    reduces: Bools
    """It makes a few numbers of a tensor: a norm, a maximum, a histogram."""
    copies: Bools
    """It copies a tensor of a parameter's shape; without shapes, any."""
    reads: Bools
    """It reads a number on the host."""
    draws: Bools
    """It makes random numbers, as new data."""


def effects(trace: Trace, rows: I64) -> Effects:
    """Return what rows of ``trace.ops`` do. Without shapes all that writes in place may train."""
    ops, known = trace.ops, frozenset(accumulations(trace).shapes)
    first, call = group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
    flags = [_effects(trace, row, known) for row in rows[first].tolist()]
    found = np.array(flags, np.bool_).reshape(len(first), len(Effects.__struct_fields__))
    table = Effects(*found[call].T)
    return table if known else replace(table, applies=table.applies & _of_trained(trace, rows))


def _of_trained(trace: Trace, rows: I64) -> Bools:
    """Return which rows are inside of modules through which a backward pass goes."""
    forward = call_tree.linked_forward(trace)
    linked = distinct_values(forward[forward >= 0]).astype(np.int32)
    trained = operator_modules(trace, linked)
    flags = mask_of(trained[trained >= 0], len(trace.strings))
    module = operator_modules(trace, rows.astype(np.int32))
    inside: Bools = np.append(flags, False)[module]
    return inside


def _effects(trace: Trace, row: int, known: frozenset[Shape]) -> tuple[bool, ...]:
    """Return the flags of ``Effects`` of one row, in their order."""
    name = trace.text(trace.ops.name[row])
    word, kind = reduced_name(name), kind_of(name, trace.vendor)
    bare = name.rpartition("::")[2].partition(".")[0]
    in_place = bare.endswith("_") and not bare.endswith("__") and word not in _RESETS
    is_list = bare.lstrip("_").startswith(_LISTS)
    call = read_call(trace, row)
    shapes = [one.shape for one in call.tensors()] if call else []
    of_parameters = sum(shape in known for shape in shapes if shape)
    arithmetic = kind == "elementwise" or (kind == "copy" and in_place)
    written = in_place and (is_list or not shapes or not known or shapes[0] in known)
    return (
        kind in _PRODUCTS and (of_parameters > 0 or not known),
        arithmetic and not is_list and of_parameters > 1,
        kind == "elementwise" and not is_list and of_parameters == 1,
        written,
        is_list and in_place,
        kind == "reduction",
        kind == "copy" and word not in _RESETS and (of_parameters > 0 or not known),
        word in _READS,
        kind == "random",
    )
