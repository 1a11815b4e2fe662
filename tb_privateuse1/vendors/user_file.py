"""Read vendors that users describe in a file of data (docs/reference/vendors.md)."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import msgspec.structs
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.trace.vendor import GENERIC, DeviceProcess, Vendor
from tb_privateuse1.vendors import VENDORS

VARIABLE = "TB_PRIVATEUSE1_VENDOR"
"""The environment variable with the files' paths, separated as in ``PATH``."""

_HINT = say("docs/reference/vendors.md says what a vendor file may hold.")


_Figure = Annotated[float, msgspec.Meta(gt=0, lt=1e9)]
_Prefix = Annotated[str, msgspec.Meta(min_length=1)]
_GpuApi = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Rates(msgspec.Struct, forbid_unknown_fields=True):
    """Rates by data type, 1e12 operations per second."""

    fp64: _Figure | None = None
    fp32: _Figure | None = None
    tf32: _Figure | None = None
    bf16: _Figure | None = None
    fp16: _Figure | None = None
    fp8: _Figure | None = None
    fp4: _Figure | None = None
    int8: _Figure | None = None

    def rates(self, half: float | None = None) -> Rates:
        """Return the same rates; those of the two half precisions are ``half`` if not given."""
        given = msgspec.structs.asdict(self)
        halves = {name: half for name in ("bf16", "fp16") if given[name] is None}
        return Rates(**(given | halves))


class _Peak(msgspec.Struct, forbid_unknown_fields=True):
    """The peak rates of devices whose names match."""

    device_names: str
    half_tflops: _Figure | None = None
    """The matrix unit's rate of bfloat16 and float16: a short form of ``matrix_tflops``."""
    matrix_tflops: _Rates | None = None
    vector_tflops: _Rates | None = None
    memory_gb_per_s: _Figure | None = None
    cache_mb: _Figure | None = None
    link: str = ""
    link_gb_per_s: _Figure | None = None
    host_gb_per_s: _Figure | None = None


class _Process(msgspec.Struct, forbid_unknown_fields=True):
    """A process of the vendor's own files."""

    names: str
    category: str
    threads: str | None = None
    events: str | None = None


