"""Find the files that add to a trace: snapshots, timelines, execution traces, compile logs.

Memory snapshots are named after their trace (``Format.named_after``). Execution traces and logs of
compilation have any name (``Format.beside``), and so have memory timelines (``Format.joins_any``),
which are recordings of their own where there is no other. Such a file is of the trace whose process
it is of, or may be of any if one of the two does not say its process. Names that have two ranks are
of two traces. The reader of the trace compares what is in both: nothing of another process is
joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tb_privateuse1.discovery.compressed_files import SUFFIX_PATTERN, unpacked_name
from tb_privateuse1.discovery.file import File
from tb_privateuse1.discovery.formats import completed_name, is_own_name, may_add
from tb_privateuse1.discovery.trace_head import Head, Heads

_MOST = 4
"""Files that are tried for one trace, the most similar names first."""
OURS = re.compile(rf"^(.+)\.kernel_event\.json{SUFFIX_PATTERN}", re.IGNORECASE)
RECIPE = re.compile(rf"^kernel_event(?:_([0-9]{{1,9}}))?\.json{SUFFIX_PATTERN}", re.IGNORECASE)
SIDECAR = re.compile(rf"{OURS.pattern}|{RECIPE.pattern}", re.IGNORECASE)
"""Match names of sidecars: those of our capture, those of the recipe, and both."""
_RANK = re.compile(r"(?:rank|et|trace|chakra|host)[-_.]?([0-9]{1,6})(?![0-9])", re.IGNORECASE)

_TORCH_LOG = re.compile(r"torch_trace_(?:rank_([0-9]{1,6})_)?[a-z0-9_]{8}\.log", re.IGNORECASE)
"""Matches a log of compilation: behind the rank, torch lets ``tempfile`` choose 8 letters."""


def files_beside(
    trace: File, head: Head, rank: int | None, candidates: Sequence[tuple[File, Head]]
) -> tuple[File, ...]:
    """Return the files that may add to a trace; ``candidates`` are those of its directory."""
    if head.is_partial:
        return ()
    fitting = [
        file
        for file, own in candidates
        if (not own.processes or not head.processes or own.processes & head.processes)
        and _may_have(file.name, rank)
    ]
    fitting.sort(key=lambda file: (-_common(file.name, trace.name), file.name))
    return tuple(fitting[:_MOST])


def additions(files: Iterable[File], heads: Heads) -> list[tuple[File, Head]]:
    """Return those of a directory's files that add to traces, by their first bytes."""
    candidates = [
        file
        for file in files
        if not is_own_name(file.name, heads.formats) and may_add(file.name, heads.formats)
    ]
    heads_of = [(file, heads.trace(file)) for file in _distinct(candidates)]
    return [(file, head) for file, head in heads_of if head.adds]


def without_joining(recordings: Sequence[File], heads: Heads) -> list[File]:
    """Return the recordings of a directory without those that may add to another one of them."""
    joining = [file for file in recordings if heads.trace(file).adds]
    has_other = any(not heads.trace(file).is_partial for file in recordings)
    return [file for file in recordings if not has_other or file not in joining]


def named_after(stems: Mapping[File, str], files: Iterable[File], heads: Heads) -> dict[File, File]:
    """Return the file that is named after each trace, where there is one.

    ``stems`` are the traces' names without suffix.
    """
    named: dict[str, File] = {}
    for file in files:
        if name := completed_name(file.name, heads.formats):
            named.setdefault(name, file)
    found = {file: of_stem(name, named) for file, name in stems.items()}
    return {
        file: other
        for file, other in found.items()
        if other is not None and completed_name(file.name, heads.formats) is None
    }


def of_stem(name: str, others: Mapping[str, File]) -> File | None:
    """Return the one of ``others`` that is of a trace by its name without suffix."""
    names = (name.removesuffix(".pt.trace"), name.removesuffix(".trace"), name)
    return next((others[each] for each in names if each in others), None)


def _distinct(files: Iterable[File]) -> list[File]:
    """Return files, of a plain and a packed one the plain one."""
    plain: dict[str, File] = {}
    for file in sorted(files, key=lambda file: file.name):
        plain.setdefault(unpacked_name(file.name), file)
    return [*plain.values()]


def _may_have(name: str, rank: int | None) -> bool:
    match = _TORCH_LOG.search(name) or _RANK.search(name)
    return match is None or match[1] is None or rank is None or int(match[1]) == rank


def _common(one: str, other: str) -> int:
    """Return how many first letters two names share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
