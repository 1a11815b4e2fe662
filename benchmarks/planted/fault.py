"""Build the pair of a planted fault: a program with it, and the same program without."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.pairs.pair import Forms, Pair

DEVICE_SPEED: Mapping[str, float] = {"bandwidth_gb_per_s": 1, "throughput_gflop_per_s": 20}
"""A reference device slow enough for the host of a tuned program to keep ahead of it."""


def planted(name: str, what: str, build: Callable[[], Forms]) -> Pair:
    """Return a pair to be timed, and recorded with stacks, shapes and memory."""
    return Pair(
        name, what, "refdev", build, changes=(), stacks=True, data=True,
        settings=DEVICE_SPEED, warm_steps=3,
    )  # fmt: skip
