"""Find kind, bytes and process group of each communication of a rank.

Sources in order: the arguments of the kernel or of its operator (torch writes them since 2.2), the
annotation ``nccl:all_reduce`` inside that operator, the operator's own name, and last the kernel's
name, which may hide the kind (``SendRecv``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import numpy as np

from tb_privateuse1.inference.host_tables import Host
from tb_privateuse1.inference.stage_inputs import MetadataClaims, Strings, rows_of
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.collective_calls import Collectives
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import MISSING, NONE, Kernels, Ops
from tb_privateuse1.trace.process_groups import RANK_LIMIT
from tb_privateuse1.trace.table import HALF_INT64, I32, I64, Bools
from tb_privateuse1.vendors.kernel_names import OTHER, collective_kind

_HOSTED = re.compile(r"^(gloo|mpi):")
"""Ranges that work on the host; ranges of other libraries (``nccl:…``) only start a kernel.

torch's process groups of these two end the range when the result is there.
"""
_ANNOTATED = re.compile(r"^\w+:[a-z_]+$")
_CALL = re.compile(r"^c10d::")

_ELEMENT_BYTES = {
    **dict.fromkeys(("double", "long", "long int", "complexfloat", "int64", "float64"), 8),
    **dict.fromkeys(("float", "int", "float32", "int32", "unsigned int"), 4),
    **dict.fromkeys(("half", "bfloat16", "c10::half", "c10::bfloat16", "short", "float16"), 2),
    **dict.fromkeys(("byte", "char", "bool", "unsigned char", "signed char", "int8", "uint8"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "c10::float8_e4m3fn", "c10::float8_e5m2"), 1),
}
"""torch's names of element types, in lower case."""


def build_collectives(
    host: Host, kernels: Kernels, claims: MetadataClaims | None, strings: Strings
) -> Collectives:
    """Return a row per communication kernel and per communicating host range, by start."""
    ops = host.ops
    hosted = np.flatnonzero(_named(ops.name, _HOSTED, strings)).astype(np.int32)
    device = np.flatnonzero(kernels.communication).astype(np.int32)
    if not len(hosted) and not len(device):
        return Collectives.empty()
    maker = np.concatenate((kernels.op[device], hosted))
    claiming = mask_of(host.claims.row, len(ops))
    claimant = call_tree.self_or_nearest(ops.parent, claiming)
    inside = _inside(ops, _named(ops.name, _ANNOTATED, strings))
    caller = call_tree.self_or_nearest(ops.parent, _named(ops.name, _CALL, strings))
    by_operator = _by_arguments(host.claims, lookup(claimant, maker, NONE), strings)
    call = lookup(caller, maker, NONE)
    annotation = lookup(inside, maker, NONE)
    annotation = np.where(annotation >= 0, annotation, lookup(inside, call, NONE))
    by_annotation = _by_shapes(ops, annotation.astype(np.int32), strings, whole=sum)
    by_call = _by_shapes(ops, call, strings, whole=max)
    none = np.full(len(hosted), NONE, np.int32)
    by_name = _kinds(np.concatenate((kernels.name[device], ops.name[hosted])), strings)
    sources = [by_operator, by_annotation, by_call, _Source(by_name)]
    if claims is not None:
        sources.insert(0, _by_arguments(claims, np.concatenate((device, none)), strings))
    kind = _first([t.kind.astype(np.int64) for t in sources], NONE)
    # Each rank's input is a part of the result: only the call's own tensors have all bytes.
    gathers = kind == strings.id("all_gather")
    by_annotation.bytes[gathers] = MISSING
    start = np.concatenate((kernels.start_ns[device], ops.start_ns[hosted]))
    order = np.argsort(start, kind="stable")
    return Collectives(
        kernel=np.concatenate((device, none))[order],
        op=np.concatenate((np.full(len(device), NONE, np.int32), hosted))[order],
        kind=np.where(kind >= 0, kind, strings.id(OTHER)).astype(np.int32)[order],
        group=_first([t.group.astype(np.int64) for t in sources], NONE).astype(np.int32)[order],
        purpose=_first([t.purpose.astype(np.int64) for t in sources], NONE).astype(np.int32)[order],
        group_size=_first([t.group_size for t in sources], MISSING)[order],
        bytes=_first([t.bytes for t in sources], MISSING)[order],
        peer=_first([t.peer for t in sources], NONE).astype(np.int32)[order],
        sent_bytes=_first([t.sent_bytes for t in sources], MISSING)[order],
        received_bytes=_first([t.received_bytes for t in sources], MISSING)[order],
    )


class _Source:
    """The values of one source per communication; ``NONE`` or ``MISSING`` if it has none."""

    def __init__(self, kind: I32) -> None:
        self.kind = kind
        self.group = np.full(len(kind), NONE, np.int32)
        self.purpose = self.group.copy()
        self.group_size = np.full(len(kind), MISSING, np.int64)
        self.bytes = self.group_size.copy()
        self.sent_bytes = self.group_size.copy()
        self.received_bytes = self.group_size.copy()
        self.peer = np.full(len(kind), NONE, np.int64)


