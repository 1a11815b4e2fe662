"""Record a PyTorch run on a PrivateUse1 device so that the dashboard can show the device.

A drop-in for ``torch.profiler.profile`` and ``torch.profiler.tensorboard_trace_handler``::

    from tb_privateuse1 import capture

    with capture.profile(on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:
        for batch in batches:
            train(batch)
            prof.step()

It takes one of three routes (``docs/guide/capture.md`` explains them, and every warning):

``events``
    The vendor registered ``ProfilerStubs``. torch calls them only in a state that
    ``torch.profiler.profile`` never selects; this one does. Their device times go into a sidecar
    beside the trace.
``native``
    The vendor registered a Kineto profiler: its kernels are in the trace already.
``torch``
    CPU, CUDA, XPU and so on, or nothing to measure with: what torch does, unchanged.

Whatever goes wrong is a ``CaptureWarning``; the training goes on.
"""

from __future__ import annotations

from tb_privateuse1.capture import replacement
from tb_privateuse1.capture.demand.service import on_demand
from tb_privateuse1.capture.guarded import profile
from tb_privateuse1.capture.out_of_memory import on_out_of_memory
from tb_privateuse1.capture.output_files import sidecar_path
from tb_privateuse1.capture.profiler import WINDOW_END, WINDOW_START
from tb_privateuse1.capture.trace_handler import tensorboard_trace_handler, write_sidecar
from tb_privateuse1.capture.warnings import CaptureWarning

__all__ = [
    "WINDOW_END",
    "WINDOW_START",
    "CaptureWarning",
    "install",
    "on_demand",
    "on_out_of_memory",
    "profile",
    "sidecar_path",
    "tensorboard_trace_handler",
    "uninstall",
    "write_sidecar",
]


def install() -> None:
    """Let every ``torch.profiler.profile(...)`` of this process construct ours.

    For frameworks that construct it themselves, whenever they imported the class. Such a profiler
    also records the machine's accelerator where the framework asks for other devices only. Any
    handler writes the sidecar with the trace, because ``export_chrome_trace`` does. It may be
    called again; subclasses of torch's class are left alone.
    """
    replacement.replace(profile)


def uninstall() -> None:
    """Let it construct torch's own again; profilers that exist stay what they are."""
    replacement.restore()
