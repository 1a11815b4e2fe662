"""Assign ranks to the traces of a directory, and group each rank's traces into spans.

torch names a worker by its process (``<host>_<pid>``), so a restarted job has several workers for
one rank. Users name files by rank and step, or all ranks alike. The rules:

* The rank of a trace is from its metadata (``distributedInfo.rank``, the sidecar's ``rank``), else
  from its name (``named_ranks``), else the next free one in the order of names. A name has the rank
  itself (``rank-3``, ``rank3_step100``, ``prof_3``, ``worker3``), or the place on each axis of
  parallelism (SGLang: ``1779464282.6-TP-1-DECODE``, and ``[TP01-EP00] 1000`` in a merged file).
* Traces of the same rank are its spans if they come from one worker, if their names have that
  rank, too (``rank0_step100``, ``rank0_step200``), or if their time stamps show one process after
  the other (a restart: at least 10 s apart). Joined workers are reported.
* Traces without a rank are the spans of one rank if one process recorded them (``fit-training``,
  ``fit-validation``): its number is in the events, and it cannot record twice at a time. Where no
  name has a time, they are unless a job of several processes is named.
* Otherwise two processes claim a rank at the same time. The one with that rank in its name
  keeps it, else the first. Another gets the rank in its name if that is free, else the next one
  beyond all known ranks and the ``world_size`` of the metadata. A gap below may be a rank whose
  trace is missing. The collision is reported. No trace is lost.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property

from msgspec import Struct

from tb_privateuse1.discovery.file import File, natural_key, printable
from tb_privateuse1.discovery.formats import Format, stem
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.findings import Finding

_STEM = re.compile(r"^(.+?)(?:\.([0-9]+))?(?:\.pt)?(?:\.trace)?$", re.IGNORECASE)
_RANK = re.compile(r"(?:^|[^a-z])rank[-_ ]?([0-9]{1,9})(?![0-9])", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:prof|worker)[-_]?([0-9]{1,9})", re.IGNORECASE)
_AXES = ("pp", "dp", "cp", "ep", "tp")
"""The slowest first, as engines number the ranks of a job."""
_PLACE = re.compile(
    rf"(?<![a-z0-9])({'|'.join(_AXES)})[-_]?([0-9]{{1,6}})(?![0-9a-z])", re.IGNORECASE
)
_NS = {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}
"""Nanoseconds per unit of a Unix time, by its digits: torch has written ms and ns."""
_RESTART_NS = 10 * 10**9
"""A restarted process needs longer than this to record; ranks of one job end closer together."""


class WorkerRecording(Struct, frozen=True, dict=True):
    """A trace file; ``rank`` and ``world_size`` are its metadata's, ``formats`` all possible.

    ``named`` are the worker and the time stamp in the name of its folder, where these are there.
    """

    file: File
    rank: int | None
    world_size: int | None
    formats: Sequence[Format]
    named: tuple[str, str | None] | None = None
    process: int | None = None
    """The number of the process that ran the operators, if it was one."""
    label: str = ""
    """That of its rank in a merged file (``TraceFiles.label``)."""

    @property
    def worker(self) -> str:
        """Return the name of the process that recorded it."""
        return f"{self._names[0]} {self.label}".rstrip()

    @property
    def stamp(self) -> str | None:
        """Return the time stamp in its name."""
        return self._names[1]

    @cached_property
    def _names(self) -> tuple[str, str | None]:
        return self.named or split_name(self.file.name, self.formats)

    @property
    def when(self) -> tuple[bool, int, list[str | int]]:
        """Return its sort key in order of time; recordings without a time stamp come first."""
        stamp = self.stamp
        number = (stamp_ns(stamp) or int(stamp)) if stamp else 0
        return stamp is not None, number, natural_key(self.file.name)


class Member(Struct, frozen=True):
    """A rank of a run: its recordings, each with a label, in order of time."""

    worker: str
    rank: int
    rank_source: str
    spans: tuple[tuple[str, WorkerRecording], ...]


class _Process(Struct, frozen=True):
    worker: str
    claim: int | None
    named: int | None
    """The rank in its name."""
    recordings: tuple[WorkerRecording, ...]

    @property
    def number(self) -> int | None:
        """Return the system's number of the process, if all recordings agree on it."""
        numbers = {one.process for one in self.recordings}
        return numbers.pop() if len(numbers) == 1 else None

    @property
    def wish(self) -> int | None:
        return self.named if self.claim is None else self.claim


