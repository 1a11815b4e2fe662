"""Write a recording into a logdir when a cycle is over, even where a vendor replaced the export."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture import output_files
from tb_privateuse1.capture.backend import rank_and_world_size
from tb_privateuse1.capture.profiler import DeviceProfiler, device_part
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


def default_worker_name() -> str:
    """Torch's ``<host>_<pid>``, and ``_rank<n>`` where a rank is known."""
    rank, _ = rank_and_world_size()
    return f"{socket.gethostname()}_{os.getpid()}" + ("" if rank is None else f"_rank{rank}")


def export(
    prof: torch_profile,
    write: Callable[..., object],
    to: Path,
    use_python_export: bool,
    notes: Notes,
) -> None:
    """Write the last cycle's trace to ``to``, by the first way that works.

    ``write`` is the profiler's ``export_chrome_trace``. A vendor's may not know
    ``use_python_export`` or may fail; below it is what torch itself would have written. Raises
    what the first way raised if none works.
    """
    inner: Any = prof.profiler
    ways: list[Callable[[], object]] = [
        lambda: write(str(to)),
        lambda: inner.kineto_results.save(str(to)),
    ]
    if use_python_export:
        ways.insert(0, lambda: write(str(to), use_python_export=True))
    failures: list[Exception] = []
    for way in ways:
        try:
            way()
            _wait_for_export(prof)
            output_files.check_complete(to)
        except Exception as error:
            failures.append(error)
            continue
        if failures:
            notes.add(
                "export-replaced",
                f"export_chrome_trace failed ({type(failures[0]).__name__}: {failures[0]}); "
                "the trace was written by what lies below it",
            )
        return
    raise failures[0]


def _wait_for_export(prof: torch_profile) -> None:
    """Wait until the file is written.

    ``cuspy_async_export`` (torch 2.15; in 2.14 ``cupti_monitor_async_export``) leaves that to a
    thread, and the trace is moved to its place as a whole. It is the thread that calls
    ``export_chrome_trace`` that must wait.
    """
    wait = getattr(prof, "wait_for_exports", None)
    if wait is not None:
        wait()
