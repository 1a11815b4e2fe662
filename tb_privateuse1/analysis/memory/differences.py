"""Compare memory that is alive at two instants, by function, module and category.

Both may be of one recording, or each of its own: a memory snapshot is a recording, too. Rows are
matched by their texts. A single pair of instants has no spread, so no verdict is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import allocations, by_module, by_operator, categories
from tb_privateuse1.analysis.memory.allocations import UNKNOWN, AllocationLevel, Blocks
from tb_privateuse1.analysis.memory.by_operator import Source
from tb_privateuse1.analysis.memory.categories import CATEGORIES, Split
from tb_privateuse1.analysis.memory.remaining import allocating_functions, allocating_operators
from tb_privateuse1.analysis.operators import module_of
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import NONE, Memory, Trace
from tb_privateuse1.trace.table import I64

Moment = Literal["peak", "end"]

Reason = Literal["new", "larger", "more", "late", "less", "gone", "same"]
"""``new``: the base never had any of it. ``larger``: no more blocks at once than in the base, but
larger ones. ``more``: more of it at once than ever in the base. ``late``: the base had as much at
another time. ``gone``: only the base ever had any of it."""

Key = tuple[Source, str | None, str | None]
"""Source, name, and the operator of what has no name."""


class AliveChange(Struct, frozen=True):
    """Memory of one function, class of module or category at both instants."""

    source: Source
    name: str | None
    """The function, the class of module or the category; null without one."""
    operator: str | None
    """The allocating operator of what has no name."""
    reason: Reason
    base_bytes: int
    now_bytes: int
    change_bytes: int
    base_allocations: int | None
    """Blocks; null where they are not counted: of categories, and before the recording."""
    now_allocations: int | None
    base_most_bytes: int
    """The most that the base had at any time."""


class MemoryDifference(Struct, frozen=True):
    """A device's memory at two instants. Each list of rows sums to the totals."""

    device: str
    """Its name, or both names if they differ."""
    base_ns: int
    now_ns: int
    base_bytes: int
    now_bytes: int
    change_bytes: int
    functions: tuple[AliveChange, ...]
    """The greatest change first, as in the other lists."""
    modules: tuple[AliveChange, ...]
    categories: tuple[AliveChange, ...]


class Held(Struct, frozen=True):
    """Memory of one key at an instant, and the most of it until then or in the recording."""

    bytes: int = 0
    allocations: int | None = 0
    most_bytes: int = 0
    most_allocations: int | None = 0


Holders = Mapping[Key, Held]


class DeviceHistory(Struct, frozen=True):
    """The memory events of one device, and what follows from them."""

    trace: Trace
    label: str
    events: Memory
    level: AllocationLevel
    blocks: Blocks
    split: Split


class Instant(Struct, frozen=True):
    """Memory that is alive at one time, by three kinds of key."""

    at_ns: int
    bytes: int
    functions: Holders
    modules: Holders
    categories: Holders


def device_history(trace: Trace, device: tuple[int, int]) -> DeviceHistory | None:
    """Return the history of a device; None without totals or without addresses."""
    events = allocations.device_events(trace.memory, device)
    level, blocks = allocations.memory_level(events), allocations.pair_blocks(events)
    if not is_known(level, blocks):
        return None
    split = categories.categorize(trace, events, level, blocks)
    label = allocations.device_label(trace, device)
    return DeviceHistory(trace, label, events, level, blocks, split)


def is_known(level: AllocationLevel, blocks: Blocks) -> bool:
    """Return whether it is known what is alive when: there are totals and addresses."""
    return level.has_totals and not bool((blocks.fate == UNKNOWN).all())


def entry_before(level: AllocationLevel, at_ns: int) -> int:
    """Return the last entry of ``level`` before a time, ``NONE`` before the first."""
    return int(np.searchsorted(level.at_ns, at_ns)) - 1


def alive_at(history: DeviceHistory, entry: int, at_ns: int, *, so_far: bool = False) -> Instant:
    """Return what is alive at an entry of the level, which is that of time ``at_ns``.

    ``entry`` is ``NONE`` before the first one. The most of each key is that of the recording;
    with ``so_far`` that up to this entry.
    """
    trace, events, level, blocks = history.trace, history.events, history.level, history.blocks
    row = int(level.rows[entry]) if entry >= 0 else NONE
    made = (blocks.allocation >= 0) & (blocks.fate != UNKNOWN)
    own = blocks.take(made & (blocks.allocation <= row) if so_far else made)
    earlier, rest = level.before, 0
    if entry >= 0:
        _, earlier, rest = by_operator.alive_at(level, blocks, entry)
    others: Holders = {
        ("earlier", None, None): Held(earlier, None, level.before, None),
        ("unexplained", None, None): Held(rest, None, max(rest, 0), None),
    }
    at = own.allocation
    operator = allocating_operators(trace, events.op[at])
    module = module_of.operator_modules(trace, events.op[at])
    label, *columns = allocating_functions(trace, events, at)

    def keyed(text: Callable[[int], str | None]) -> Callable[[int], Key]:
        def key(i: int) -> Key:
            name = text(i)
            without = None if name is not None else trace.text(int(operator[i])) or None
            return ("operator", name, without)

        return key

    by_function = group_rows(operator, *columns)
    by_class = group_rows(operator, module)
    class_of = keyed(lambda i: by_module.class_text(trace, int(module[i])))
    return Instant(
        at_ns=at_ns,
        bytes=int(level.allocated[entry]) if entry >= 0 else level.before,
        functions={**_holders(own, row, *by_function, keyed(label)), **others},
        modules={**_holders(own, row, *by_class, class_of), **others},
        categories=_categories(history, entry, so_far=so_far),
    )