def named_ranks(names: Iterable[str]) -> dict[str, int]:
    """Return the ranks of those names of a directory that say one.

    A tensor-parallel place is the rank where no two processes share it; else the ranks count the
    places in order.
    """
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


def split_name(name: str, formats: Sequence[Format]) -> tuple[str, str | None]:
    """Return the worker and the time stamp in a trace's file name."""
    match = _STEM.match(stem(name, formats) or "")
    return (match[1], match[2]) if match else (name, None)


def assign_ranks(recordings: Iterable[WorkerRecording]) -> tuple[list[Member], list[Finding]]:
    """Return the ranks of one directory's traces, lowest first, and findings about them."""
    recordings = list(recordings)
    processes = _processes(recordings)
    world_size = max((r.world_size or 0 for r in recordings), default=0)
    findings: list[Finding] = []
    series: dict[int, list[_Process]] = {}
    late: list[_Process] = []
    for process in sorted(processes, key=_precedence):
        if process.wish is None:
            late.append(process)
        elif process.wish not in series:
            series[process.wish] = [process]
        elif _continues(series[process.wish], process):
            series[process.wish].append(process)
        else:
            late.append(process)
    sources = {rank: "name" if s[0].claim is None else "metadata" for rank, s in series.items()}
    free = (rank for rank in itertools.count() if rank not in series)
    for process in sorted(late, key=lambda p: (p.wish is None, natural_key(p.worker))):
        named = process.named if process.named not in series else None
        if process.wish is None and (own := _series_of(process, series)):
            own.append(process)
            continue
        if named is not None:
            rank = named
        elif process.wish is None:
            rank = next(free)
        else:  # not into a gap, which may be a rank whose trace is missing
            rank = max(max(series) + 1, world_size)
        if process.wish is not None:
            findings.append(_collision(process, series[process.wish][0], rank))
        series[rank] = [process]
        sources[rank] = "order" if named is None else "name"
    joined = [finding for rank, own in series.items() for finding in _joined(rank, own)]
    members = [_member(rank, sources[rank], series[rank]) for rank in sorted(series)]
    return members, [*joined, *findings]


def join_ranks(
    recordings: Sequence[WorkerRecording], joining: Sequence[WorkerRecording]
) -> tuple[list[Member], list[Finding], dict[int, list[File]]]:
    """Return ``assign_ranks``, and the files that join the last recording of a rank, by rank.

    ``joining`` are those of the recordings that add to others of their rank, by its number in
    their names. The first of a rank without others is a recording.
    """
    joined: dict[int, list[File]] = defaultdict(list)
    if not joining:
        return *assign_ranks(recordings), joined
    whole = [recording for recording in recordings if recording not in joining]
    known = {member.rank for member in assign_ranks(whole)[0]}
    for recording in sorted(joining, key=lambda one: natural_key(one.file.name)):
        rank = rank_in(recording.file.name)
        if rank is not None and rank in known:
            joined[rank].append(recording.file)
            continue
        whole.append(recording)
        known |= set() if rank is None else {rank}
    return *assign_ranks(whole), joined


def _precedence(process: _Process) -> tuple[bool, bool, tuple[bool, int, list[str | int]]]:
    """Return the sort key by which processes get the rank they claim."""
    return process.claim is None, process.named != process.wish, process.recordings[0].when


def _processes(recordings: Iterable[WorkerRecording]) -> list[_Process]:
    by_worker: dict[str, list[WorkerRecording]] = defaultdict(list)
    for recording in sorted(recordings, key=lambda r: r.when):
        by_worker[recording.worker].append(recording)
    processes = []
    named = named_ranks(by_worker)
    for worker, spans in by_worker.items():
        claims = {r.rank for r in spans if r.rank is not None}
        if len(claims) <= 1:  # a span that lost its metadata is still its worker's
            claim = next(iter(claims), None)
            processes.append(_Process(worker, claim, named.get(worker), tuple(spans)))
            continue
        by_claim: dict[int | None, list[WorkerRecording]] = defaultdict(list)
        for recording in spans:
            by_claim[recording.rank].append(recording)
        processes += [
            _Process(worker, claim, named.get(worker), tuple(rs)) for claim, rs in by_claim.items()
        ]
    return processes


