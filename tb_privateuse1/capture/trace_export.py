"""Export a trace to a file, even where a vendor's package replaced torch's export."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture.backend import rank_and_world_size
from tb_privateuse1.capture.native_probe import shows_device
from tb_privateuse1.capture.output_files import check_complete
from tb_privateuse1.capture.warnings import Notes


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
            check_complete(to)
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


def has_device_activity(prof: torch_profile) -> bool:
    """Return whether a native backend put any activity of the device into the last cycle."""
    inner: Any = prof.profiler
    return shows_device(inner.kineto_results)
