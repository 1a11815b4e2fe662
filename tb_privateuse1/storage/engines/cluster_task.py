"""Read one trace in a worker of a Dask cluster, and store it in the shared cache.

Request and answer are JSON in bytes, so that neither a server nor a worker of another version
takes it for something else. ``dask_engine`` is the other end.
"""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import cache_directory, file_identity, object_cache, reader_process
from tb_privateuse1.storage.ingest import take_turn
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.version import VERSION
from tb_privateuse1.vendors import user_file

TOPIC = "tb_privateuse1"
"""Of the progress, among the events of the cluster."""
_PROTOCOL = "1"
"""Of request, answer and progress."""
_log = logging.getLogger(__name__)
_VendorFiles = tuple[user_file.File, ...]
msgspec.json.Decoder(TraceFiles)  # here, as in ``disk_cache``
msgspec.json.Decoder(_VendorFiles)

Report = Callable[..., None]
"""Gets phase, bytes done, bytes in all, and events. Raises TraceError if nobody wants the trace."""


def versions() -> dict[str, str]:
    """Return what has to be the same on both ends, by the name that users know."""
    return {
        "protocol": _PROTOCOL,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "tb-privateuse1": VERSION,
        "the sources of tb-privateuse1": file_identity.engine_version()[:12],
    }


def read_on_worker(request: bytes) -> bytes:
    """Return the answer to a request: ``done`` with a path, ``error``, or other ``versions``.

    This is what the scheduler hands to a worker. It never raises: an exception would be pickled.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def report(*state: Any) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise TraceError("canceled", say("Nobody waits for the trace."))
        worker.log_event(TOPIC, {"key": key, "worker": worker.address, "state": list(state)})

    return json.dumps(answer(json.loads(request), report)).encode()


def answer(request: dict[str, Any], report: Report) -> dict[str, Any]:
    """Return the answer to a request: ``versions``, ``files``, ``vendors``, ``targets``, ``url``.

    With a URL the trace is stored in the worker's own cache, and below the URL.

    The answer's path is none of the targets if the trace changed while it was read: the asker
    removes it.
    """
    ours = versions()
    if request["versions"] != ours:
        return {"versions": ours}
    files = msgspec.convert(request["files"], TraceFiles)
    try:
        report("reading", 0, files.trace.size, 0)
        vendors = user_file.parse_vendors(msgspec.convert(request["vendors"], _VendorFiles))
        paths = [*map(Path, request["targets"])]
        if (url := request["url"]) is None:
            return {"done": str(_stored(files, paths, report, vendors))}
        return {"done": str(_shared(files, paths[0].name, url, report, vendors))}
    except MemoryError:
        name = printable(files.trace.name)
        message = say("{name} needs more memory than a worker of the cluster has.", name=name)
        return {"error": TraceError("out_of_memory", message).packed()}
    except TraceError as error:
        return {"error": error.packed()}
    except Exception as error:
        _log.exception("reading %s", printable(files.trace.path))
        message = say(
            "Reading {name} failed: {kind}: {error}",
            name=printable(files.trace.name),
            kind=type(error).__name__,
            error=error,
        )
        return {"error": TraceError("internal", message).packed()}


def _shared(
    files: TraceFiles, name: str, url: str, report: Report, vendors: user_file.Vendors
) -> Path:
    """Return the file of the trace in our own cache, after it was copied below the URL."""
    folders = cache_directory.cache_directories(files.trace.path)
    paths = [folder / name for folder in folders]
    for path in paths:  # the asker did not find it below the URL, or found it damaged
        cache_directory.remove(path)
    path = _stored(files, paths, report, vendors)
    report("storing", files.trace.size, files.trace.size, 0)
    object_cache.keep(path, url)
    if path.name == name:
        cache_directory.make_room(path.parent, keep=path)
    else:
        cache_directory.remove(path)
    return path


def _stored(
    files: TraceFiles, paths: list[Path], report: Report, vendors: user_file.Vendors
) -> Path:
    """Return the file of the trace: that of another reader, or of this one."""
    spare = paths[0].with_name(f"{os.urandom(16).hex()}{paths[0].suffix}")
    with take_turn(paths, report) as claim:
        for path in paths:
            if path.is_file():
                return path

        def reply(*, progress: tuple[Any, ...]) -> None:
            if claim:
                claim.beat()
            report(*progress)

        return reader_process.read_and_store(files, [*paths, spare], reply, vendors)