def _continues(earlier: Sequence[_Process], process: _Process) -> bool:
    if all(p.named is not None and p.named == process.named for p in earlier):
        return True
    if process.claim is None or any(p.claim is None for p in earlier):
        return False
    return _follows(earlier, process)


def _series_of(process: _Process, series: Mapping[int, list[_Process]]) -> list[_Process] | None:
    """Return the series of the process that recorded these too; None if there is none."""
    if process.number is None:
        return None
    own = [s for s in series.values() if all(p.number == process.number for p in s)]
    if found := next((s for s in own if _follows(s, process) or _precedes(process, s)), None):
        return found
    return next((s for s in own if all(map(_is_alone, (*s, process)))), None)


def _is_alone(process: _Process) -> bool:
    """Return whether no time and no job of several processes is recorded of any recording.

    ``trace_5`` and ``trace_10`` of one process are such. Ranks in containers may have one number as
    well, but torch writes their job's size (2.2 and later), and their names have hosts and times.
    """
    return all(one.stamp is None and one.world_size is None for one in process.recordings)


def _follows(earlier: Sequence[_Process], process: _Process) -> bool:
    """Return whether a process recorded after all of these had ended."""
    ends = [_unix_ns(p.recordings[-1]) for p in earlier]
    start = _unix_ns(process.recordings[0])
    return start is not None and all(e is not None and start - e >= _RESTART_NS for e in ends)


def _precedes(process: _Process, later: Sequence[_Process]) -> bool:
    return all(_follows([process], one) for one in later)


def _unix_ns(recording: WorkerRecording) -> int | None:
    stamp = recording.stamp
    return stamp_ns(stamp) if stamp else None


def stamp_ns(stamp: str) -> int | None:
    """Return the time that a stamp of digits names, in ns; None if it names none.

    It is a Unix time, or a calendar time: 14 digits down to seconds, 17 down to milliseconds. The
    time zone of a calendar time is not known; stamps of one host compare all the same.
    """
    if len(stamp) in _NS:
        return int(stamp) * _NS[len(stamp)]
    if len(stamp) not in (14, 17):
        return None
    try:
        seconds = datetime.strptime(stamp[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return int(seconds) * 10**9 + int(stamp[14:] or 0) * 10**6


def _joined(rank: int, processes: Sequence[_Process]) -> list[Finding]:
    if len(processes) == 1:
        return []
    message = say(
        "Rank {rank} was recorded under {count} names: {names}.",
        rank=rank,
        count=len(processes),
        names=", ".join(printable(p.worker) for p in processes[:5]),
    )
    hint = say("They are shown as its spans, in order of time.")
    return [Finding("joined_workers", message, hint, len(processes))]


def _collision(process: _Process, holder: _Process, rank: int) -> Finding:
    mine, other = printable(process.worker), printable(holder.worker)
    if mine == other:
        message = say(
            "Two traces of {mine} both say that they are rank {wish}: {mine} is shown as "
            "rank {rank}.",
            mine=mine,
            wish=process.wish,
            rank=rank,
        )
    else:
        message = say(
            "{mine} and {other} both say that they are rank {wish}: {mine} is shown as rank "
            "{rank}.",
            mine=mine,
            other=other,
            wish=process.wish,
            rank=rank,
        )
    return Finding("rank_collision", message, say("Record each job into a directory of its own."))


def _member(rank: int, source: str, processes: Sequence[_Process]) -> Member:
    recordings = sorted((r for p in processes for r in p.recordings), key=lambda r: r.when)
    labels = [r.stamp or "default" for r in recordings]
    counts = Counter(labels)
    spans = tuple(
        (label if counts[label] == 1 else _stem(r), r)
        for label, r in zip(labels, recordings, strict=True)
    )
    return Member(printable(recordings[-1].worker), rank, source, spans)


def _stem(recording: WorkerRecording) -> str:
    return printable(recording.worker + (f".{recording.stamp}" if recording.stamp else ""))
