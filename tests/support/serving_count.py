"""Count the iterations of a trace file by its raw JSON, with none of the package's code.

Plain Python: annotations are split as texts, lookups are read from ``Input Dims``; times are whole
nanoseconds. ``kinds`` and ``times_ns`` are what the view must find.
"""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple


class Counted(NamedTuple):
    """An iteration: phase, requests, tokens, start on the file's clock, and time to the next."""

    kind: str
    requests: int
    tokens: int
    start_ns: int
    time_ns: int | None


def events_of(path: Path) -> list[dict[str, Any]]:
    """The complete events of a trace file, in order of time."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = [event for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]
    return sorted(found, key=lambda event: event["ts"])


def nanoseconds(us: float | str) -> int:
    """Microseconds of a file as whole nanoseconds."""
    return round(float(us) * 1000)


def by_annotation(path: Path) -> list[Counted]:
    """The iterations that ``execute_…_context_…_generation_…`` names."""
    found = []
    for event in events_of(path):
        name = event["name"]
        if event.get("cat") != "user_annotation" or not name.startswith("execute_"):
            continue
        context, generation = name.split("context_")[1].split("_generation_")
        prefills, first = context.rstrip(")").split("(")
        decodes, second = generation.rstrip(")").split("(")
        kind = "mixed" if prefills != "0" and decodes != "0" else ""
        kind = kind or ("prefill" if prefills != "0" else "decode")
        tokens = _tokens(first) + _tokens(second)
        found.append((kind, int(prefills) + int(decodes), tokens, nanoseconds(event["ts"])))
    return _with_times(found)


def _tokens(text: str) -> int:
    return int(text.removeprefix("sq").split("sk")[0].split("_")[0])


def by_lookup(path: Path, words: int) -> list[Counted]:
    """The iterations that begin with a lookup of (sequences, tokens) ids among ``words`` rows."""
    found = []
    for event in events_of(path):
        if event.get("cat") != "cpu_op" or event["name"] != "aten::embedding":
            continue
        (rows, _), (sequences, tokens) = event["args"]["Input Dims"][:2]
        if rows == words:
            kind = "decode" if tokens == 1 else "prefill"
            found.append((kind, sequences, sequences * tokens, nanoseconds(event["ts"])))
    return _with_times(found)


def _with_times(found: list[tuple[str, int, int, int]]) -> list[Counted]:
    starts = [start for *_, start in found]
    times = [after - before for before, after in itertools.pairwise(starts)]
    return [Counted(*one, time) for one, time in zip(found, [*times, None], strict=True)]
