"""Recordings in which a rule is right, for rules that no table of docs/internals/advice.md shows.

The tables are those of real recordings that were judged, and of programs with planted faults.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Evidence(Struct, frozen=True):
    """A recording in which a rule is right."""

    kind: Literal["shared", "sample", "test"]
    """``shared``: below the folder of shared recordings; ``sample``: below the repository;
    ``test``: a program that a test records, with the fault and without it."""
    path: str
    why: str
    """What the recording shows."""


_NPU = "traces/npu/trace_view/trace_view.json"
_MEMORY = "tests/device/test_live_memory.py"

FURTHER: dict[str, Evidence] = {
    "task_queue": Evidence("shared", _NPU, "operators wait 2.4 ms in the queue at the median"),
    "device_cpu": Evidence("shared", _NPU, "an expert's: casts on the control processor"),
    "format_conversion": Evidence("shared", _NPU, "an expert's: TransData"),
    "waiting_ranks": Evidence(
        "shared", "more/cuda/dlrm_graphs_rank0/rank0.1.pt.trace.json.gz",
        "42 collectives of the same bytes with uneven times",
    ),
    "fragmentation": Evidence(
        "shared", "more/cuda/v100_ddp_small_collectives/rank1.1.pt.trace.json.gz",
        "11.9 GiB reserved where 6.2 GiB are allocated",
    ),
    "gloo_beside_device": Evidence(
        "sample",
        "examples/runs/two-ranks/worker-rank0.1795239759135067132.pt.trace.json.gz",
        "gloo averages the gradients of the reference device",
    ),
    "graph_break": Evidence(
        "test", "tests/unit/advice/rules/test_graph_break.py", "compiled code with print and item"
    ),
    "late_release": Evidence("test", _MEMORY, "gradients and results that outlive their use"),
    "memory_growth": Evidence("test", _MEMORY, "a list of results that grows"),
    "torch_threads": Evidence(
        "test", "tests/device/test_live_torch_threads.py", "one thread more than processors"
    ),
    "new_pages": Evidence(
        "test", "tests/device/test_live_new_pages.py", "sums of 48 MiB, whose memory goes back"
    ),
    "own_operators": Evidence(
        "sample",
        "tests/traces/roofs/operator_by_columns/before.1.pt.trace.json.gz",
        "an operator of NumPy, column by column",
    ),
    "memory_capacity": Evidence("test", _MEMORY, "96 MiB of 100 MiB"),
}  # fmt: skip
