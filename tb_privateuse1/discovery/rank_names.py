"""Ranks that names say: of files, and of the processes of a file that several ranks share.

A name has the rank itself (``rank-3``, ``rank3_step100``, ``prof_3``, ``worker3``), or the place on
each axis of parallelism (SGLang: ``1779464282.6-TP-1-DP-0-DECODE``, and ``[TP01-EP00] 1000`` in a
merged file). A tensor-parallel place is the rank where no two processes share it; else the ranks
count the places in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_RANK = re.compile(r"(?:^|[^a-z])rank[-_ ]?([0-9]{1,9})(?![0-9])", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:prof|worker)[-_]?([0-9]{1,9})", re.IGNORECASE)
_AXES = ("pp", "dp", "cp", "ep", "tp")
"""The slowest first, as engines number the ranks of a job."""
_PLACE = re.compile(
    rf"(?<![a-z0-9])({'|'.join(_AXES)})[-_]?([0-9]{{1,6}})(?![0-9a-z])", re.IGNORECASE
)


def named_ranks(names: Iterable[str]) -> dict[str, int]:
    """Return the ranks of those names of a directory that say one."""
    ranks: dict[str, int] = {}
    places: dict[str, tuple[int, ...]] = {}
    for name in names:
        if found := _RANK.search(name) or _NUMBERED.fullmatch(name):
            ranks[name] = int(found[1])
        elif axes := {axis.lower(): int(number) for axis, number in _PLACE.findall(name)}:
            places[name] = tuple(axes.get(axis, 0) for axis in _AXES)
    distinct = sorted(set(places.values()))
    alone = len({place[-1] for place in distinct}) == len(distinct)
    for name, place in places.items():
        ranks[name] = place[-1] if alone else distinct.index(place)
    return ranks


def rank_in(name: str) -> int | None:
    """Return the rank itself that a name has; None without one."""
    found = _RANK.search(name)
    return int(found[1]) if found else None
