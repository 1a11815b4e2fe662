"""Read sidecars: device times per operator, which the trace itself lacks.

There are two formats. Ours (``<worker>.<time>.kernel_event.json[.gz]``) has columns by External
id, see docs/guide/capture.md. The published recipe's (``kernel_event_<rank>.json[.gz]``) is
``{"<name>_<id>_<thread>": {"kernel_time": µs, "device_memory_usage": bytes, "start_us",
"host_dur", "thread"}}``. Its rows are joined by the id in the key, because its thread numbers are
not the trace's. Rows of id 0 (Python frames) join nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.readers import decompress
from tb_privateuse1.readers.chrome import numbers
from tb_privateuse1.readers.chrome.json_values import BROKEN
from tb_privateuse1.readers.raw import HostLaunches, HostThread, Sidecar, StepMarkers
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64

SCHEMA = "tb_privateuse1.kernel_event/"

_MOST_BYTES = 256 << 20
"""Enough for ten million operators; the decoded lists take ten times the memory."""

_Recorded = TypeVar("_Recorded", HostLaunches, StepMarkers)

_RECIPE_KEY = re.compile(r"_(\d+)_\d+$")


def read_sidecar(path: str) -> Sidecar:
    """Return the rows and facts of a sidecar.

    Raises TraceError ``bad_sidecar``, ``unreadable`` or ``too_large``.
    """
    data = decompress.read_bytes(path, _MOST_BYTES)
    try:
        content = msgspec.json.decode(data)
    except BROKEN as error:
        raise TraceError(
            "bad_sidecar", say("{path} is not complete JSON ({error}).", path=path, error=error)
        ) from error
    if not isinstance(content, dict):
        raise TraceError(
            "bad_sidecar", say("{path} is no kernel-event file: it is no JSON object.", path=path)
        )
    if str(content.get("schema", "")).startswith(SCHEMA):
        return _ours(content, path)
    return _recipe(content, path)


def _ours(content: dict[str, Any], path: str) -> Sidecar:
    ids, elapsed = content.pop("external_id", None), content.pop("elapsed_us", None)
    if not isinstance(ids, list) or not isinstance(elapsed, list) or len(ids) != len(elapsed):
        message = say("{path}: external_id and elapsed_us must be lists of one length.", path=path)
        raise TraceError("bad_sidecar", message)
    version = str(content["schema"]).removeprefix(SCHEMA)
    findings = []
    if version != "1":
        message = say(
            "The sidecar has schema version {version}; this version reads 1.", version=version
        )
        findings.append(
            Finding("sidecar_version", message, say("Update tb-privateuse1."), affects=DEVICE)
        )
    launches = _columns(HostLaunches, content.pop("launches", None))
    markers = _columns(StepMarkers, content.pop("markers", None))
    threads = _host_threads(content.pop("host_threads", None))
    rows = {
        **_of_rows(content, ("device", "stream"), len(ids), NONE),
        **_of_rows(content, ("first_ns", "second_ns"), len(ids), int(MISSING)),
    }
    return _sidecar(ids, elapsed, content, findings, rows, launches, markers, threads)


def _of_rows(
    content: dict[str, Any], names: Sequence[str], count: int, missing: int
) -> dict[str, I64]:
    """Return columns with a number per row; none if one of them is not there or not complete."""
    columns = [content.pop(name, None) for name in names]
    if not all(isinstance(column, list) and len(column) == count for column in columns):
        return {}
    return {
        name: numbers.parse_ids(column or (), missing)
        for name, column in zip(names, columns, strict=True)
    }


def _columns(kind: type[_Recorded], content: object) -> _Recorded | None:
    """Return a table of what was recorded beside the elapsed times; None if columns are missing."""
    columns = content if isinstance(content, dict) else {}
    names = list(kind.column_types())
    parsed = [columns.get(name) for name in names]
    lists = [c for c in parsed if isinstance(c, list)]
    if len(lists) < len(names) or len({len(c) for c in lists}) != 1 or not lists[0]:
        return None
    table = kind(*(numbers.parse_ids(c) for c in lists))
    return table.take(np.min([column for _, column in table.columns()], axis=0) >= 0)


def _host_threads(content: object) -> tuple[HostThread, ...]:
    """Return the threads whose number, name and time are there."""
    columns = content if isinstance(content, dict) else {}
    parsed = [columns.get(name) for name in HostThread.__struct_fields__]
    lists = [column for column in parsed if isinstance(column, list)]
    if len(lists) < len(parsed):
        return ()
    return tuple(
        HostThread(thread, name, cpu_ns)
        for thread, name, cpu_ns in zip(*lists, strict=False)
        if type(thread) is int and isinstance(name, str) and type(cpu_ns) is int
    )


def _recipe(content: dict[str, Any], path: str) -> Sidecar:
    ids, elapsed = [], []
    unnamed = 0
    for key, row in content.items():
        match = _RECIPE_KEY.search(key)
        if match is None or not isinstance(row, dict) or "kernel_time" not in row:
            unnamed += 1
        elif match[1] != "0":
            ids.append(int(match[1]))
            elapsed.append(row["kernel_time"])
    if not ids:
        message = say(
            "{path} has no row of the form <name>_<id>_<thread> with a kernel_time.", path=path
        )
        raise TraceError("bad_sidecar", message)
    findings = []
    if unnamed:
        message = say("{count} rows of the sidecar have no id or no kernel_time.", count=unnamed)
        findings.append(Finding("sidecar_rows", message, count=unnamed, affects=DEVICE))
    return _sidecar(ids, elapsed, {}, findings)


def _sidecar(
    ids: list[Any],
    elapsed: list[Any],
    facts: dict[str, Any],
    findings: list[Finding],
    rows: Mapping[str, I64] | None = None,
    launches: HostLaunches | None = None,
    markers: StepMarkers | None = None,
    host_threads: tuple[HostThread, ...] = (),
) -> Sidecar:
    readable = np.array([type(e) in (int, float) and e >= 0 for e in elapsed], np.bool_)
    plain = [e if ok else 0 for e, ok in zip(elapsed, readable, strict=True)]
    ns = numbers.nanoseconds(np.array(plain, np.float64))
    ns = np.where(readable, ns, MISSING)
    column = numbers.parse_ids(ids)
    keep = column >= 0
    if not readable.all():
        missing = int((~readable).sum())
        message = say(
            "The device times of {count} of {total} operators could not be read.",
            count=missing,
            total=len(ids),
        )
        findings.append(Finding("elapsed_missing", message, count=missing, affects=DEVICE))
    kept = {name: values[keep] for name, values in (rows or {}).items()}
    return Sidecar(
        column[keep],
        ns[keep],
        facts,
        tuple(findings),
        launches=launches,
        markers=markers,
        host_threads=host_threads,
        **kept,
    )
