"""Shell completion: commands, views, flags, choices, and the traces of a logdir."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any


def asks() -> bool:
    """Return whether a shell asks for completions: then all commands are of interest."""
    return "_ARGCOMPLETE" in os.environ


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks, and end the process; nothing without the extra [completion]."""
    if not asks():
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def places(name: str, of: str) -> Callable[..., list[str]]:
    """Return a completer for the runs, ranks or spans (``name``) of a path on this machine."""

    def offered(*, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
        from tb_privateuse1.discovery import catalog
        from tb_privateuse1.discovery.remote import is_url
        from tb_privateuse1.readers import READERS
        from tb_privateuse1.trace.errors import TraceError

        base, path = (getattr(parsed_args, key, None) for key in ("base", "path"))
        where = base if of and base is not None else path
        if where is None or is_url(where):
            return []
        chosen = getattr(parsed_args, f"{of}run".replace("-", "_"), None)
        try:
            traces = catalog.scan(where, READERS).files
        except TraceError:
            return []
        found = [
            {"run": run, "rank": rank, "span": span}[name]
            for run, rank, span in traces
            if name == "run" or chosen in (None, run)
        ]
        return list(map(str, dict.fromkeys(found)))

    return offered


def running_jobs(*, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the names of the jobs that run in a logdir on this machine."""
    from tb_privateuse1.discovery import live_jobs

    if parsed_args.path is None:
        return []
    now_ns = time.time_ns()
    jobs = live_jobs.read_jobs(live_jobs.find_places([("", parsed_args.path)]), now_ns)
    return [job.name for job in jobs if job.alive(now_ns)]
