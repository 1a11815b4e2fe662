"""The parameters of a run: what its program, TensorBoard and the recording say of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace.findings import LONGEST_NAME
from tb_privateuse1.trace.model import Trace

ParameterSource = Literal["hparams", "metadata", "environment"]

_MOST = 200
"""A configuration has some dozens of entries."""
_DEEPEST = 16
"""Mappings in mappings; json and the interpreter give up near 1,000."""
_NO_PARAMETERS = ("trace_id", "memory_pages")
"""Metadata that torch and the capture write of themselves: they differ in each recording."""


class RunParameter(Struct, frozen=True):
    """One parameter: of TensorBoard's hyperparameters, of the program's metadata, or of the
    machine.
    """

    name: str
    value: str
    number: float | None
    """The value where it is a number, but no flag."""
    source: ParameterSource


def parameters(values: Mapping[str, Any], source: ParameterSource) -> tuple[RunParameter, ...]:
    """Return parameters by name; what is a mapping has one for each entry, ``name.key``."""
    flat = list(_flat(values.items()))[:_MOST]
    return tuple(_parameter(name, value, source) for name, value in flat)


def trace_parameters(trace: Trace) -> tuple[RunParameter, ...]:
    """Return what a recording has: its program's metadata, and where it ran."""
    given = trace.metadata
    pairs = zip(given.key.tolist(), given.value.tolist(), strict=True)
    named = ((trace.text(key), trace.text(value)) for key, value in pairs)
    metadata = {key: _read(value) for key, value in named if key not in _NO_PARAMETERS}
    meta = trace.meta
    environment = {
        "torch": meta.torch_version,
        "vendor": meta.vendor if meta.devices or len(trace.kernels) else None,
        "host": meta.hostname,
        "world_size": meta.world_size,
        "distributed_backend": meta.distributed_backend,
    }
    known = {name: value for name, value in environment.items() if value is not None}
    return parameters(metadata, "metadata") + parameters(known, "environment")


def _read(text: str) -> Any:
    """Return the value of an entry, which is JSON or a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _flat(entries: Iterable[tuple[str, Any]], depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in entries:
        if isinstance(value, dict) and depth < _DEEPEST:
            inside = ((f"{name}.{key}", inner) for key, inner in value.items())
            yield from _flat(inside, depth + 1)
        elif value is not None:
            yield name, value


def _parameter(name: str, value: Any, source: ParameterSource) -> RunParameter:
    number = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) <= 1e300 and math.isfinite(value) else None
    if number is not None:
        text = f"{number:.15g}"
    else:
        text = value if isinstance(value, str) else _written(value)
        number = _number_of(text) if isinstance(value, str) else None
    return RunParameter(shorten(name, LONGEST_NAME), shorten(text, LONGEST_NAME), number, source)


def _written(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "…"


def _number_of(text: str) -> float | None:
    """Return the number that a text is, as ``add_metadata`` has texts alone."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
