"""Faults of the rules that no program had shown before."""

from __future__ import annotations

import refdevice
import torch
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.device_faults import NormFused, of_blocks
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import WIDTH, Block, Network, training

AS_THE_HOST = {"bandwidth_gb_per_s": 1e3, "throughput_gflop_per_s": 1e5, "kernel_fixed_ns": 0}
"""A device whose kernels take as long as the host computes them, blocking or not."""


class NormWithoutKernel(Block):
    """A norm for which the reference device has no kernel: torch builds it of others."""

    def normalize(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state, normalized by seven operators."""
        return functional.rms_norm(hidden, (WIDTH,), self.norm.weight)


def blocking_launches() -> Forms:
    """Return from each launch when its kernel is done, or when it is queued."""
    step = training(Network(), "refdev")

    def launches(kind: str) -> Step:
        return lambda: refdevice.configure(elapsed_kind=kind)

    return Forms(step, step, enter=(launches("host"), launches("event")))


PAIRS = (
    planted(
        "norm_without_kernel",
        "RMSNorm on a device without a kernel for it",
        lambda: of_blocks(NormWithoutKernel, NormFused),
    ),
    planted(
        "blocking_launches",
        "launches that wait for their kernel",
        blocking_launches,
        settings=AS_THE_HOST,
    ),
)