class _Description(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a vendor file; defaults are those of ``extends`` or of a generic device."""

    name: str
    title: str | None = None
    extends: str | None = None
    backends: tuple[str, ...] | None = None
    device_types: tuple[int, ...] | None = None
    device_names: str | None = None
    evidence_categories: tuple[str, ...] | None = None
    shared_categories: tuple[str, ...] | None = None
    kernel_categories: tuple[str, ...] | None = None
    memcpy_categories: tuple[str, ...] | None = None
    memset_categories: tuple[str, ...] | None = None
    launch_categories: str | None = None
    communication_names: str | None = None
    slow_products: str | None = None
    sparse_tensors: bool | None = None
    matrix_unit: str | None = None
    matrix_names: str | None = None
    cpu_units: str | None = None
    conversion_names: str | None = None
    communication_prefixes: tuple[_Prefix, ...] | None = None
    operator_prefixes: tuple[_Prefix, ...] | None = None
    runtime_prefixes: tuple[_Prefix, ...] | None = None
    processes: tuple[_Process, ...] | None = None
    shares_backend: bool | None = None
    device_type_name: str | None = None
    perfetto_gpu_api: _GpuApi | None = None
    compute_units: str | None = None
    record_hint: str | None = None
    peaks: tuple[_Peak, ...] | None = None


msgspec.json.Decoder(_Description)  # inspects the class now: later, two threads might do so at once

_PATTERNS = {
    "device_names": re.IGNORECASE,
    "launch_categories": 0,
    "communication_names": 0,
    "slow_products": 0,
    "matrix_names": 0,
    "cpu_units": 0,
    "conversion_names": 0,
    "processes": 0,
}


class File(Struct, frozen=True):
    """Name and content of a vendor file, which one process passes to another."""

    name: str
    content: bytes


class Vendors(Struct, frozen=True, dict=True):
    """The vendors of a program, read once when it starts."""

    known: tuple[Vendor, ...] = VENDORS
    """Users' vendors first and generic last; a user's vendor replaces ours of the same name."""
    files: tuple[File, ...] = ()

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest of users' vendor files, empty without any."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(hashlib.sha256(file.content).digest())
        return digest.hexdigest() if self.files else ""

    def named(self, name: str) -> Vendor:
        """Return the vendor of a name, or else the generic one."""
        return next((vendor for vendor in self.known if vendor.name == name), self.known[-1])


OURS = Vendors()
"""The vendors without a user's file."""


def load_vendors(paths: Sequence[str] | None = None) -> Vendors:
    """Read the vendor files of these paths, or else of the environment variable.

    Raises TraceError ``bad_vendor`` if one cannot be used.
    """
    paths = paths or [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    return parse_vendors(_file(Path(path)) for path in paths)


def parse_vendors(files: Iterable[File]) -> Vendors:
    """Build the vendors from the contents of files. Raises TraceError ``bad_vendor``."""
    files = tuple(files)
    users = [_vendor(Path(file.name), file.content) for file in files]
    names = {vendor.name for vendor in users}
    ours = [vendor for vendor in VENDORS if vendor.name not in names]
    known = sorted((*users, *ours), key=lambda vendor: vendor.name == GENERIC.name)
    return Vendors(tuple(known), files)


def _file(path: Path) -> File:
    try:
        return File(path.name, path.read_bytes())
    except OSError as error:
        raise _bad(
            path, say("The vendor file {name} cannot be read: {error}."), error=error.strerror
        ) from error


def _vendor(path: Path, content: bytes) -> Vendor:
    description = _read_description(path, content)
    values: dict[str, Any] = {}
    for name in Vendor.__struct_fields__:
        value = getattr(description, name)
        if value is None:
            continue
        if name == "peaks":
            value = tuple(_peak(path, one) for one in value)
        elif name == "processes":
            value = tuple(_process(path, one) for one in value)
        elif name in _PATTERNS:
            value = _pattern(path, name, value)
        elif name.endswith("_categories"):
            value = frozenset(category.lower() for category in value)
        values[name] = value
    values.setdefault("title", description.name)
    if description.extends is None:
        return Vendor(**values)
    for vendor in VENDORS:
        if vendor.name == description.extends:
            return replace(vendor, **values)
    have = ", ".join(vendor.name for vendor in VENDORS)
    raise _bad(
        path,
        say("The vendor file {name} extends {other!r}, which is none of {have}."),
        other=description.extends,
        have=have,
    )


def _read_description(path: Path, content: bytes) -> _Description:
    try:
        text = content.decode()
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        description = msgspec.convert(data, _Description)
    except (ValueError, RecursionError) as error:  # of all three, and of text that is not UTF-8
        raise _bad(
            path, say("The vendor file {name} cannot be used: {error}."), error=error
        ) from error
    if not description.name:
        raise _bad(path, say("The vendor file {name} cannot be used: its name is empty."))
    return description


def _pattern(path: Path, key: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, _PATTERNS[key])
    except re.error as error:
        raise _bad(
            path,
            say("The vendor file {name} has no valid regular expression as {key}: {error}."),
            key=key,
            error=error,
        ) from error


def _process(path: Path, process: _Process) -> DeviceProcess:
    names, threads, events = (
        None if pattern is None else _pattern(path, "processes", pattern)
        for pattern in (process.names, process.threads, process.events)
    )
    assert names is not None
    return DeviceProcess(names, process.category.lower(), threads, events)


def _peak(path: Path, peak: _Peak) -> Peak:
    names = _pattern(path, "device_names", peak.device_names)
    return Peak(
        names,
        (peak.matrix_tflops or _Rates()).rates(peak.half_tflops),
        (peak.vector_tflops or _Rates()).rates(),
        memory_gb_per_s=peak.memory_gb_per_s,
        cache_mb=peak.cache_mb,
        link=peak.link,
        link_gb_per_s=peak.link_gb_per_s,
        host_gb_per_s=peak.host_gb_per_s,
        source="user_file",
    )


def _bad(path: Path, template: Text, **values: Any) -> TraceError:
    return TraceError("bad_vendor", fill(template, name=path.name, **values), _HINT)
