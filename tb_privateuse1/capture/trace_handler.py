"""Write a recording into a logdir when a cycle is over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture import output_files
from tb_privateuse1.capture.profiler import DeviceProfiler, device_part
from tb_privateuse1.capture.trace_export import default_worker_name, export
from tb_privateuse1.capture.warnings import Notes


def write_sidecar(prof: DeviceProfiler, path: str | os.PathLike[str]) -> None:
    """``prof.export_sidecar(path)`` for programs that write their trace themselves."""
    prof.export_sidecar(path)


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[torch_profile], None]:
    """An ``on_trace_ready`` that writes trace and sidecar below ``dir_name``, a logdir or run.

    The worker is named ``<host>_<pid>``, and ``_rank<n>`` where a rank is known. The handler
    never raises; what it could not write it warns of. It serves a ``torch.profiler.profile`` too.
    """

    def handler(prof: torch_profile) -> None:
        ours = prof if isinstance(prof, DeviceProfiler) else None
        write = ours.export_trace if ours else prof.export_chrome_trace
        notes = ours.notes if ours else Notes()
        suffix = output_files.TRACE + (".gz" if use_gzip else "")
        worker = worker_name or default_worker_name()
        at_ns = time.time_ns()
        while (trace := Path(dir_name, f"{worker}.{at_ns}{suffix}")).exists():
            at_ns += 1  # the clock was set back, or does not tick
        try:
            value = device_part(ours) if ours else None
            output_files.write_pair(
                trace, lambda to: export(prof, write, to, use_python_export, notes), value
            )
            if ours:
                ours.write_snapshot(trace)
        except Exception as error:
            notes.renew(*output_files.describe(error, trace))
        if not ours:  # which shows its own, after any handler
            notes.show()

    return handler
