"""Mutate flight recorder dumps: nothing may run, crash or hang, and sums are those of plain loops.

    python -m tests.support.flight_recorder_mutation --count 20000 --seed 1

Of the mutations a third changes bytes of the pickle, a third bytes of the JSON, and a third values
of the dump. What is read must be what Python's own unpickler or JSON reader makes of the bytes.
Each mutated dump is also compared with that of another rank.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.analysis.ranks import open_collectives, open_texts, recorder_entries
from tb_privateuse1.trace.errors import TraceError
from tests.support.database_mutation import mutated
from tests.support.flight_recorders import Rank

SLOWEST_S = 10.0
"""No file of some kilobytes takes as long."""
_LIMIT = 1 << 62
_ODD: tuple[Any, ...] = (
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


def with_odd_values(content: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a dump in which some values, anywhere, are others."""
    changed = copy.deepcopy(content)
    for _ in range(rng.randint(1, 4)):
        place: Any = changed
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = rng.choice(keys)
            inner = place[key]
            if rng.random() < 0.2 or not isinstance(inner, dict | list) or not inner:
                break
            place = inner
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(rng.choice(_ODD))
        if not changed:
            break
    return changed


def outcome(path: Path, data: bytes, other: recorder_entries.RankEntries | None) -> str:
    """What becomes of a file: ``read`` with the sums of plain loops, or the error's code."""
    path.write_bytes(data)
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        trace = inference.build_trace(raw, None)
        both = recorder_entries.join_entries([recorder_entries.reduce_entries(trace), other])
        for one in open_collectives.open_collectives(both, (0, 1)):
            assert open_texts.title(one)
            assert open_texts.explanation(one)
    except TraceError as error:
        return error.code
    finally:
        assert time.process_time() - started < SLOWEST_S
    if raw.reader != "flight_recorder":
        return "another"
    assert (trace.ops.end_ns >= trace.ops.start_ns).all()
    table = raw.entries
    created = table.created_ns[table.created_ns > 0]
    mine = (len(table), int(created.astype(object).sum()) if len(created) else 0)
    assert mine == plain_sums(data)
    return "read"


def plain_sums(data: bytes) -> tuple[int, int]:
    """Return the number of entries and the sum of their times, by plain loops."""
    content = pickle.loads(data) if data[:1] == b"\x80" else json.loads(data)
    entries = content.get("entries") if isinstance(content.get("entries"), list) else []
    count = total = 0
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("profiling_name"), str):
            at = entry.get("time_created_ns")
            count += 1
            total += at if type(at) is int and 0 < at < _LIMIT else 0
    return count, total


def mutations(rng: random.Random, count: int, folder: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    first, second = recorded()
    trace = inference.build_trace(readers.read(str(second.dump(folder))), None)
    other = recorder_entries.reduce_entries(trace)
    text = first.dump(folder, "whole_{}.json").read_bytes()
    content = first.content()
    kinds: Counter[str] = Counter()
    for i in range(count):
        if i % 3 == 0:
            odd = with_odd_values(content, rng)
            path, data = folder / "nccl_trace_rank_0", pickle.dumps(odd, rng.randint(2, 5))
        elif i % 3 == 1:
            whole = pickle.dumps(content, rng.randint(2, 5))
            path, data = folder / "nccl_trace_rank_0", mutated(whole, rng)
        else:
            path, data = folder / "a.json", mutated(text, rng)
        kinds[outcome(path, data, other)] += 1
    return kinds


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        print(mutations(random.Random(arguments.seed), arguments.count, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
