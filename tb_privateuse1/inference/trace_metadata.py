"""Read a trace's metadata: rank, device, profiler options, and findings about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1 import vendors
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference import used_device
from tb_privateuse1.inference.stage_inputs import Activities, Strings, impossible_sizes
from tb_privateuse1.inference.validity import unread
from tb_privateuse1.readers.raw import KernelSource, Raw, Sidecar
from tb_privateuse1.trace.accuracy import MEANINGS, Accuracy
from tb_privateuse1.trace.findings import (
    DEVICE,
    LONGEST_INLINE,
    LONGEST_NAME,
    PARTIAL,
    Finding,
)
from tb_privateuse1.trace.groupby import distinct_values, named_rows
from tb_privateuse1.trace.model import MISSING, Meta, Trace
from tb_privateuse1.trace.process_groups import MOST_RANKS
from tb_privateuse1.trace.recorded_metadata import (
    KernelSources,
    RecordedMetadata,
    SourceFunction,
)
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors.device_types import PRIVATEUSE1

_OPTIONS = ("with_stack", "record_shapes", "profile_memory", "with_flops", "with_modules")

_MOST_CATEGORIES = 50
"""A hostile file has a million categories."""

_MEMORY_SIZES = ("memory_bytes", "allocated_bytes", "reserved_bytes")

_READ_ELSEWHERE = (
    "schemaVersion", "traceName", "displayTimeUnit", "baseTimeNanoseconds", "deviceProperties",
    "distributedInfo", "host_name", "hostname", "torch_version", "stackFrames", "INFO",
)  # fmt: skip
"""Keys that ``libkineto/src/output_json.cpp`` writes for readers, not for people, and its log."""

_OURS = "tb_privateuse1"
"""The capture's own keys begin with it."""

_MOST_METADATA, _LONGEST_VALUE = 200, 2000
"""A hostile file has a million keys; a configuration of a run has some dozens."""

_Files = tuple[tuple[str, tuple[tuple[int, str, dict[str, tuple[int, ...]]], ...]], ...]

_END_LOST = ("truncated", "gzip_damaged", "too_damaged")
"""Codes of files whose rest was not read: torch writes what the host did first."""
_CALLS = re.compile(r"_(runtime|driver)$", re.IGNORECASE)

_SPAN, _PROFILER = "trace", re.compile(r"^PyTorch Profiler\b")
"""The category and the name of kineto's own range: from its start until it was stopped."""


def backend_name(raw: Raw, sidecar: Sidecar | None) -> str | None:
    """Return torch's name of the device if the sidecar or our own metadata has it."""
    return _str(_facts(raw, sidecar).get("backend"))


def _facts(raw: Raw, sidecar: Sidecar | None) -> dict[str, Any]:
    """Return the capture's facts: of the sidecar, else of the trace's own metadata."""
    if sidecar is not None:
        return dict(sidecar.facts)
    facts = raw.metadata.get("tb_privateuse1")
    return facts if isinstance(facts, dict) else {}


def device_properties(raw: Raw) -> tuple[dict[str, Any], ...]:
    """Return the entries of ``deviceProperties``; an id that is no whole number is left out."""
    listed = raw.metadata.get("deviceProperties")
    entries = listed if isinstance(listed, list) else []
    return tuple(
        {key: value for key, value in entry.items() if key != "id" or type(value) is int}
        for entry in entries
        if isinstance(entry, dict)
    )


def detect_vendor(
    raw: Raw, sidecar: Sidecar | None, known: Sequence[Vendor] = vendors.VENDORS
) -> Vendor:
    """Return the vendor that devices, backend, categories and memory events indicate."""
    types = raw.memory.id("device_type")
    return vendors.detect(
        backend_name(raw, sidecar),
        [str(d.get("name", "")) for d in device_properties(raw)],
        raw.groups,
        distinct_values(types).tolist(),
        [
            raw.strings[name]
            for category, group in raw.groups.items()
            if _CALLS.search(category)
            for name in distinct_values(group.name).tolist()
        ],
        known,
    )


