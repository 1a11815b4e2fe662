"""Read and write baseline files: JSON that people can read, and compare line by line.

The schema is in docs/reference/baseline.md. A file holds the workloads of a repository by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tb_privateuse1.analysis.comparison.baseline import Baseline, Metric, Operator, Workload
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

SCHEMA = "tb_privateuse1.baseline/1"

_MOST_BYTES = 32 << 20


class _File(msgspec.Struct):
    """The content of a file."""

    schema: str
    workloads: dict[str, Workload]


_FILE = msgspec.json.Decoder(_File)
_HEAD = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_baseline(path: Path) -> Baseline:
    """Return the content of a baseline file.

    Raises TraceError ``no_baseline`` if there is none, or ``bad_baseline``.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _bad(path, say("it is larger than 32 MiB"))
        content = path.read_bytes()
    except FileNotFoundError:
        raise TraceError(
            "no_baseline",
            say("There is no baseline {path}.", path=str(path)),
            say("Write it: tb-privateuse1 baseline write TRACE… -b {path}", path=str(path)),
        ) from None
    except OSError as error:
        raise _bad(path, str(error.strerror)) from error
    try:
        schema = _HEAD.decode(content).get("schema")
        if schema is None or bytes(schema) != f'"{SCHEMA}"'.encode():
            raise _bad(path, say("its schema is not {schema}", schema=SCHEMA))
        found = _FILE.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(path, str(error)) from error
    if any(not _is_sound(workload) for workload in found.workloads.values()):
        raise _bad(path, say("a workload has no step with runs, or a figure that is no amount"))
    return Baseline(found.workloads)


def _is_sound(workload: Workload) -> bool:
    """Return whether there is a step time, and each figure is in order and not negative."""
    parts: list[Metric | Operator] = [*workload.metrics.values(), *workload.operators.values()]
    runs = [run for part in parts for run in part.runs]
    return (
        "step" in workload.metrics
        and all(part.runs for part in parts)
        and all((part.bound or 0) >= 0 for part in parts)
        and all(run.steps >= 1 for run in runs)
        and all(0 <= run.least <= run.low <= run.median <= run.high <= run.most for run in runs)
    )


def _bad(path: Path, reason: str) -> TraceError:
    return TraceError(
        "bad_baseline",
        say("{path} is no baseline: {reason}.", path=str(path), reason=reason),
        say("Write it again: tb-privateuse1 baseline write TRACE… -b FILE"),
    )


def write_workload(path: Path, name: str, workload: Workload) -> None:
    """Write a workload into a file, which keeps its others.

    Raises TraceError ``bad_baseline`` if the file is none, and OSError.
    """
    known = read_baseline(path) if path.exists() else Baseline()
    text = baseline_text(replace(known, workloads={**known.workloads, name: workload}))
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, "utf-8")
    beside.replace(path)


def baseline_text(baseline: Baseline) -> str:
    """Return the file of a baseline. What has no objects or lists in it is one line."""
    workloads = dict(sorted(baseline.workloads.items()))
    return _lines(msgspec.to_builtins({"schema": SCHEMA, "workloads": workloads}), "") + "\n"


def _lines(value: Any, indent: str) -> str:
    inner = list(value.values()) if isinstance(value, Mapping) else value
    is_flat = not isinstance(value, Mapping | list | tuple) or not any(
        isinstance(one, Mapping | list | tuple) for one in inner
    )
    if is_flat:
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + "  "
    if isinstance(value, Mapping):
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {_lines(one, deeper)}"
            for key, one in value.items()
        ]
        return "{\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + _lines(one, deeper) for one in value) + f"\n{indent}]"
