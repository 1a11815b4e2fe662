"""Flight recorder dumps in torch's layout (FlightRecorder.hpp, version 2.10): ``Rank().dump()``.

A test says what each rank enqueued and how far each call came; nothing else differs from torch's
dumps. Some of those are in ``tests/unit/readers/flight_recorder/recorded``.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_NS = 1_700_000_000_000_000_000
STACK = [
    {"name": "all_reduce", "filename": "/lib/torch/distributed/distributed_c10d.py", "line": 3245},
    {"name": "step", "filename": "/job/train.py", "line": 17},
]
Entry = dict[str, Any]


@dataclass
class Rank:
    """The recorder of one rank; ``groups`` are names and their ranks, as the configuration says."""

    rank: int
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"0": (0, 1, 2, 3)})
    backend: str = "nccl"
    first: int = 0
    entries: list[Entry] = field(default_factory=list)
    now_ns: int = START_NS
    counts: dict[tuple[str, bool], int] = field(default_factory=dict)

    def call(
        self,
        kind: str = "all_reduce",
        state: str = "completed",
        group: str = "0",
        shape: tuple[int, ...] = (32,),
        dtype: str = "Float",
        retired: bool | None = None,
        line: int = 17,
    ) -> Rank:
        """Enqueue a call 1 ms after the last one; it starts 10 and ends 20 us later."""
        self.now_ns += 1_000_000
        message = kind.startswith(("send", "recv"))
        number = self.counts[group, message] = self.counts.get((group, message), 0) + 1
        started = self.now_ns + 10_000 if state != "scheduled" else None
        completed = self.now_ns + 20_000 if state == "completed" else None
        sizes = [] if kind == "barrier" else [list(shape)]
        self.entries.append(
            {
                "frames": [STACK[0], STACK[1] | {"line": line}],
                "record_id": self.first + len(self.entries), "pg_id": 0,
                "process_group": (group, "default_pg" if group == "0" else "undefined"),
                "thread_name": "python", "thread_id": "1",
                "collective_seq_id": 0 if message else number,
                "p2p_seq_id": number if message else 0, "op_id": number,
                "profiling_name": f"{self.backend}:{kind}", "time_created_ns": self.now_ns,
                "input_sizes": sizes, "input_dtypes": [dtype] * len(sizes),
                "output_sizes": sizes, "output_dtypes": [dtype] * len(sizes),
                "state": state, "time_discovered_started_ns": started,
                "time_discovered_completed_ns": completed,
                "retired": state == "completed" if retired is None else retired,
                "timeout_ms": 600_000, "is_p2p": message,
            }
        )  # fmt: skip
        return self

    def content(self) -> dict[str, Any]:
        """Return the dictionary that torch writes."""
        return {
            "version": "2.10",
            "pg_config": {
                name: {"name": name, "desc": "undefined", "ranks": str(list(ranks))}
                for name, ranks in self.groups.items()
            },
            "comm_lib_version": "2.21.5",
            "pg_status": {"0": {"last_enqueued_collective": len(self.entries)}},
            "entries": self.entries,
        }

    def dump(self, folder: Path, name: str = "nccl_trace_rank_{}") -> Path:
        """Write the dump as a pickle, or as JSON if the name ends so."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name.format(self.rank)
        content = self.content()
        if path.suffix == ".json":
            plain = [{k: v or 0 if k.startswith("time_disc") else v for k, v in e.items()
                      if k != "frames"} for e in self.entries]  # fmt: skip
            path.write_text(json.dumps(content | {"entries": plain}, sort_keys=True))
        else:
            path.write_bytes(pickle.dumps(content, 2))
        return path
