"""Find the collectives that not every rank of their group joined, from flight recorders.

A group numbers its collectives, and each rank enqueues them in this order. So the first number that
a member lacks is what the others wait for. A rank that waits in another group's collective lacks
this one for that reason: the chain ends at the rank that waits nowhere, or is a circle, in which
ranks enqueue collectives of two groups in different orders.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.recorder_entries import Entries
from tb_privateuse1.trace.collective_entries import SCHEDULED, STARTED
from tb_privateuse1.trace.groupby import maxima
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64
from tb_privateuse1.vendors.kernel_names import OTHER, collective_kind

Verdict = Literal["missing", "different", "circle", "behind", "unfinished"]
"""Why a collective is open: members did not join, members called another one, members wait for each
other in two groups, members wait in another open collective, or all joined and it did not end."""

MOST = 50
"""A job that hangs waits in one collective per group; causes come first."""
_MOST_RANKS = 20
"""Ranks of a collective that are listed with their call. The other lists of ranks are whole."""
_MESSAGE = re.compile(r"(send|recv) ([0-9]{1,9})(?:->|<-)([0-9]{1,9})$")
_OF_TORCH = re.compile(r"(?:^|[/\\])torch[/\\]")
_WHOLE_INPUT = {"all_reduce", "broadcast", "reduce", "reduce_scatter"}
_WHOLE_OUTPUT = {"all_reduce", "broadcast", "all_gather"}
"""Collectives whose inputs, or outputs, have as many elements on each rank."""
_TYPED = _WHOLE_INPUT | _WHOLE_OUTPUT | {"all_to_all", "gather", "scatter"}


class RankCall(Struct, frozen=True):
    """A call of one rank."""

    rank: int
    name: str
    """As torch's ``nccl:all_reduce``; empty if its recorder has nothing."""
    group: str
    sequence: int | None
    inputs: str
    """Types and shapes."""
    state: str
    stack: str
    """The innermost Python frame outside of torch; empty if not recorded."""


class OpenCollective(Struct, frozen=True):
    """A collective, or a message, that had not ended on all ranks when the dumps were written."""

    group: str
    purpose: str
    verdict: Verdict
    sequence: int | None
    """Its number in the group; null for a message."""
    call: RankCall
    """As the first rank that joined called it."""
    size: int | None
    """Ranks of the group; null where no dump has them."""
    scheduled: tuple[int, ...]
    """Ranks that have enqueued it: it had not started, or the backend does not record that."""
    started: tuple[int, ...]
    ended: tuple[int, ...]
    missing: tuple[int, ...]
    """Ranks that have not enqueued it."""
    instead: tuple[RankCall, ...]
    """What these enqueued last, at most 20 of them."""
    different: tuple[RankCall, ...]
    """Ranks that called another collective, or with other sizes or types."""
    unknown: tuple[int, ...]
    """Ranks without a dump, or whose recorder does not go back as far."""
    waiting_ns: int | None
    """From the first rank's call until the last time in any dump."""


def open_collectives(entries: Entries, numbers: Sequence[int]) -> tuple[OpenCollective, ...]:
    """Return the first open collective of each group and all open messages, causes first.

    ``numbers`` are the ranks of the entries' parts.
    """
    found = [
        one
        for group in np.unique(entries.group).tolist()
        if (one := _of_group(entries, group, numbers)) is not None
    ]
    found += _messages(entries, numbers)
    found = _with_causes(found)
    rank = {"different": 0, "missing": 1, "circle": 1, "behind": 2, "unfinished": 3}
    found.sort(key=lambda one: (rank[one.verdict], -(one.waiting_ns or 0)))
    return tuple(found[:MOST])


