"""Find what differs about two recordings besides their time: machine, versions, and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.recording import workload
from tb_privateuse1.trace.model import Trace

ConditionName = Literal[
    "rank", "world_size", "host", "device", "vendor", "torch", "workload", "batch", "timeline",
    "stacks", "shapes", "memory", "steps",
]  # fmt: skip


class Condition(Struct, frozen=True):
    """One thing that differs; a value that is not recorded is null."""

    name: ConditionName
    base: str | None
    now: str | None


_OPTIONS: tuple[tuple[ConditionName, str], ...] = (
    ("stacks", "with_stack"),
    ("shapes", "record_shapes"),
    ("memory", "profile_memory"),
)


def device_models(trace: Trace) -> str | None:
    """Return the models of the trace's devices; None if they are not recorded."""
    names = {str(one["name"]) for one in trace.meta.devices if one.get("name")}
    return ", ".join(sorted(names)) or None


def conditions(
    base: Trace, now: Trace, *, steps: tuple[int, int], batch: tuple[str, str] | None
) -> tuple[Condition, ...]:
    """Return what differs; ``steps`` are the numbers of compared ones, ``batch`` the sizes."""
    found = list(_recorded(base, now))
    if batch:
        found.append(Condition("batch", *batch))
    if steps[0] != steps[1]:
        found.append(Condition("steps", str(steps[0]), str(steps[1])))
    return tuple(found)


def _recorded(base: Trace, now: Trace) -> Iterator[Condition]:
    old, new = base.meta, now.meta
    pairs: tuple[tuple[ConditionName, object, object], ...] = (
        ("rank", old.rank, new.rank),
        ("world_size", old.world_size, new.world_size),
        ("host", old.hostname, new.hostname),
        ("device", device_models(base), device_models(now)),
        ("torch", old.torch_version, new.torch_version),
    )
    for name, before, after in pairs:
        if before is not None and after is not None and before != after:
            yield Condition(name, str(before), str(after))
    kinds = workload.workload(base).kind, workload.workload(now).kind
    if "unknown" not in kinds and kinds[0] != kinds[1]:
        yield Condition("workload", *kinds)
    if old.timeline != new.timeline:
        yield Condition("timeline", old.timeline, new.timeline)
    if old.vendor != new.vendor:
        yield Condition("vendor", old.vendor, new.vendor)
    for name, option in _OPTIONS:
        before, after = (bool(one.profiler.get(option)) for one in (old, new))
        if before != after:
            yield Condition(name, _switch(before), _switch(after))


def _switch(is_on: bool) -> str:
    return "on" if is_on else "off"
