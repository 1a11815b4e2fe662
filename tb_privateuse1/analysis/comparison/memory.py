"""Compare the memory of two traces: per step, by device, and by allocating operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.analysis.comparison.significance import Sample
from tb_privateuse1.analysis.memory import allocations, by_operator, devices
from tb_privateuse1.analysis.memory.allocations import CPU, AllocationLevel
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace.columns import containing, lookup, sums_before, zero_if_missing
from tb_privateuse1.trace.model import MISSING, NONE, Memory, Trace
from tb_privateuse1.trace.table import F64, I64

Figure = Literal[
    "peak", "peak_reserved", "at_end", "growth", "allocated", "allocations", "recording_peak"
]
FIGURES: tuple[Figure, ...] = get_args(Figure)

Unit = Literal["bytes", "allocations"]
Verdict = Literal["more", "less", "within_noise", "same", "unknown"]

OUTSIDE = "(outside of operators)"

Device = tuple[int, int]
Pair = tuple[Device | None, Device | None]


class DiffMemory(Struct, frozen=True):
    """A figure of a device's memory in both traces, on average over the chosen steps."""

    device: str
    """Its name, or both names if they differ."""
    name: Figure
    unit: Unit
    base: float | None
    """Bytes are whole numbers; allocations are a mean."""
    now: float | None
    change: float | None
    change_share: float | None
    """The change as a share of the base; null if that is 0."""
    noise: float | None
    """The uncertainty of the change from the spread over steps; null with fewer than two of
    either."""
    verdict: Verdict


class DiffAllocator(Struct, frozen=True):
    """Allocations of an operator on a device per step, in both traces."""

    device: str
    name: str
    """The innermost operator that does more than allocate."""
    status: Literal["both", "new", "gone"]
    base_allocations: float
    now_allocations: float
    base_bytes: int
    now_bytes: int
    change_bytes: int
    change_share: float | None
    noise_bytes: int | None
    verdict: Verdict


def format_amount(unit: Unit, value: float | None) -> str:
    """Return a figure in words."""
    if value is None or unit == "bytes":
        return with_unit("bytes", None if value is None else round(value))
    return f"{value:,.1f}".removesuffix(".0")


def compare_devices(
    base: Trace, trace: Trace, base_steps: I64, now_steps: I64
) -> tuple[DiffMemory, ...]:
    """Return the memory figures that either trace has, device by device.

    The chosen steps are rows of each trace's steps.
    """
    found = []
    for pair in device_pairs(base, trace):
        device = pair_label(base, trace, pair)
        old, now = _samples(base, pair[0], base_steps), _samples(trace, pair[1], now_steps)
        for name in FIGURES:
            if name in old or name in now:
                found.append(_figure(device, name, old.get(name), now.get(name)))
    return tuple(found)


def compare_allocators(
    base: Trace, trace: Trace, base_steps: I64, now_steps: I64
) -> tuple[DiffAllocator, ...]:
    """Return the allocating operators of either trace; the greatest change first."""
    found: list[DiffAllocator] = []
    for pair in device_pairs(base, trace):
        device = pair_label(base, trace, pair)
        old = _Allocators(base, pair[0], base_steps)
        now = _Allocators(trace, pair[1], now_steps)
        found += _rows(device, old, now)
    return tuple(sorted(found, key=lambda r: (-abs(r.change_bytes), -r.now_bytes, r.name)))


def device_pairs(base: Trace, trace: Trace) -> Iterator[Pair]:
    """Yield the devices of both traces in pairs, the CPU last.

    Equal devices are a pair; of accelerators that only one trace has, the n-th of each.
    """
    old, now = allocations.memory_devices(base.memory), allocations.memory_devices(trace.memory)
    pairs: list[Pair] = [(one, one) for one in now if one in old]
    here = [one for one in now if one not in old and one[0] != CPU]
    there = [one for one in old if one not in now and one[0] != CPU]
    both = min(len(here), len(there))
    pairs += zip(there[:both], here[:both], strict=True)
    pairs += [(None, one) for one in here[both:]] + [(one, None) for one in there[both:]]
    pairs += [(None, one) for one in now if one not in old and one[0] == CPU]
    pairs += [(one, None) for one in old if one not in now and one[0] == CPU]
    yield from sorted(pairs, key=lambda p: (p[1] or p[0] or (0, 0))[0] == CPU)


def pair_label(base: Trace, trace: Trace, pair: Pair) -> str:
    """Return a device's name, or both names if they differ."""
    old, now = pair
    names = [allocations.device_label(base, old)] if old else []
    names += [allocations.device_label(trace, now)] if now else []
    return " / ".join(dict.fromkeys(names))


def _samples(trace: Trace, device: Device | None, rows: I64) -> Mapping[Figure, Sample]:
    """Return the samples of these steps on the host; empty without the device."""
    if device is None:
        return {}
    events = allocations.device_events(trace.memory, device)
    level, steps = allocations.memory_level(events), trace.steps
    start, end = steps.host_start_ns, steps.host_end_ns
    low, high = np.searchsorted(events.ts_ns, (start[rows], end[rows]))
    size = np.maximum(zero_if_missing(events.bytes), 0)
    values: dict[Figure, I64] = {
        "allocated": _between(size, low, high),
        "allocations": _between((size > 0).astype(np.int64), low, high),
    }
    if level.has_totals:
        after = np.array([level.at(at) for at in end.tolist()], np.int64)
        windows = list(zip(start[rows].tolist(), end[rows].tolist(), strict=True))
        values["peak"] = step_peaks(trace, level, rows)
        values["at_end"] = after[rows]
        follows = rows[rows > 0]
        values["growth"] = after[follows] - after[follows - 1]
        reserved = [_reserved(level, *window) for window in windows]
        values["peak_reserved"] = np.array([r for r in reserved if r != MISSING], np.int64)
    found = {name: significance.sample_steps(each) for name, each in values.items() if len(each)}
    whole = devices.device_facts(trace, device).peak_bytes
    if whole is not None:
        found["recording_peak"] = significance.sample_steps(np.array([whole]))
    return found


