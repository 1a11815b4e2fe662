"""Join a log of compilation with the trace of its process: never with another one's."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.readers.compile_log import tables
from tb_privateuse1.readers.compile_log.tables import Contents
from tb_privateuse1.readers.raw import CompileLog, Raw
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.recorded_metadata import GRAPH_CALL, LEAST_UNIX_NS, REGION

_HOST = frozenset({"cpu_op", "operator", "user_annotation", "python_function"})


def add(raw: Raw, path: str) -> Raw:
    """Return a trace's columns with the tables of a log, or with why they are not joined.

    Raises TraceError ``unreadable`` or ``too_large``.
    """
    found = tables.contents(path)
    doubt = _doubt(raw, found)
    if doubt is not None:
        return replace(raw, findings=(*raw.findings, _refused(fill(doubt, name=basename(path)))))
    strings = Strings(raw.strings)
    log = CompileLog(
        basename(path),
        tables.compilations(found, strings),
        tables.notes(found, strings),
        tuple(found.sources),
    )
    return replace(
        raw,
        strings=tuple(strings.all),
        compile_logs=(*raw.compile_logs, log),
        findings=(*raw.findings, *_problems(path, found)),
    )


def _refused(message: Text) -> Finding:
    """Return the finding of logs that are not joined."""
    hint = say(
        "Nothing of it is used. Give each program a folder of its own, for TORCH_TRACE and trace."
    )
    return Finding("compile_log_other", message, hint, severity="info")


def _doubt(raw: Raw, found: Contents) -> Text | None:
    """Return why a log may be of another process; None if it is of the trace's."""
    processes = _processes(raw)
    rank = _rank(raw)
    if processes and not processes & found.processes:
        return say("The compile log {name} is of another process.")
    if found.ranks and rank is not None and rank not in found.ranks:
        return say("The compile log {name} is of another rank.")
    if not processes and (rank is None or rank not in found.ranks):
        return say("The compile log {name}: the recording does not say which process it is of.")
    starts = [one.metrics.start_time for one in found.compiled.values() if one.metrics]
    first = min((one for one in starts if one is not None), default=None)
    end = raw.base_ns + max((int(g.end_ns.max()) for g in raw.groups.values() if len(g)), default=0)
    if first is not None and raw.base_ns > LEAST_UNIX_NS and first * 1e9 > end:
        return say("The compile log {name} begins behind the end of this recording.")
    regions, graphs = _named(raw, REGION), _named(raw, GRAPH_CALL)
    compiled = {compile_id for compile_id, _ in found.compiled}
    keys = {note.detail for note in found.notes if note.reason == "graph" and note.detail}
    if regions - compiled or (graphs and keys and not graphs & keys):
        return say("The compile log {name} lacks compiled regions of this recording.")
    return None


def _processes(raw: Raw) -> set[int]:
    """Return the processes of the trace's operators, as far as they are numbers."""
    rows: Iterable[int] = np.unique(
        np.concatenate(
            [np.empty(0, np.int32)]
            + [group.thread for name, group in raw.groups.items() if name.lower() in _HOST]
        )
    ).tolist()
    texts = {raw.strings[raw.threads.pid[row]] for row in rows if raw.threads.pid[row] >= 0}
    return {int(text) for text in texts if text.isascii() and text.isdigit() and len(text) < 19}


def _rank(raw: Raw) -> int | None:
    info = raw.metadata.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if type(rank) is int else None


def _named(raw: Raw, pattern: re.Pattern[str]) -> set[str]:
    """Return what a pattern finds in the names of the trace's operators and annotations."""
    columns = [group.name for name, group in raw.groups.items() if name.lower() in _HOST]
    used = np.unique(np.concatenate([np.empty(0, np.int32), *columns])).tolist()
    matches = (pattern.search(raw.strings[i]) for i in used)
    return {match[1] for match in matches if match}


def _problems(path: str, found: Contents) -> list[Finding]:
    """Return what is wrong with a log that is joined."""
    problems = []
    if found.truncated:
        message = say("The compile log {name} is read in part.", name=basename(path))
        hint = say("It ends early, as while the program runs, or it is larger than any of torch.")
        problems.append(Finding("compile_log_cut", message, hint, severity="info"))
    if found.damages:
        message = say(
            "{count} records of the compile log {name} are damaged.",
            count=found.damages,
            name=basename(path),
        )
        problems.append(Finding("part_unreadable", message, count=found.damages))
    return problems