def _of_group(entries: Entries, group: int, numbers: Sequence[int]) -> OpenCollective | None:
    """Return the first open collective of a group."""
    chosen = (entries.group == group) & ~entries.message & (entries.sequence != MISSING)
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return None
    sequence, part = entries.sequence[rows], entries.part[rows]
    last = maxima(part, sequence, len(numbers), int(MISSING))
    place = {number: i for i, number in enumerate(numbers)}
    listed = entries.ranks_of(int(rows[0]))
    members = listed or _likely_members(entries, rows, numbers)
    here = [place[rank] for rank in members if rank in place]
    whole = {i for i in here if entries.whole[entries.part == i].any()}
    last[[i for i in whole if last[i] == MISSING]] = 0
    behind = [i for i in here if MISSING < last[i] < sequence.max()]
    firsts = [int(sequence[sequence > last[i]].min()) for i in behind]
    firsts += sequence[entries.is_open[rows]].tolist()
    if not firsts:
        return None
    number = min(firsts)
    joined = rows[sequence == number]
    is_missing = [i for i in here if MISSING < last[i] < number]
    known = {*entries.part[joined].tolist(), *is_missing}
    unknown = [rank for rank in members if rank not in place or place[rank] not in known]
    if not is_missing and not entries.is_open[joined].any():
        return None
    return _build(entries, joined, numbers, is_missing, unknown, len(listed) if listed else None)