def step_peaks(trace: Trace, level: AllocationLevel, rows: I64) -> I64:
    """Return the most that was allocated within each of these steps on the host, in bytes."""
    start, end = trace.steps.host_start_ns[rows], trace.steps.host_end_ns[rows]
    windows = zip(start.tolist(), end.tolist(), strict=True)
    return np.array([_peak(level, *window) for window in windows], np.int64)


def _between(values: I64, low: I64, high: I64) -> I64:
    upto = sums_before(values)
    between: I64 = upto[np.maximum(high, low)] - upto[low]
    return between


def _peak(level: AllocationLevel, start_ns: int, end_ns: int) -> int:
    at = level.peak(start_ns, end_ns)
    at_start = level.at(start_ns)
    return at_start if at is None else max(int(level.allocated[at]), at_start)


def _reserved(level: AllocationLevel, start_ns: int, end_ns: int) -> int:
    """Return the most reserved in a step, its start included; ``MISSING`` if not recorded."""
    low, high = np.searchsorted(level.at_ns, (start_ns, end_ns))
    return int(level.reserved[max(low - 1, 0) : high].max(initial=MISSING))


def _figure(device: str, name: Figure, old: Sample | None, now: Sample | None) -> DiffMemory:
    unit: Unit = "allocations" if name == "allocations" else "bytes"
    before, after = _mean_of(unit, old), _mean_of(unit, now)
    if before is None or after is None or old is None or now is None:
        return DiffMemory(device, name, unit, before, after, None, None, None, "unknown")
    noise = significance.noise(old, now)
    spread = None if noise is None else float(noise[0])
    change = after - before
    return DiffMemory(
        device=device,
        name=name,
        unit=unit,
        base=before,
        now=after,
        change=change,
        change_share=change / before if before > 0 else None,
        noise=spread if spread is None or unit == "allocations" else round(spread),
        verdict=_verdict(change, spread),
    )


def _mean_of(unit: Unit, sample: Sample | None) -> float | None:
    if sample is None:
        return None
    mean = float(sample.mean[0])
    return mean if unit == "allocations" else round(mean)


_VERDICTS: Mapping[significance.Verdict, Verdict] = {
    "longer": "more",
    "shorter": "less",
    "within_noise": "within_noise",
    "same": "same",
    "unknown": "unknown",
}


def _verdict(change: float, noise: float | None) -> Verdict:
    """Return the verdict without a bound: measured values differ only by noise."""
    return _VERDICTS[significance.verdict(change, noise, 0.0)]


class _Allocators:
    """Allocations per step by the name of the operator."""

    def __init__(self, trace: Trace, device: Device | None, rows: I64) -> None:
        self.names: list[str] = []
        none = np.empty(0, np.int64)
        self.bytes, self.count = (
            significance.sample_row(none, none, none, 0, len(rows)),
            np.empty(0),
        )
        if device is None:
            return
        events = allocations.device_events(trace.memory, device)
        events = events.take(zero_if_missing(events.bytes) > 0)
        op = by_operator.owning_operators(trace, events.op)
        name = lookup(trace.ops.name, op, NONE)
        found, place = np.unique(name, return_inverse=True)
        texts = [trace.text(one) if one >= 0 else OUTSIDE for one in found.tolist()]
        self.names = list(dict.fromkeys(texts))  # different strings may have equal text
        number = {text: i for i, text in enumerate(self.names)}
        item = np.array([number[text] for text in texts], np.int64)[place]
        step, one = _steps_of(trace, rows, events), np.ones(len(events), np.int64)
        n = len(self.names)
        self.bytes = significance.sample_row(item, step, events.bytes, n, len(rows))
        self.count = significance.sample_row(item, step, one, n, len(rows)).mean

    def of(self, names: Sequence[str]) -> tuple[Sample, F64]:
        """Return the rows of these names, 0 for other names."""
        own = {name: i for i, name in enumerate(self.names)}
        row = np.array([own.get(name, NONE) for name in names], np.int64)
        return self.bytes.take(row), lookup(self.count, row, 0.0)


def _steps_of(trace: Trace, rows: I64, events: Memory) -> I64:
    """Return the chosen step that contains each event on the host, ``NONE`` outside."""
    steps = trace.steps
    return containing(steps.host_start_ns[rows], steps.host_end_ns[rows], events.ts_ns)


def _rows(device: str, old: _Allocators, now: _Allocators) -> Iterator[DiffAllocator]:
    names = list(dict.fromkeys([*now.names, *old.names]))
    (a, before), (b, after) = old.of(names), now.of(names)
    noise = significance.noise(a, b)
    for i, name in enumerate(names):
        if not before[i] and not after[i]:
            continue
        base_bytes, now_bytes = round(a.mean[i]), round(b.mean[i])
        spread = None if noise is None else round(float(noise[i]))
        change = now_bytes - base_bytes
        yield DiffAllocator(
            device=device,
            name=name,
            status=("both" if before[i] else "new") if after[i] else "gone",
            base_allocations=float(before[i]),
            now_allocations=float(after[i]),
            base_bytes=base_bytes,
            now_bytes=now_bytes,
            change_bytes=change,
            change_share=change / base_bytes if base_bytes else None,
            noise_bytes=spread,
            verdict=_verdict(change, spread),
        )
