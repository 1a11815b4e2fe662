"""Mutate rocprofv3's JSON: nothing may crash or hang, and sums are those of plain loops.

    python -m tests.support.rocprof_json_mutation --count 20000 --seed 1

Half of the mutations change bytes, half values of the document. A file that is read without a
finding must have the sums that Python's own JSON reader gives.
"""

from __future__ import annotations

import json
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
from tb_privateuse1.trace.errors import TraceError
from tests.support.database_mutation import SLOWEST_S, mutated
from tests.support.flight_recorder_mutation import with_odd_values
from tests.support.rocprof import Program

_LIMIT = 1 << 62
_DEVICE = {"kernel_dispatch": "kernel", "memory_copy": "gpu_memcpy"}


def outcome(path: Path, data: bytes) -> str:
    """What becomes of a file.

    ``same``: sums are those of plain loops. ``partial``: findings say what is wrong.
    ``unchecked``: Python alone cannot read it. Else the error's code; ``another`` format if the
    first bytes are damaged.
    """
    path.write_bytes(data)
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        trace = inference.build_trace(raw, None)
    except TraceError as error:
        return error.code
    finally:
        assert time.process_time() - started < SLOWEST_S
    if raw.reader != "rocprof_json":
        return "another"
    assert (trace.kernels.end_ns >= trace.kernels.start_ns).all()
    if raw.findings:
        return "partial"
    mine = {name: group for name, group in raw.groups.items() if name in _DEVICE.values()}
    sums = {n: (len(g), int((g.end_ns - g.start_ns).sum())) for n, g in mine.items()}
    try:
        content = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # the reader skips fields that it does not need
        return "unchecked"
    assert sums == plain_sums(content), data
    return "same"


def plain_sums(content: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the number of events of devices and the sum of their times, by plain loops."""
    found: dict[str, tuple[int, int]] = {}
    for process in content["rocprofiler-sdk-tool"]:
        for table, name in _DEVICE.items():
            for row in process.get("buffer_records", {}).get(table, []):
                start, end = row.get("start_timestamp", -1), row.get("end_timestamp", -1)
                assert 0 < start < _LIMIT
                assert start <= end < _LIMIT
                count, total = found.get(name, (0, 0))
                found[name] = count + 1, total + end - start
    return found


def mutations(rng: random.Random, count: int, folder: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    content: dict[str, Any] = Program(steps=3).document()
    whole = json.dumps(content, indent=0).encode()
    kinds: Counter[str] = Counter()
    for i in range(count):
        is_odd = i % 2 == 0
        data = json.dumps(with_odd_values(content, rng)).encode() if is_odd else mutated(whole, rng)
        kinds[outcome(folder / "a_results.json", data)] += 1
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
