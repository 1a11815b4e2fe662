"""Find the calls of operators in a recording that can run again, with their times and work."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import totals
from tb_privateuse1.analysis.work import list_types
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.export.taken.call_figures import CallFigures, CallWork, Recorded
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.groupby import counted_operators, group_rows, named_rows, sums
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")
_COLLECTIVE = re.compile(r"c10d::|record_param_comms$")
_FRACTION = re.compile(r"-?\d+(\.\d*(e[-+]?\d+)?|e[-+]?\d+)", re.IGNORECASE)
_SCALED = re.compile(r"aten::(_foreach_)?(add|sub|mul|div|addcmul|addcdiv|lerp)_?")
"""Operators whose fractions are factors of numbers."""
_CALLABLE = re.compile(
    rf"(?!c10d::|prim::|profiler::|aten::_copy_from|aten::record_stream){_NAME.pattern}"
)
"""Operators that torch can look up and run alone. Collectives need their other ranks, a backend's
half of a copy (``aten::_copy_from``) the copy, and a stream's mark the stream."""


class TensorInput(Struct, frozen=True):
    """Sizes, strides (null if they were not recorded) and type of a tensor."""

    tensor: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str


class ListInput(Struct, frozen=True):
    """Sizes and types of a list of tensors."""

    tensors: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


class ValueInput(Struct, frozen=True):
    """A value that is no tensor, as torch wrote it; empty if it was not recorded."""

    value: str


Input = TensorInput | ListInput | ValueInput


class RecordedCall(Struct, frozen=True):
    """A call to run again: equal calls of a recording are one."""

    operator: str
    inputs: tuple[Input, ...]
    recorded: Recorded
    work: CallWork


def call_of(trace: Trace, row: int) -> RecordedCall:
    """Return the call of a row of ``trace.ops``; raises TraceError ``not_runnable``."""
    if not 0 <= row < len(trace.ops):
        raise TraceError("bad_option", say("The recording has no operator {row}.", row=row))
    name = trace.text(trace.ops.name[row])
    if not _CALLABLE.fullmatch(name):
        raise _never_alone(name)
    if (found := _inputs(trace, row)) is None:
        raise _lacks_inputs(trace, row, name)
    rows = np.flatnonzero(counted_operators(trace))
    _, member = _distinct(trace, rows)
    at = np.flatnonzero(rows == row)
    rows = rows[member == member[at[0]]] if len(at) else np.array([row])
    figures = CallFigures(trace)
    return RecordedCall(name, found, figures.recorded(rows), figures.work(rows))


def most_time(
    trace: Trace, chosen: Bools, count: int, name: str | None = None
) -> list[RecordedCall]:
    """Return the distinct calls with most time of their own among chosen rows of ``trace.ops``.

    It is device time where there is any, else host time. ``name`` is the whole name of an operator.
    """
    known = named_rows(trace.strings, trace.ops.name, _CALLABLE.fullmatch)
    rows = np.flatnonzero(counted_operators(trace) & chosen & known & (trace.ops.shapes >= 0))
    if name is not None:
        rows = rows[named_rows(trace.strings, trace.ops.name[rows], lambda text: text == name)]
    first, member = _distinct(trace, rows)
    own = totals.own(trace)
    times = own.device_ns if len(trace.kernels) else own.host_ns
    total = sums(member, times[rows], len(first))
    figures = CallFigures(trace)
    found: list[RecordedCall] = []
    for group in np.argsort(-total, kind="stable").tolist():
        if len(found) == count or not total[group]:
            break
        row = int(rows[first[group]])
        if (inputs := _inputs(trace, row)) is not None:
            equal, text = rows[member == group], trace.text(trace.ops.name[row])
            found.append(RecordedCall(text, inputs, figures.recorded(equal), figures.work(equal)))
    return found


def _never_alone(name: str) -> TraceError:
    """Return why this is no operator that torch can run by itself."""
    if _COLLECTIVE.match(name):
        message = say("{name} cannot run alone: it needs its other ranks.", name=name)
        return TraceError("not_runnable", message)
    if _NAME.fullmatch(name):
        message = say("{name} cannot run alone: it is a part of another operator.", name=name)
        return TraceError("not_runnable", message)
    message = say("{name} cannot run alone: torch has no such operator.", name=name)
    return TraceError("not_runnable", message, say("Take an operator that it calls."))


def _lacks_inputs(trace: Trace, row: int, name: str) -> TraceError:
    """Return what would help: another recording, or another operator."""
    call = read_call(trace, row)
    if call is not None and not any(call.tensors()):
        return TraceError("not_runnable", say("{name} takes no tensors.", name=name))
    message = say("The recording lacks shapes or types of the inputs of {name}.", name=name)
    hint = None if trace.ops.shapes[row] >= 0 else say("Record with record_shapes=True.")
    return TraceError("not_runnable", message, hint)


def _distinct(trace: Trace, rows: I64) -> tuple[I64, I64]:
    """Return the first row of each distinct call, and the call of each row.

    Another factor is the same call, as optimizers pass one in each step: it takes no other time.
    """
    ops = trace.ops
    columns = (ops.name, ops.shapes, ops.dtypes, ops.strides)
    return group_rows(*(column[rows] for column in columns), _without_factors(trace, rows))


def _without_factors(trace: Trace, rows: I64) -> I32:
    """Return a number by row, equal for values that are equal but for factors."""
    concrete = trace.ops.concrete[rows]
    scaled = named_rows(trace.strings, trace.ops.name[rows], _SCALED.fullmatch)
    texts, code = np.unique(concrete, return_inverse=True)
    number: dict[str, int] = {}
    masked = [_FRACTION.sub("x", trace.text(one)) for one in texts.tolist()]
    known = np.array([number.setdefault(text, len(number)) for text in masked], np.int32)
    return np.where(scaled, -2 - known[code], concrete).astype(np.int32)


def _inputs(trace: Trace, row: int) -> tuple[Input, ...] | None:
    """Return the inputs; None if none is a tensor, or one has no type."""
    if (call := read_call(trace, row)) is None:
        return None
    call = list_types.with_types(call, list_types.types_by_shape(trace)) or call
    found = [_input(call, at) for at in range(len(call.inputs))]
    whole = any(call.tensors()) and all(tensor.dtype for tensor in call.tensors())
    return tuple(found) if whole else None


def _input(call: Arguments, at: int) -> Input:
    given = call.inputs[at]
    if isinstance(given, Tensor):
        return TensorInput(given.shape, given.strides, given.dtype)
    if given is not None:
        return ListInput(tuple(t.shape for t in given), tuple(t.dtype for t in given))
    return ValueInput(call.value(at))
