"""Read the process groups of a rank.

Sources in order: ``distributedInfo.pg_config`` (torch since 2.2, all groups of the rank), the
arguments of collectives (``Process Group Ranks``, ``Global rank start`` and ``stride``), and the
flight recorder's table of groups. A file may have anything there; other values are skipped.

torch cuts lists of more than 30 ranks in arguments (``[0, 1, ..., ...]``): start, stride and size
still give the ranks of a regular group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from tb_privateuse1.inference.stage_inputs import MetadataClaims, Strings
from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.trace.collective_entries import CollectiveEntries
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.process_groups import (
    MOST_GROUPS,
    MOST_RANKS,
    RANK_LIMIT,
    ProcessGroup,
    Run,
    count_ranks,
    runs_of,
)
from tb_privateuse1.vendors.kernel_names import OTHER, collective_kind

_LONGEST_NAME = 256
"""Characters of a group's name: torch's own are numbers, hashes, or ``mesh_`` with an axis."""
_MOST_TEXT = 16 << 20
"""Of the JSON of all groups, where it is a text."""
_CUT = re.compile(r"^\s*\[([\d,\s]+),\s*\.\.\.\s*,\s*(\d+)\s*\]\s*$")

Runs = tuple[Run, ...]


def read_groups(
    raw: Raw, claims: Sequence[MetadataClaims | None], strings: Strings
) -> tuple[ProcessGroup, ...]:
    """Return the groups of a rank, one per name; a later source adds ranks an earlier one lacks."""
    found: dict[str, ProcessGroup] = {}
    for group in (
        *configured_groups(raw.metadata),
        *(group for one in claims if one is not None for group in _named(one.events, strings)),
        *_of_entries(raw.entries, strings.all),
    ):
        known = found.get(group.name)
        if known is None and len(found) < MOST_GROUPS:
            found[group.name] = group
        elif known is not None and known.runs is None and group.runs is not None:
            purpose = known.purpose or group.purpose
            found[group.name] = replace(known, runs=group.runs, size=group.size, purpose=purpose)
    return tuple(found.values())


def configured_groups(metadata: Mapping[str, Any]) -> list[ProcessGroup]:
    """Return the groups of ``distributedInfo.pg_config``, as a list or as a text of JSON."""
    info = metadata.get("distributedInfo")
    if not isinstance(info, dict):
        return []
    listed = _decoded(info.get("pg_config"))
    if isinstance(listed, dict):  # by name, as in a flight recorder
        listed = [{"pg_name": name, **g} for name, g in listed.items() if isinstance(g, dict)]
    world = _size(info.get("world_size"))
    found: list[ProcessGroup] = []
    left = MOST_RANKS
    for one in listed[:MOST_GROUPS] if isinstance(listed, list) else ():
        group = _configured(one, world, left)
        if group is not None:
            found.append(group)
            left -= count_ranks(group.runs or ())
    return found


def _configured(one: Any, world: int | None, most: int) -> ProcessGroup | None:
    if not isinstance(one, dict):
        return None
    name = one.get("pg_name", one.get("name"))
    if not isinstance(name, str | int) or isinstance(name, bool):
        return None
    size = _size(one.get("pg_size", one.get("group_size")))
    ranks = one.get("ranks")
    if ranks == [] and size is not None and size == world:
        runs: Runs | None = ((0, size, 1),)  # torch leaves out the ranks of a group of all ranks
    else:
        runs = _ranks(ranks, size)
    if runs is not None and (not runs or count_ranks(runs) > most):
        runs = None
    return ProcessGroup(
        str(name)[:_LONGEST_NAME],
        _text(one.get("pg_desc", one.get("desc"))),
        size if runs is None else count_ranks(runs),
        runs,
        _text(one.get("backend_config")),
    )


def _named(events: Group, strings: Strings) -> list[ProcessGroup]:
    if "process_group" not in events.texts:
        return []
    keys = ("process_group", "group_purpose", "group_ranks", "collective")
    texts = [events.text(key) for key in keys]
    numbers = [events.id(key) for key in ("group_size", "rank_start", "rank_stride")]
    first, _ = group_rows(*texts, *numbers)
    found = []
    for row in first[: 8 * MOST_GROUPS].tolist():
        name, purpose, ranks, kind = (strings.all[c[row]] if c[row] >= 0 else "" for c in texts)
        size, start, stride = (int(column[row]) for column in numbers)
        if not name or collective_kind(kind) == OTHER or not 0 < size <= MOST_RANKS:
            continue  # torch also writes a group beside ``wait``: of size 1, without ranks
        runs = _ranks(ranks, size)
        if runs is None and 0 <= start < RANK_LIMIT and (0 < stride < RANK_LIMIT):
            runs = ((start, size, stride if size > 1 else 1),)
        if runs is not None and count_ranks(runs) != size:
            runs = None
        found.append(ProcessGroup(name[:_LONGEST_NAME], _text(purpose), size, runs))
    return found


def _of_entries(entries: CollectiveEntries, strings: Sequence[str]) -> list[ProcessGroup]:
    if not len(entries):
        return []
    first, _ = group_rows(entries.group, entries.members)
    found = []
    for row in first[:MOST_GROUPS].tolist():
        name, purpose, ranks = (
            strings[i] if i >= 0 else ""
            for i in (entries.group[row], entries.purpose[row], entries.members[row])
        )
        runs = _ranks(ranks, None)
        found.append(ProcessGroup(name, purpose, count_ranks(runs) if runs else None, runs))
    return found


def _ranks(value: Any, size: int | None) -> Runs | None:
    """Return the runs of a list of ranks, or of its text, that may be cut off; None if unknown."""
    if isinstance(value, str):
        if cut := _CUT.match(value[:_LONGEST_NAME]):
            return _regular([int(n) for n in cut[1].split(",") if n.strip()], int(cut[2]), size)
        value = _decoded(value)
    if not isinstance(value, list) or not 0 < len(value) <= MOST_RANKS:
        return None
    if not all(type(rank) is int and 0 <= rank < RANK_LIMIT for rank in value):
        return None
    return runs_of(value)


def _regular(head: list[int], last: int, size: int | None) -> Runs | None:
    """Return the run of ``[0, 8, ..., 56]``; None if its size says that it is not regular."""
    if len(head) < 2 or last >= RANK_LIMIT:
        return None
    run = runs_of(head)
    first, _, stride = run[0]
    count = (last - first) // stride + 1
    fits = len(run) == 1 and (last - first) % stride == 0 and len(head) < count <= MOST_RANKS
    return ((first, count, stride),) if fits and size in (None, count) else None


def _decoded(value: Any) -> Any:
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _size(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < RANK_LIMIT else None


def _text(value: Any) -> str:
    text = value if isinstance(value, str) and value != "undefined" else ""
    return text[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")
