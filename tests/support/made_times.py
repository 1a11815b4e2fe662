"""Set the times of a CPU recording by a made clock, so that no load of the machine decides a test.

A machine that is busy holds up any operator for longer than a step takes: then a share of the
recorded time says nothing of the program.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

_PRODUCTS_PER_NS = 50
"""About those of one core: a product of 256 x 256 matrices takes 336 µs. A number takes 1 ns."""
_CALL_NS = 1000
"""Taken before and behind an operator; other ranges, such as frames, take 1 ns."""


def set_times(path: Path) -> None:
    """Let each operator of a recording take the time of its numbers, in the recorded order."""
    content = json.loads(path.read_text())
    events = [event for event in content["traceEvents"] if "ts" in event]
    ranges = [event for event in events if event.get("ph") == "X"]
    passed_ns: dict[int, int] = {}
    last: dict[Any, int] = {}
    """Where the latest operator of each thread begins, from the back."""
    for event in sorted(ranges, key=_begin_ns, reverse=True):
        begin_ns, end_ns = _begin_ns(event), _end_ns(event)
        is_operator = event.get("cat") == "cpu_op"
        for at_ns in (begin_ns, end_ns):
            passed_ns[at_ns] = passed_ns.get(at_ns, 0) + (_CALL_NS if is_operator else 1)
        if is_operator:
            if last.get(event["tid"], end_ns) >= end_ns:  # it calls no other
                passed_ns[end_ns] += _work_ns(event)
            last[event["tid"]] = begin_ns
    old = np.array(sorted(passed_ns))
    new = old[0] + np.cumsum([passed_ns[at] for at in old])
    for event in events:
        begin, end = np.interp([_begin_ns(event), _end_ns(event)], old, new)
        event["ts"] = begin / 1000
        if "dur" in event:
            event["dur"] = (end - begin) / 1000
    path.write_text(json.dumps(content))


def _begin_ns(event: dict[str, Any]) -> int:
    return round(event["ts"] * 1000)


def _end_ns(event: dict[str, Any]) -> int:
    return _begin_ns(event) + round(event.get("dur", 0) * 1000)


def _work_ns(event: dict[str, Any]) -> int:
    shapes = [
        shape
        for shape in event.get("args", {}).get("Input Dims", [])
        if shape and not isinstance(shape[0], list)  # not of a list of tensors
    ]
    numbers = max(map(math.prod, shapes), default=0)
    if event["name"] in ("aten::mm", "aten::addmm", "aten::bmm"):
        numbers = numbers * shapes[-1][-1] // _PRODUCTS_PER_NS
    return numbers
