"""The ways in which profilers damage recordings: ``DAMAGES`` by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from tests.support.make import Event

Change = Callable[[random.Random, list[Event]], list[Event]]

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_OVERFLOW_US = 1_600_000.0


def _is_activity(event: Event) -> bool:
    return event.get("ph") == "X" and event.get("cat") in _DEVICE


def _without(events: list[Event], lost: Collection[int]) -> list[Event]:
    return [event for i, event in enumerate(events) if i not in lost]


def _activities(events: list[Event]) -> list[int]:
    return [i for i, event in enumerate(events) if _is_activity(event)]


def lose_kernels(rng: random.Random, events: list[Event]) -> list[Event]:
    """Lose 1 to 90 % of the activities."""
    rows = _activities(events)
    share = rng.choice((0.01, 0.05, 0.2, 0.5, 0.9))
    return _without(events, set(rng.sample(rows, max(1, int(share * len(rows))))))


def lose_steps(rng: random.Random, events: list[Event]) -> list[Event]:
    """Lose all activities that some steps, but not all, launched."""
    steps = [e for e in events if str(e.get("name", "")).startswith("ProfilerStep#")]
    steps = [e for e in steps if e.get("cat") == "user_annotation"]
    if len(steps) < 2:
        return lose_kernels(rng, events)
    chosen = rng.sample(steps, rng.randint(1, len(steps) - 1))
    called = {
        event["args"]["correlation"]
        for event in events
        if str(event.get("cat")).endswith(("runtime", "driver"))
        and any(s["ts"] <= event["ts"] < s["ts"] + s["dur"] for s in chosen)
    }
    lost = {i for i in _activities(events) if events[i]["args"].get("correlation") in called}
    return _without(events, lost)


def lose_stream(rng: random.Random, events: list[Event]) -> list[Event]:
    """Lose all activities of one of several streams, or the later ones of the only one."""
    rows = _activities(events)
    streams = sorted({str(events[i]["args"].get("stream")) for i in rows})
    if len(streams) < 2:
        rows.sort(key=lambda i: float(events[i]["ts"]))
        return _without(events, set(rows[rng.randrange(len(rows)) :]))
    stream = rng.choice(streams)
    return _without(events, {i for i in rows if str(events[i]["args"].get("stream")) == stream})


def overflow(rng: random.Random, events: list[Event]) -> list[Event]:
    """Overflow 1 of 20 durations of the device."""
    rows = _activities(events)
    chosen = set(rng.sample(rows, max(1, len(rows) // 20)))
    return [
        event | {"dur": event["dur"] + _OVERFLOW_US} if i in chosen else event
        for i, event in enumerate(events)
    ]


def zero_times(rng: random.Random, events: list[Event]) -> list[Event]:
    """Write time stamps and durations of 0 into some ranges."""
    share = rng.choice((0.02, 0.1, 0.5))
    return [
        event | {"ts": 0, "dur": 0} if event.get("ph") == "X" and rng.random() < share else event
        for event in events
    ]


def drop_category(rng: random.Random, events: list[Event]) -> list[Event]:
    """Leave out all events of a category."""
    present = sorted({str(event.get("cat")) for event in events if event.get("ph") == "X"})
    dropped = rng.choice(present)
    return [event for event in events if str(event.get("cat")) != dropped]


def no_category(rng: random.Random, events: list[Event]) -> list[Event]:
    """Write the events of a category without it."""
    present = sorted({str(event.get("cat")) for event in events if event.get("ph") == "X"})
    lost = rng.choice(present)
    return [
        {key: value for key, value in event.items() if key != "cat"}
        if str(event.get("cat")) == lost and event.get("ph") == "X"
        else event
        for event in events
    ]


def correlation_zero(rng: random.Random, events: list[Event]) -> list[Event]:
    """Write the correlation 0 into all events, or into those of the device."""
    everywhere = rng.random() < 0.5
    return [
        event | {"args": event["args"] | {"correlation": 0}}
        if "correlation" in event.get("args", {}) and (everywhere or _is_activity(event))
        else event
        for event in events
    ]


def merge_ranks(rng: random.Random, events: list[Event]) -> list[Event]:
    """Join the recording of a slower rank, without a sign of whose an event is.

    It may be of another host: then its processes, and of one device per process its devices, have
    the same numbers.
    """
    slower, late = rng.choice((1.0, 1.1, 1.5)), rng.choice((0.0, 3.0, 1000.0))
    process, device = rng.choice(((0, 0), (1000, 0), (1000, 1)))
    first = min(float(event["ts"]) for event in events if event.get("ph") == "X")
    joined = list(events)
    for event in events:
        other = event | {"args": dict(event.get("args", {}))}
        if "ts" in event:
            other["ts"] = first + (float(event["ts"]) - first) * slower + late
        if "dur" in event:
            other["dur"] = float(event["dur"]) * slower
        if _is_activity(event) and isinstance(event["args"].get("device"), int):
            other["args"]["device"] += device
        elif isinstance(event.get("pid"), int) and not _is_activity(event):
            other["pid"] += process
        joined.append(other)
    return sorted(joined, key=lambda one: float(one.get("ts", 0))) if rng.random() < 0.5 else joined


DAMAGES: dict[str, Change] = {
    one.__name__: one
    for one in (
        lose_kernels,
        lose_steps,
        lose_stream,
        overflow,
        zero_times,
        drop_category,
        no_category,
        correlation_zero,
        merge_ranks,
    )
}
