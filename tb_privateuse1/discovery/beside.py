"""Find the files beside a trace that add to its events: execution traces (``Format.beside``).

They have any name. Such a file is of the trace whose process it is of, or may be of any if one of
the two does not say its process. Names that have two ranks are of two traces. The reader of the
trace compares what is in both: nothing of another process is joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tb_privateuse1.discovery.file import File
from tb_privateuse1.discovery.trace_head import Head

_MOST = 4
"""Files that are tried for one trace, the most similar names first."""
_RANK = re.compile(r"(?:rank|et|trace|chakra|host)[-_.]?([0-9]{1,6})(?![0-9])", re.IGNORECASE)


def files_beside(
    trace: File, head: Head, rank: int | None, candidates: Sequence[tuple[File, Head]]
) -> tuple[File, ...]:
    """Return the files that may add to a trace; ``candidates`` are those of its directory."""
    fitting = [
        file
        for file, own in candidates
        if (not own.processes or not head.processes or own.processes & head.processes)
        and _may_have(file.name, rank)
    ]
    fitting.sort(key=lambda file: (-_common(file.name, trace.name), file.name))
    return tuple(fitting[:_MOST])


def distinct(files: Iterable[File]) -> list[File]:
    """Return files, of ``x.json`` and ``x.json.gz`` the plain one."""
    plain: dict[str, File] = {}
    for file in sorted(files, key=lambda file: file.name):
        plain.setdefault(file.name.removesuffix(".gz"), file)
    return [*plain.values()]


def _may_have(name: str, rank: int | None) -> bool:
    match = _RANK.search(name)
    return match is None or rank is None or int(match[1]) == rank


def _common(one: str, other: str) -> int:
    """Return how many first letters two names share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
