"""Mutants of flight recorder dumps: entries are those of ``pickle`` and ``json``.

Each dump is also compared with that of another rank.
"""

from __future__ import annotations

import functools
import json
import pickle
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1.analysis.ranks import open_collectives, open_texts, recorder_entries
from tb_privateuse1.readers.raw import Raw
from tests.support.flight_recorders import Rank
from tests.support.mutants.changes import other_bytes, other_values
from tests.support.mutants.harness import Format, Mutate, Reading, read_file

_LIMIT = 1 << 62
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 40, (1 << 64) - 1, -(1 << 63), 0.5, "", "started", "\ud800",
    "send 0->9", [], [None], [[[1]]], {}, ["a", "b"],
)  # fmt: skip


def recorded() -> tuple[Rank, Rank]:
    """Return the recorders of two ranks: the second did not join the last collective."""
    ranks = []
    for number in (0, 1):
        rank = Rank(number, {"0": (0, 1), "tp": (0, 1)})
        for _ in range(3):
            rank.call().call("broadcast", shape=(4, 64)).call("all_gather", group="tp")
        rank.call("send 0->1" if number == 0 else "recv 1<-0", state="started")
        ranks.append(rank)
    ranks[0].call(state="started").call("barrier", state="scheduled")
    return ranks[0], ranks[1]


def make(folder: Path) -> Sequence[Mutate]:
    """Return changes of values and of bytes of a pickle, and of bytes of JSON."""
    first, _ = recorded()
    content, path = first.content(), folder / "nccl_trace_rank_0"
    text = first.dump(folder, "whole_{}.json").read_bytes()

    def with_other_values(rng: random.Random) -> tuple[Path, bytes]:
        return path, pickle.dumps(other_values(content, rng, ODD), rng.randint(2, 5))

    def with_other_bytes(rng: random.Random) -> tuple[Path, bytes]:
        return path, other_bytes(pickle.dumps(content, rng.randint(2, 5)), rng)

    def of_json(rng: random.Random) -> tuple[Path, bytes]:
        return folder / "a.json", other_bytes(text, rng)

    return with_other_values, with_other_bytes, of_json


@functools.cache
def _other_rank() -> recorder_entries.RankEntries | None:
    _, second = recorded()
    with tempfile.TemporaryDirectory() as folder:
        return recorder_entries.reduce_entries(read_file(second.dump(Path(folder))).trace)


def read(path: Path) -> Reading:
    """Read a dump, and compare it with that of another rank."""
    found = read_file(path)
    own = recorder_entries.reduce_entries(found.trace)
    both = recorder_entries.join_entries([own, _other_rank()])
    for one in open_collectives.open_collectives(both, (0, 1)):
        assert open_texts.title(one)
        assert open_texts.explanation(one)
    return found


def read_sums(found: Reading) -> tuple[int, int]:
    """Return the number of entries and the sum of their times."""
    table = found.raw.entries
    created = table.created_ns[table.created_ns > 0]
    return len(table), int(created.astype(object).sum()) if len(created) else 0


def plain_sums(path: Path, raw: Raw) -> tuple[int, int]:
    """Return the same by plain loops over what ``pickle`` or ``json`` reads."""
    data = path.read_bytes()
    content = pickle.loads(data) if data[:1] == b"\x80" else json.loads(data)
    entries = content.get("entries") if isinstance(content.get("entries"), list) else []
    count = total = 0
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("profiling_name"), str):
            at = entry.get("time_created_ns")
            count += 1
            total += at if type(at) is int and 0 < at < _LIMIT else 0
    return count, total


FORMAT = Format(
    make,
    read_sums,
    plain_sums,
    read,
    reader="flight_recorder",
    losses=frozenset(),
    least={"same": 0.17, "refused: not_plain": 0.03},
    count=300,
)