def build_meta(
    raw: Raw,
    sidecar: Sidecar | None,
    vendor: Vendor,
    *,
    worker: str,
    files: tuple[str, ...],
    rank: int | None,
) -> Meta:
    """Return all metadata but the timeline's kind and the findings."""
    facts = _facts(raw, sidecar)
    group = raw.metadata.get("distributedInfo")
    group = group if isinstance(group, dict) else {}
    profiler: dict[str, Any] = {k: bool(raw.metadata[k]) for k in _OPTIONS if k in raw.metadata}
    if isinstance(state := facts.get("profiler_state"), str):
        profiler["profiler_state"] = state
    return Meta(
        worker=worker,
        files=files,
        reader=raw.reader,
        events=_events(raw),
        rank=rank if rank is not None else _int(group.get("rank", facts.get("rank"))),
        world_size=_world_size(group.get("world_size", facts.get("world_size"))),
        hostname=_str(raw.metadata.get("host_name")) or _str(raw.metadata.get("hostname")),
        backend=backend_name(raw, sidecar),
        vendor=vendor.name,
        torch_version=_str(facts.get("torch_version", raw.metadata.get("torch_version"))),
        accuracy=_accuracy(raw, sidecar),
        distributed_backend=_str(group.get("backend")),
        devices=device_properties(raw),
        profiler=profiler,
        functions=_functions(raw),
        refusals=raw.refusals,
    )


def recorded_metadata(raw: Raw, strings: Strings) -> RecordedMetadata:
    """Return what the file says of itself and nothing else reads; long values are cut."""
    known = {*_OPTIONS, *_READ_ELSEWHERE}
    some = [key for key in raw.metadata if key not in known and not key.startswith(_OURS)]
    some = [key for key in some if raw.metadata[key] not in (None, "")][:_MOST_METADATA]
    texts = [(key, _as_text(raw.metadata[key])) for key in some]
    rows = [
        (strings.id(shorten(key, LONGEST_NAME)), strings.id(shorten(text, _LONGEST_VALUE)))
        for key, text in texts
    ]
    columns = np.array(rows, np.int32).reshape(-1, 2)
    return RecordedMetadata(key=columns[:, 0].copy(), value=columns[:, 1].copy())


def kernel_sources(found: Iterable[KernelSource], strings: Strings) -> KernelSources:
    """Return the table of the sources that lie beside the recording, each once."""
    known = dict.fromkeys(found)
    rows = [tuple(map(strings.id, (one.name, one.file, one.text))) for one in known]
    columns = np.array(rows, np.int32).reshape(-1, 3)
    name, file, text = (columns[:, i].copy() for i in range(3))
    return KernelSources(name=name, file=file, text=text)


def _as_text(value: Any) -> str:
    """Return a value as text; one that is no text as JSON, as its program may have passed it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _accuracy(raw: Raw, sidecar: Sidecar | None) -> Accuracy | None:
    """Return the backend's class as the capture wrote it.

    It is in the trace on every route. The sidecar has it for a trace that lost its metadata.
    """
    for facts in (_facts(raw, None), _facts(raw, sidecar)):
        stated = facts.get("accuracy")
        if isinstance(stated, dict):
            letter, checked = _str(stated.get("class")), _str(stated.get("checked"))
            if letter in MEANINGS and checked:
                return Accuracy(letter, checked, _str(stated.get("reason")))
    return None


def profiler_end(raw: Raw, start_ns: int) -> int | None:
    """Return when the profiler's own range ends, in ns from ``start_ns``; None without one."""
    ends = [
        int(group.end_ns[own].max())
        for category, group in raw.groups.items()
        if category.lower() == _SPAN
        and (own := named_rows(raw.strings, group.name, _PROFILER.search)).any()
    ]
    return max(ends) - start_ns if ends else None


def _functions(raw: Raw) -> tuple[SourceFunction, ...]:
    """Return the functions of the user's source (``capture/user_source.py``), if it was read."""
    try:
        files = msgspec.convert(raw.metadata.get("tb_privateuse1_functions", ()), _Files)
    except msgspec.ValidationError:
        return ()
    return tuple(
        SourceFunction(file, line, name, calls)
        for file, functions in files
        for line, name, calls in functions
    )


def metadata_findings(
    raw: Raw, sidecar: Sidecar | None, vendor: Vendor, activities: Activities, trace: Trace
) -> tuple[Finding, ...]:
    """Return the findings of reading and inference, in the order of the pipeline."""
    found = [*raw.findings, *(sidecar.findings if sidecar else ()), *activities.findings]
    found += unread.unread_findings(raw, vendor)
    found += _impossible_sizes(raw)
    found += _capture_warnings(_facts(raw, sidecar))
    refused = any(f.severity == "error" for f in activities.findings)
    has_said_so = any(f.code in PARTIAL for f in raw.findings)
    if not len(activities.kernels) and not refused and not has_said_so:
        is_empty = unread.is_empty(trace)
        found.append(
            unread.nothing_read(raw, vendor) if is_empty else _no_device_times(raw, sidecar, trace)
        )
    return tuple(found)