def _holders(
    blocks: Blocks, row: int, first: I64, group: I64, key: Callable[[int], Key]
) -> dict[Key, Held]:
    """Return what each key holds behind a row; groups of blocks with one key count together."""
    numbers: dict[Key, int] = {}
    of = np.array([numbers.setdefault(key(i), len(numbers)) for i in first.tolist()], np.int64)
    count = len(numbers)
    if not count:
        return {}
    member, one = of[group], np.ones(len(blocks), np.int64)
    alive = (blocks.allocation <= row) & (blocks.gone > row)
    columns = [
        (sums(member[alive], size[alive], count), _most(blocks, member, size))
        for size in (blocks.bytes, one)
    ]
    figures = [column.tolist() for pair in columns for column in pair]
    rows = zip(*figures, strict=True)
    return {
        key: Held(size, blocks_now, most, most_blocks)
        for key, (size, most, blocks_now, most_blocks) in zip(numbers, rows, strict=True)
    }


def _most(blocks: Blocks, member: I64, size: I64) -> I64:
    """Return the greatest sum of ``size`` over blocks that are alive at once, by member."""
    rows = np.concatenate((blocks.gone, blocks.allocation))
    change = np.concatenate((-size, size))
    of = np.concatenate((member, member))
    # A stable order has the releases of a row before its allocations.
    order = np.lexsort((rows, of))
    # The changes of a member sum to 0, so that one running sum serves all.
    level = np.cumsum(change[order])
    starts = np.searchsorted(of[order], np.arange(int(member.max()) + 1))
    most: I64 = np.maximum.reduceat(level, starts)
    return most


def _categories(history: DeviceHistory, entry: int, *, so_far: bool) -> dict[Key, Held]:
    curves = categories.category_curves(
        history.events, history.level, history.blocks, history.split
    )
    seen = curves[:, : entry + 2] if so_far else curves
    most = np.maximum(seen.max(axis=1), 0).tolist()
    return {
        ("operator", name, None): Held(size, None, most[i], None)
        for i, (name, size) in enumerate(
            zip(CATEGORIES, curves[:, entry + 1].tolist(), strict=True)
        )
    }


def difference(base: Instant, now: Instant, device: str) -> MemoryDifference:
    """Return what changed from one instant to the other."""
    return MemoryDifference(
        device=device,
        base_ns=base.at_ns,
        now_ns=now.at_ns,
        base_bytes=base.bytes,
        now_bytes=now.bytes,
        change_bytes=now.bytes - base.bytes,
        functions=_changes(base.functions, now.functions),
        modules=_changes(base.modules, now.modules),
        categories=_changes(base.categories, now.categories),
    )


def change_within(history: DeviceHistory, start_ns: int, end_ns: int) -> MemoryDifference | None:
    """Return what is alive just before ``end_ns`` against just before ``start_ns``.

    ``late`` is by what was alive up to each instant. None without totals or addresses.
    """
    if not is_known(history.level, history.blocks):
        return None
    before, after = (
        alive_at(history, entry_before(history.level, at), at, so_far=True)
        for at in (start_ns, end_ns)
    )
    return difference(before, after, history.label)


def _changes(base: Holders, now: Holders) -> tuple[AliveChange, ...]:
    """Return a row for each key that either holds at its instant."""
    nothing = Held()
    found = []
    for key in dict.fromkeys([*now, *base]):
        old, new = base.get(key, nothing), now.get(key, nothing)
        if not old.bytes and not new.bytes:
            continue
        row = AliveChange(
            *key,
            reason=_reason(old, new) if key[0] == "operator" else _direction(old, new),
            base_bytes=old.bytes,
            now_bytes=new.bytes,
            change_bytes=new.bytes - old.bytes,
            base_allocations=old.allocations,
            now_allocations=new.allocations,
            base_most_bytes=old.most_bytes,
        )
        found.append(row)
    return tuple(sorted(found, key=lambda r: (-abs(r.change_bytes), -r.now_bytes, r.name or "")))


def _direction(old: Held, new: Held) -> Reason:
    """Return the reason of bytes that belong to no block."""
    return "same" if new.bytes == old.bytes else "more" if new.bytes > old.bytes else "less"


def _reason(old: Held, new: Held) -> Reason:
    if new.bytes <= old.bytes:
        return _direction(old, new) if new.most_bytes else "gone"
    if not old.most_bytes:
        return "new"
    if new.bytes <= old.most_bytes:
        return "late"
    counts = new.allocations, old.most_allocations
    if counts[0] is not None and counts[1] is not None and counts[0] <= counts[1]:
        return "larger"
    return "more"
