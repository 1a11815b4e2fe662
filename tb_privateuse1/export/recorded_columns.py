"""Columns of the tables of metadata and of what lies beside a trace: sources, logs, snapshots."""

from __future__ import annotations

from collections.abc import Mapping

RECORDED: Mapping[str, Mapping[str, str]] = {
    "metadata": {
        "row": "its number",
        "key": "what the program or its profiler called it",
        "value": "its text, or JSON",
    },
    "kernel_sources": {
        "row": "its number",
        "name": "kernel, as device activities have it",
        "file": "the generated file that it is in",
        "text": "what its compiler wrote",
    },
    "compilations": {
        "row": "its number",
        "compile_id": "torch's number of it, as in `Torch-Compiled Region: 0/0`",
        "backward": "whether it is that of the backward pass",
        "function": "the compiled function",
        "file": "its file",
        "line": "its first line",
        "start_ns": "start; before the recording it is negative",
        "total_ns": "its time; null if it did not end",
        "backend_ns": "what the backend took of it",
        "inductor_ns": "what Inductor took of that",
        "codegen_ns": "what generating and building kernels took of that",
        "guards": "guards that a call checks",
        "operators": "operators of its graph",
        "failure": "why it gave no code",
    },
    "compile_notes": {
        "row": "its number",
        "kind": "graph_break, recompilation, cache_hit, cache_miss, cache_bypass, graph_skip",
        "compile_id": "the compilation that it is of",
        "reason": "why; of a recompilation the guard that failed; of a cache which one",
        "detail": "hints; guards of other compilations; of a cache the key of the graph",
        "file": "file of the user's code",
        "line": "line in it",
    },
    "memory_blocks": {
        "row": "its number",
        "device_type": "torch's number of the device type: 0 is the CPU",
        "device": "number of the device",
        "segment": "number of the allocator's segment that it is a part of",
        "pool": "kind of the segment: small or large, and whose pool if it is a graph's own",
        "stream": "number of the stream that may use it",
        "address": "address",
        "bytes": "its size, as the allocator rounded it",
        "state": "in_use, pending (released, waits for a stream) or free, in the memory snapshot",
        "stack": "Python frames of the allocation",
    },
}
"""The meaning of each column of each such table."""
