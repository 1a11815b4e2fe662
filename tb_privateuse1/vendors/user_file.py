"""Vendors that users describe in a file of data (docs/reference/vendors.md)."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.vendor import GENERIC, Peak, Vendor
from tb_privateuse1.vendors import VENDORS

VARIABLE = "TB_PRIVATEUSE1_VENDOR"
"""The environment variable with the files' paths, separated as in ``PATH``."""

_HINT = say("docs/reference/vendors.md says what a vendor file may hold.")


_Figure = Annotated[float, msgspec.Meta(gt=0, lt=1e9)]
_Prefix = Annotated[str, msgspec.Meta(min_length=1)]
_GpuApi = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Peak(msgspec.Struct, forbid_unknown_fields=True):
    """What devices of some names can do at best."""

    device_names: str
    half_tflops: _Figure | None = None
    memory_gb_per_s: _Figure | None = None


class _Described(msgspec.Struct, forbid_unknown_fields=True):
    """What a file may say; what it leaves out is as ``extends`` or a generic device has it."""

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
    product_multiple: int | None = None
    matrix_unit: str | None = None
    matrix_names: str | None = None
    communication_prefixes: tuple[_Prefix, ...] | None = None
    operator_prefixes: tuple[_Prefix, ...] | None = None
    runtime_prefixes: tuple[_Prefix, ...] | None = None
    shares_backend: bool | None = None
    device_type_name: str | None = None
    perfetto_gpu_api: _GpuApi | None = None
    compute_units: str | None = None
    peaks: tuple[_Peak, ...] | None = None


msgspec.json.Decoder(_Described)  # here, as in ``cache``

_PATTERNS = {
    "device_names": re.IGNORECASE,
    "launch_categories": 0,
    "communication_names": 0,
    "slow_products": 0,
    "matrix_names": 0,
}


@dataclass(frozen=True)
class File:
    """A vendor file as it was read; one process hands it to another."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Vendors:
    """The vendors that a program knows, read once when it starts."""

    known: tuple[Vendor, ...] = VENDORS
    """Users' first and generic last; theirs replace ours of the same name."""
    files: tuple[File, ...] = ()

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of users' vendor files, empty without any."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(hashlib.sha256(file.content).digest())
        return digest.hexdigest() if self.files else ""

    def named(self, name: str) -> Vendor:
        """Return the vendor of a name, the generic one if there is none."""
        return next((vendor for vendor in self.known if vendor.name == name), self.known[-1])


OURS = Vendors()
"""Those without a user's file."""


def chosen(paths: Sequence[str] | None = None) -> Vendors:
    """Read the files of these paths, or else those that the environment variable names.

    Raises TraceError ``bad_vendor`` if one cannot be used.
    """
    named = paths or [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    return parsed(_file(Path(path)) for path in named)


def parsed(files: Iterable[File]) -> Vendors:
    """Build the vendors of files that are read. Raises TraceError ``bad_vendor``."""
    files = tuple(files)
    own = [_vendor(Path(file.name), file.content) for file in files]
    names = {vendor.name for vendor in own}
    ours = [vendor for vendor in VENDORS if vendor.name not in names]
    known = sorted((*own, *ours), key=lambda vendor: vendor.name == GENERIC.name)
    return Vendors(tuple(known), files)


def _file(path: Path) -> File:
    try:
        return File(path.name, path.read_bytes())
    except OSError as error:
        raise _bad(
            path, say("The vendor file {name} cannot be read: {error}."), error=error.strerror
        ) from error


def _vendor(path: Path, content: bytes) -> Vendor:
    told = _described(path, content)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Vendor):
        value = getattr(told, field.name)
        if value is None:
            continue
        if field.name in _PATTERNS:
            value = _pattern(path, field.name, value)
        elif field.name == "peaks":
            value = tuple(_peak(path, one) for one in value)
        elif field.name.endswith("_categories"):
            value = frozenset(category.lower() for category in value)
        values[field.name] = value
    values.setdefault("title", told.name)
    if told.extends is None:
        return Vendor(**values)
    for vendor in VENDORS:
        if vendor.name == told.extends:
            return dataclasses.replace(vendor, **values)
    have = ", ".join(vendor.name for vendor in VENDORS)
    raise _bad(
        path,
        say("The vendor file {name} extends {other!r}, which is none of {have}."),
        other=told.extends,
        have=have,
    )


def _described(path: Path, content: bytes) -> _Described:
    try:
        text = content.decode()
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        told = msgspec.convert(data, _Described)
    except (ValueError, RecursionError) as error:  # of all three, and of what is no UTF-8
        raise _bad(
            path, say("The vendor file {name} cannot be used: {error}."), error=error
        ) from error
    if not told.name:
        raise _bad(path, say("The vendor file {name} cannot be used: its name is empty."))
    return told


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


def _peak(path: Path, told: _Peak) -> Peak:
    names = _pattern(path, "device_names", told.device_names)
    return Peak(names, told.half_tflops, told.memory_gb_per_s)


def _bad(path: Path, template: Text, **values: Any) -> TraceError:
    return TraceError("bad_vendor", fill(template, name=path.name, **values), _HINT)