def _likely_members(entries: Entries, rows: I64, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the ranks of a group that no dump lists: all of torch's first one, or its callers."""
    if any(entries.text(i) == "default_pg" for i in np.unique(entries.purpose[rows]).tolist()):
        return tuple(numbers)
    return tuple(numbers[i] for i in np.unique(entries.part[rows]).tolist())


def _build(
    entries: Entries,
    joined: I64,
    numbers: Sequence[int],
    missing: Sequence[int],
    unknown: Sequence[int],
    size: int | None,
) -> OpenCollective:
    order = joined[np.argsort(entries.created_ns[joined], kind="stable")]
    first = int(order[0])
    states: dict[int, int] = {}
    for row in joined.tolist():  # of the parts of a coalesced call, the least advanced counts
        part = int(entries.part[row])
        states[part] = min(states.get(part, 9), int(entries.state[row]))
    ranks = {part: numbers[part] for part in (*states, *missing)}
    open_rows = joined[entries.is_open[joined]]
    since = entries.created_ns[open_rows if len(open_rows) else joined]
    since = since[since != MISSING]
    different = _different(entries, joined, first, numbers)
    return OpenCollective(
        group=entries.text(int(entries.group_name[first])),
        purpose=entries.text(int(entries.purpose[first])),
        verdict="different" if different else "missing" if missing else "unfinished",
        sequence=None if entries.message[first] else int(entries.sequence[first]),
        call=_call(entries, first, numbers),
        size=size,
        scheduled=tuple(sorted(ranks[p] for p, s in states.items() if s == SCHEDULED)),
        started=tuple(sorted(ranks[p] for p, s in states.items() if s == STARTED)),
        ended=tuple(sorted(ranks[p] for p, s in states.items() if s > STARTED)),
        missing=tuple(sorted(ranks[part] for part in missing)),
        instead=tuple(_last_call(entries, part, numbers) for part in missing[:_MOST_RANKS]),
        different=different,
        unknown=tuple(sorted(unknown)),
        waiting_ns=int(entries.last_ns.max() - since.min()) if len(since) else None,
    )


def _call(entries: Entries, row: int, numbers: Sequence[int]) -> RankCall:
    state = ("scheduled", "started", "completed", "ended")[int(entries.state[row])]
    sequence = int(entries.sequence[row])
    return RankCall(
        rank=numbers[int(entries.part[row])],
        name=entries.text(int(entries.name[row])),
        group=entries.text(int(entries.group_name[row])),
        sequence=None if sequence == MISSING else sequence,
        inputs=_inputs(entries, row),
        state=state,
        stack=_own_frame(entries.text(int(entries.stack[row]))),
    )


def _last_call(entries: Entries, part: int, numbers: Sequence[int]) -> RankCall:
    rows = np.flatnonzero(entries.part == part)
    if not len(rows):
        return RankCall(numbers[part], "", "", None, "", "", "")
    return _call(entries, int(rows[-1]), numbers)


def _own_frame(stack: str) -> str:
    frames = stack.split(";")
    return next((frame for frame in frames if not _OF_TORCH.search(frame)), frames[0])


def _inputs(entries: Entries, row: int) -> str:
    types = json.loads(entries.text(int(entries.dtypes[row])) or "[]")
    shapes = json.loads(entries.text(int(entries.shapes[row])) or "[]")
    shown = [
        f"{types[i] if i < len(types) else ''}{shape}".replace(" ", "")
        for i, shape in enumerate(shapes[:4])
    ]
    return ", ".join([*shown, *(["…"] if len(shapes) > 4 else [])])


def _different(
    entries: Entries, joined: I64, first: int, numbers: Sequence[int]
) -> tuple[RankCall, ...]:
    """Return the calls that do not fit what most ranks called.

    The parts of a coalesced call are compared in their order.
    """
    if entries.message[first]:
        return ()
    keys: dict[int, list[str]] = {}
    rows: dict[int, int] = {}
    known: dict[tuple[int, ...], str] = {}
    columns = (entries.name, entries.shapes, entries.dtypes, entries.out_shapes, entries.out_dtypes)
    for row in joined.tolist():
        part = int(entries.part[row])
        rows.setdefault(part, row)
        index = tuple(int(column[row]) for column in columns)
        if index not in known:
            known[index] = _signature(entries, row)
        keys.setdefault(part, []).append(known[index])
    signatures = {part: ";".join(texts) for part, texts in keys.items()}
    counts: dict[str, int] = {}
    for text in signatures.values():
        counts[text] = counts.get(text, 0) + 1
    usual = max(counts, key=lambda text: counts[text])
    odd = sorted(part for part, text in signatures.items() if text != usual)
    return tuple(_call(entries, rows[part], numbers) for part in odd[:_MOST_RANKS])


def _signature(entries: Entries, row: int) -> str:
    """Return what must be equal on all ranks of a call."""
    name = entries.text(int(entries.name[row])).rpartition(":")[2]
    kind = collective_kind(name)
    found = [name if kind == OTHER else kind]
    if kind in _TYPED:
        types = json.loads(entries.text(int(entries.dtypes[row])) or "[]")
        types += json.loads(entries.text(int(entries.out_dtypes[row])) or "[]")
        found.append(",".join(sorted(set(types))))
    if kind in _WHOLE_INPUT:
        found.append(_elements(entries.text(int(entries.shapes[row]))))
    if kind in _WHOLE_OUTPUT:
        found.append(_elements(entries.text(int(entries.out_shapes[row]))))
    return "/".join(found)


def _elements(shapes: str) -> str:
    return str(sum(math.prod(shape) for shape in json.loads(shapes))) if shapes else "?"


def _messages(entries: Entries, numbers: Sequence[int]) -> Iterator[OpenCollective]:
    """Yield the open messages whose other end has fewer open ones between both ranks."""
    rows = np.flatnonzero(entries.message & entries.is_open)
    place = {number: i for i, number in enumerate(numbers)}
    ends: dict[tuple[int, int, int, str], list[int]] = {}
    for row in rows.tolist()[: MOST * MOST]:
        match = _MESSAGE.search(entries.text(int(entries.name[row])))
        if match is None:
            continue
        own, other = int(match[2]), int(match[3])
        members = entries.ranks_of(row) or tuple(numbers)
        if own < len(members) and other < len(members):
            key = (int(entries.group[row]), members[own], members[other], match[1])
            ends.setdefault(key, []).append(row)
    for (group, own, other, kind), mine in ends.items():
        counter = ends.get((group, other, own, "recv" if kind == "send" else "send"), [])
        if len(mine) > len(counter):
            surplus = np.array([mine[len(counter)]])
            missing = [place[other]] if other in place else []
            yield _build(entries, surplus, numbers, missing, [] if missing else [other], 2)


def _with_causes(found: Sequence[OpenCollective]) -> list[OpenCollective]:
    """Return the collectives, with a verdict on those whose missing ranks wait in another one."""
    waits: dict[int, list[int]] = {}
    for i, one in enumerate(found):
        for rank in (*one.scheduled, *one.started):
            waits.setdefault(rank, []).append(i)
    causes = [
        {j for rank in one.missing for j in waits.get(rank, []) if j != i}
        if one.verdict == "missing" and all(rank in waits for rank in one.missing)
        else set()
        for i, one in enumerate(found)
    ]
    result = []
    for i, one in enumerate(found):
        reached, pending = set[int](), list(causes[i])
        while pending:
            j = pending.pop()
            if j not in reached:
                reached.add(j)
                pending += causes[j]
        if not causes[i]:
            result.append(one)
        else:
            result.append(replace(one, verdict="circle" if i in reached else "behind"))
    return result
