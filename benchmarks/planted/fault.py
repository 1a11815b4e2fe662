"""Build the pair of a planted fault: a program with it and without; or of a tuned program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from benchmarks.pairs.pair import Forms, Pair, Step

DEVICE_SPEED: Mapping[str, float] = {"bandwidth_gb_per_s": 1, "throughput_gflop_per_s": 20}
"""A reference device slow enough for the host of a tuned program to keep ahead of it."""

FASTER: Mapping[str, float] = {"bandwidth_gb_per_s": 4, "throughput_gflop_per_s": 60}
"""A device which the host of a tuned program is only just ahead of."""

SHORT: Mapping[str, float] = {"bandwidth_gb_per_s": 16, "throughput_gflop_per_s": 60}
"""A device that has little to do, so that what the host does too much shows."""

Device = Literal["cpu", "refdev"]


def planted(
    name: str,
    what: str,
    build: Callable[[], Forms],
    device: Device = "refdev",
    settings: Mapping[str, float] = DEVICE_SPEED,
) -> Pair:
    """Return a pair to be timed, and recorded with stacks, shapes and memory."""
    return Pair(
        name, what, device, build, changes=(), stacks=True, data=True,
        settings=settings, warm_steps=3,
    )  # fmt: skip


def tuned(build: Callable[[], Step], what: str, device: Device) -> Pair:
    """Return a program without a fault, as a pair of twice the same form, named by ``build``."""

    def forms() -> Forms:
        step = build()
        return Forms(step, step)

    return planted(build.__name__, what, forms, device, FASTER)