def _first(columns: list[I64], silent: int | np.int64) -> I64:
    """Return the first value of each row that is not ``silent``."""
    first = np.full(len(columns[0]), silent, np.int64)
    for column in reversed(columns):
        first = np.where(column != silent, column, first)
    return first


def _named(name: I32, pattern: re.Pattern[str], strings: Strings) -> Bools:
    return named_rows(strings.all, name, pattern.search)


def _kinds(name: I32, strings: Strings) -> I32:
    """Return the kind in each name; ``NONE`` if there is none."""
    names, code = np.unique(name, return_inverse=True)
    kinds = [collective_kind(strings.all[n]) if n >= 0 else OTHER for n in names.tolist()]
    numbers = [NONE if kind == OTHER else strings.id(kind) for kind in kinds]
    return np.array(numbers, np.int32)[code]


def _by_arguments(claims: MetadataClaims, row: I32, strings: Strings) -> _Source:
    """Return what the arguments of collectives show; ``row`` are the events that may have them."""
    at = rows_of(claims.row.astype(np.int64), row.astype(np.int64))
    if not len(claims.row):
        return _Source(at)
    known = at >= 0
    chosen = claims.events.take(np.where(known, at, 0))
    source = _Source(np.where(known, _kinds(chosen.text("collective"), strings), NONE))
    known &= source.kind >= 0
    source.group = np.where(known, chosen.text("process_group"), NONE)
    source.purpose = np.where(known, chosen.text("group_purpose"), NONE)
    size = chosen.id("group_size", int(MISSING))
    source.group_size = np.where(known & (size > 0), size, MISSING)
    types, code = np.unique(chosen.text("element_type"), return_inverse=True)
    lengths = [_ELEMENT_BYTES.get(strings.all[t].lower(), 0) if t >= 0 else 0 for t in types]
    length = np.array(lengths, np.int64)[code]
    sent, received = (chosen.id(f"{way}_elements", int(MISSING)) for way in ("in", "out"))
    source.sent_bytes = _sizes(np.where(known, sent, MISSING), length)
    source.received_bytes = _sizes(np.where(known, received, MISSING), length)
    source.bytes = _sizes(np.where(known, np.maximum(sent, received), MISSING), length)
    target, origin = chosen.id("target_rank"), chosen.id("source_rank")
    peer = np.where(target >= 0, target, origin)
    source.peer = np.where(known & (peer >= 0) & (peer < RANK_LIMIT), peer, NONE)
    return source


def _sizes(elements: I64, length: I64) -> I64:
    """Return the bytes of elements of a length; ``MISSING`` where one is unknown or impossible."""
    sizes = np.full(len(elements), MISSING, np.int64)
    known = (length > 0) & (elements >= 0)
    known[known] = elements[known] <= HALF_INT64 // length[known]
    sizes[known] = elements[known] * length[known]
    return sizes


def _by_shapes(ops: Ops, row: I32, strings: Strings, whole: Callable[..., int]) -> _Source:
    """Return what a range's name and input shapes show; ``whole`` combines the bytes."""
    source = _Source(np.where(row >= 0, _kinds(lookup(ops.name, row, NONE), strings), NONE))
    pairs = np.stack((lookup(ops.shapes, row, NONE), lookup(ops.dtypes, row, NONE)))
    distinct, code = np.unique(pairs, axis=1, return_inverse=True)
    sizes = [_bytes(strings, int(s), int(d), whole) for s, d in distinct.T]
    source.bytes = np.array(sizes, np.int64)[code.reshape(-1)]
    return source


def _bytes(strings: Strings, shapes: int, dtypes: int, whole: Callable[..., int]) -> int:
    """Return the bytes of the tensors among a range's inputs; ``MISSING`` if not known.

    A file may have any JSON in these arguments, and sizes that no tensor has.
    """
    if shapes < 0 or dtypes < 0:
        return int(MISSING)
    dims, kinds = json.loads(strings.all[shapes]), json.loads(strings.all[dtypes])
    if not isinstance(dims, list) or not isinstance(kinds, list):
        return int(MISSING)
    sizes = [
        math.prod(one) * _ELEMENT_BYTES[kind.lower()]
        for one, kind in zip(dims, kinds, strict=False)
        if isinstance(kind, str) and kind.lower() in _ELEMENT_BYTES and _is_shape(one)
    ]
    total = whole(sizes) if sizes else int(MISSING)
    return total if total <= HALF_INT64 else int(MISSING)


def _is_shape(dims: object) -> bool:
    return isinstance(dims, list) and all(type(d) is int and d >= 0 for d in dims)


def _inside(ops: Ops, annotated: Bools) -> I32:
    """Return each range itself if it is annotated, else the first annotated one directly inside."""
    first = np.full(len(ops), NONE, np.int32)
    rows = np.flatnonzero(annotated)[::-1]
    inner = rows[ops.parent[rows] >= 0]
    first[ops.parent[inner]] = inner
    first[rows] = rows
    return first