def _no_device_times(raw: Raw, sidecar: Sidecar | None, trace: Trace) -> Finding:
    def lack(code: str, message: str, hint: str) -> Finding:
        return Finding(code, message, hint, severity="error", affects=DEVICE)

    memory = raw.memory.ids.get("device_type")
    on_device = memory is not None and bool(np.isin(memory, (PRIVATEUSE1,)).any())
    if sidecar is not None:
        message = say("The sidecar has no device time from which a timeline could be inferred.")
        return lack(
            "no_device_times", message, say("See docs/guide/capture.md: its warnings say why.")
        )
    if warned := [w.message for w in _capture_warnings(_facts(raw, None))]:
        message = say(
            "The capture could record no device time: {warnings}.", warnings="; ".join(warned)
        )
        return lack(
            "no_device_times", message, say("docs/guide/capture.md explains these warnings.")
        )
    if on_device:
        message = say(
            "This run used a PrivateUse1 device, but no device time was recorded: torch's "
            "default profiler state never calls a backend's ProfilerStubs."
        )
        return lack("events_route_dead", message, say("Record with tb_privateuse1.capture."))
    is_lost = any(finding.code in _END_LOST for finding in raw.findings)
    hint = trace.vendor.record_hint
    if is_lost:
        hint = say(
            "They may be in the part of the file that is lost. Copy it whole, or record again."
        )
    if len(trace.launches):
        message = say(
            "The program called the device's runtime ({count:,} calls), but no activity of the "
            "device is recorded.",
            count=len(trace.launches),
        )
        return lack("no_device_activities", message, hint)
    if not any(map(len, (trace.ops, trace.frames, trace.memory))):
        message = say("The file has counters or marks, but no range: nothing is analyzed.")
        return lack("no_ranges", message, hint)
    if proof := used_device.proof(raw, trace):
        message = say(
            "The program ran operators on a device ({proof}), but no activity of the device is "
            "recorded.",
            proof=proof,
        )
        return lack("no_device_activities", message, hint)
    message = say("This trace holds host activity only.")
    if is_lost and raw.metadata.get("deviceProperties"):
        message = say("No device activity is in what could be read of the file.")
        return lack("no_device_activities", message, hint)
    return Finding("host_only", message, hint, severity="info", affects=DEVICE)


def _impossible_sizes(raw: Raw) -> list[Finding]:
    columns = [raw.memory.id(key, int(MISSING)) for key in _MEMORY_SIZES]
    count = sum(int(impossible_sizes(column).sum()) for column in columns)
    if not count:
        return []
    message = say(
        "{n} sizes of memory are more than 256 TiB; they count as missing.", n=f"{count:,}"
    )
    return [Finding("impossible_sizes", message, count=count, affects=("memory",))]


def _events(raw: Raw) -> dict[str, int]:
    """Return the number of events by category; rare categories are summed as ``others``."""
    listed = [(len(group), shorten(name, LONGEST_INLINE)) for name, group in raw.groups.items()]
    listed += [(len(raw.memory), "[memory]"), (len(raw.flows), "flow")]
    listed.append((len(raw.counters.samples), "counter"))
    listed.sort(key=lambda one: -one[0])
    counts: dict[str, int] = {}
    for at, (n, name) in enumerate(listed):
        key = name if at < _MOST_CATEGORIES else "others"
        counts[key] = counts.get(key, 0) + n
    return {name: n for name, n in counts.items() if n}


def _capture_warnings(facts: dict[str, Any]) -> list[Finding]:
    warnings = facts.get("warnings")
    findings = []
    for warning in warnings if isinstance(warnings, list) else ():
        if isinstance(warning, dict) and isinstance(warning.get("message"), str):
            code = str(warning.get("code", "capture"))
            findings.append(
                Finding(code, warning["message"], say("Said while the run was recorded."))
            )
    return findings


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _world_size(value: Any) -> int | None:
    """Return a number of ranks; None if it is no int, or more than any job has."""
    size = _int(value)
    return size if size is not None and 0 < size <= MOST_RANKS else None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
