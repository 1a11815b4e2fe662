"""What rocprofv3's databases and its JSON have in common: columns of launches, copies and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.rocprof import schema
from tb_privateuse1.readers.sqlite.columns import Places, Strings, ids_of
from tb_privateuse1.readers.sqlite.database import ABSENT
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools

_NUMBER_BITS = 40


def grid_of(items: Sequence[I64], block: Sequence[I64]) -> list[I64]:
    """Return the blocks of each dimension of grids in work items; ``ABSENT`` if not known."""
    return [
        np.where(size > 0, -(-count // np.maximum(size, 1)), ABSENT)
        for count, size in zip(items, block, strict=True)
    ]


def extents(strings: Strings, sizes: Sequence[I64]) -> I32:
    """Return the sizes of a grid or block as JSON; ``NONE`` if one is not known."""
    firsts, code = group_rows(*sizes)
    distinct = zip(*(column[firsts].tolist() for column in sizes), strict=True)
    texts = [
        strings.index(f"[{x},{y},{z}]") if min(x, y, z) > 0 and max(x, y, z) < 1 << 32
        else NONE for x, y, z in distinct
    ]  # fmt: skip
    return np.array(texts, np.int32)[code]


def shared_bytes(sizes: I64) -> I64:
    """Return the possible sizes of shared memory, ``ABSENT`` for others."""
    return np.where((sizes >= 0) & (sizes < 1 << 40), sizes, ABSENT)


def copy_names(strings: Strings, names: I32) -> I32:
    """Return copies' names as Kineto spells them."""
    title = strings.convert(names, _copy_title)
    return np.where(title >= 0, title, strings.index("")).astype(np.int32)


def lanes(places: Places, device: I64, stream_id: I64, queue_id: I64) -> tuple[I64, I32]:
    """Return the stream and the thread of each row on a device."""
    stream = np.maximum(ids_of(stream_id), 0)
    if len(np.unique(stream)) < 2:  # streams are not recorded unless it is asked for
        stream = np.maximum(ids_of(queue_id), 0)
    pairs, code = np.unique(np.stack((device, stream)), axis=1, return_inverse=True)
    rows = [
        places.add(f"device {d}", str(s), f"stream {s}", f"device {d}") for d, s in pairs.T.tolist()
    ]
    return stream, np.array(rows, np.int32)[code.reshape(-1)]


def call_numbers(numbers: I64, process: int) -> I64:
    """Return numbers of calls that those of other processes do not have; ``NONE`` without one."""
    valid = (numbers > 0) & (numbers < 1 << _NUMBER_BITS)
    return np.where(valid, numbers + (process << _NUMBER_BITS), NONE)


def is_marker(strings: Strings, category: I32) -> Bools:
    """Return which rows are ranges and marks of the program."""
    return strings.matching(category, lambda text: text.startswith(schema.MARKERS))


def by_kind(strings: Strings, category: I32, regions: Group, operator: Bools) -> dict[str, Group]:
    """Return calls, operators and annotations by category; other regions are left out."""
    marker = is_marker(strings, category)
    library = strings.matching(category, lambda text: text.startswith(schema.LIBRARIES))
    lasting = regions.end_ns > regions.start_ns
    operator = operator & marker
    kinds = {"cpu_op": operator, "user_annotation": (marker & lasting & ~operator) | library}
    for beginning, kind in schema.CALLS.items():
        kinds[kind] = strings.matching(category, _starts_with(beginning))
    return {kind: regions.take(mask) for kind, mask in kinds.items() if mask.any()}


def _starts_with(beginning: str) -> Callable[[str], bool]:
    return lambda text: text.startswith(beginning)


def _copy_title(name: str) -> str:
    known = (title for end, title in schema.DIRECTIONS.items() if name.upper().endswith(end))
    return next(known, name)
