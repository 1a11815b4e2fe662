"""What ``read_speed.py`` measures, each in a process of its own.

``python read_subjects.py NAME FILE``
Prints a line of JSON: CPU seconds of the work, of the whole process, its peak memory in bytes, and
what it found. The peers' imports are theirs; they run in the environment made for them.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def bare(path: str) -> dict[str, Any]:
    """Nothing but msgspec into typed structs, with the fields that we read."""
    msgspec = importlib.import_module("msgspec")
    fast: Any = importlib.import_module("tb_privateuse1.readers.chrome.event_schema").FAST
    top = msgspec.defstruct("Top", [("traceEvents", list[fast])], gc=False)
    decoder = msgspec.json.Decoder(top)
    return {"events": len(decoder.decode(Path(path).read_bytes()).traceEvents)}


def read(path: str) -> dict[str, Any]:
    """Our reader alone: file to columns."""
    chrome = importlib.import_module("tb_privateuse1.readers.chrome")
    raw = chrome.read(path)
    return {"events": sum(map(len, raw.groups.values())) + len(raw.flows) + len(raw.memory)}


def ours(path: str) -> dict[str, Any]:
    """File to the trace model that the views ask."""
    chrome = importlib.import_module("tb_privateuse1.readers.chrome")
    infer = importlib.import_module("tb_privateuse1.inference")
    trace = infer.build_trace(chrome.read(path), None, use_up=True)
    return {"events": sum(len(getattr(trace, t)) for t in ("ops", "frames", "launches", "kernels"))}


def hta(path: str) -> dict[str, Any]:
    """HolisticTraceAnalysis: its parser to the frame that its analyses ask."""
    module = importlib.import_module("hta.common.trace_parser")
    config = importlib.import_module("hta.configs.parser_config").ParserConfig.get_default_cfg()
    return {"events": len(module.parse_trace_dataframe(path, config)[1])}


def torch_tb_profiler(path: str) -> dict[str, Any]:
    """torch-tb-profiler: what its RunLoader does first, to the data that its views are made of."""
    data = importlib.import_module("torch_tb_profiler.profiler.data")
    with tempfile.TemporaryDirectory() as cache:
        profile = data.RunProfileData.parse("worker", "span", path, cache)
    return {"events": len(profile.events)}


SUBJECTS: dict[str, Callable[[str], dict[str, Any]]] = {
    f.__name__: f for f in (bare, read, ours, hta, torch_tb_profiler)
}


def prepare(name: str) -> None:
    """Import what the subject needs, so that its time is the work's alone."""
    modules = {
        "bare": ("msgspec", "tb_privateuse1.readers.chrome.event_schema"),
        "hta": ("hta.common.trace_parser",),
        "torch_tb_profiler": ("torch_tb_profiler.profiler.data",),
    }
    for module in modules.get(name, ("tb_privateuse1.readers.chrome", "tb_privateuse1.inference")):
        importlib.import_module(module)


def peak() -> int:
    """The largest resident size of this program in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells begins with the size of the parent process
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """The command line."""
    name, path = sys.argv[1:]
    prepare(name)
    before = time.process_time()
    found = SUBJECTS[name](path)
    cpu = time.process_time() - before
    usage = resource.getrusage(resource.RUSAGE_SELF)
    whole = usage.ru_utime + usage.ru_stime
    print(json.dumps({"cpu_s": cpu, "whole_cpu_s": whole, "peak_bytes": peak()} | found))


if __name__ == "__main__" and len(sys.argv) > 1:  # without arguments there is nothing to do
    main()
