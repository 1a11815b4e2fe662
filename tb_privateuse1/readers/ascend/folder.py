"""Add to a recording's events what the other files of its folder have.

These are tables that torch_npu writes beside the events (its ``profiler/analysis``): times are
texts in µs with three decimals and a tab behind, sizes are in KB and MB of 1024. Only what the
events lack is taken, so that nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace
from pyarrow import csv

from tb_privateuse1.discovery.file import basename, open_file
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.ascend import memory, metadata, schema
from tb_privateuse1.readers.decompress import read_bytes
from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.readers.sqlite.database import ABSENT
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_KERNELS, _BLOCKS = "kernel_details.csv", "operator_memory.csv"
_MOST_JSON = 64 << 20
_MOST_CSV = 4 << 30
_TIME = r"^\s*(?P<us>[0-9]{1,16})(?:\.(?P<ns>[0-9]{0,3})[0-9]*)?\s*$"
_NOTHING = ("", "N/A", "NA", "nan", "None")

_SIZES = {
    "Size(KB)": ("size", 1 << 10),
    "Allocation Total Allocated(MB)": ("allocationTotalAllocated", 1 << 20),
    "Allocation Total Reserved(MB)": ("allocationTotalReserved", 1 << 20),
    "Release Total Allocated(MB)": ("releaseTotalAllocated", 1 << 20),
    "Release Total Reserved(MB)": ("releaseTotalReserved", 1 << 20),
}
_TIMES = {
    "Allocation Time(us)": "allocationTime",
    "Release Time(us)": "releaseTime",
    "Active Release Time(us)": "activeReleaseTime",
}


def add(raw: Raw, path: str) -> Raw:
    """Return the raw columns with what a file of the folder adds.

    Raises TraceError ``part_unreadable``, or ``discovery.remote.RemoteError``.
    """
    name = basename(path)
    try:
        if name.endswith(".json"):
            return _with_facts(raw, metadata.decoded(read_bytes(path, _MOST_JSON)))
        if name == _BLOCKS and not len(raw.memory):
            return _with_blocks(raw, path)
        return _with_units(raw, path) if name == _KERNELS else raw
    except RemoteError:
        raise
    except (TraceError, OSError, pa.ArrowException) as error:
        message = say("{name} cannot be read: {error}", name=name, error=_line(error))
        raise TraceError("part_unreadable", message) from error


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _with_facts(raw: Raw, facts: Any) -> Raw:
    """Return the trace with the metadata of a file, where it has none of its own.

    Raises TraceError if the file is no JSON object.
    """
    if not isinstance(facts, dict):
        raise TraceError("not_json", say("It is no JSON object."))
    known = metadata.options(facts)
    group = {**metadata.distributed_info(None, facts), **known.pop("distributedInfo", {})}
    before = raw.metadata.get("distributedInfo")
    groups = {k: v for k, v in facts.items() if k == metadata.GROUPS}
    merged = {**known, **groups, **raw.metadata}
    if group:
        merged["distributedInfo"] = {**group, **(before if isinstance(before, dict) else {})}
    return replace(raw, metadata=merged)


def _with_blocks(raw: Raw, path: str) -> Raw:
    """Return the trace with the memory events of ``operator_memory.csv``."""
    table = _table(path, ["Name", *_TIMES, *_SIZES, "Device Type"])
    strings = Strings(raw.strings)
    blocks = {column: _times(table, title) for title, column in _TIMES.items()}
    for title, (column, unit) in _SIZES.items():
        blocks[column] = _sizes(table, title, unit)
    # The trace numbers its devices from 0, in their order.
    number = _device(table)
    _, order = np.unique(number[number >= 0], return_inverse=True)
    number[number >= 0] = order
    blocks["deviceId"] = number
    name = _indices(table, "Name", strings)
    label = strings.index("[memory]")
    events, _ = memory.memory_events(blocks, name, raw.groups.get("cpu_op"), label, NONE)
    if not len(raw.threads):
        return raw
    findings = (*raw.findings, *_damaged_rows(table, blocks))
    return replace(raw, memory=events, strings=tuple(strings.all), findings=findings)


def _damaged_rows(table: Any, blocks: dict[str, I64]) -> Iterator[Finding]:
    """Say how many rows of blocks are left out, or lack a value that cannot be read."""
    is_damaged = memory.is_damaged(blocks)
    titles = {**_TIMES, **{title: column for title, (column, _) in _SIZES.items()}}
    for title, column in titles.items():
        is_given = pc.invert(pc.is_in(_text(table, title), value_set=pa.array(_NOTHING)))
        is_damaged |= np.asarray(is_given, np.bool_) & (blocks[column] == ABSENT)
    if count := int(is_damaged.sum()):
        message = say("Times or sizes of some rows in {name} cannot be used.", name=_BLOCKS)
        hint = say("Without time or size of its allocation, a block is left out.")
        yield Finding("part_unreadable", message, hint, count=count, affects=("memory",))


def _with_units(raw: Raw, path: str) -> Raw:
    """Return the trace whose kernels have the unit and the cores of ``kernel_details.csv``."""
    found = list(_kernels(raw))
    if not found or all((group.text("grid") >= 0).any() for _, group in found):
        return raw
    table = _table(path, ["Name", "Start Time(us)", "Accelerator Core", "Block Num", "Block Dim"])
    strings = Strings(raw.strings)
    start, name = _times(table, "Start Time(us)"), _indices(table, "Name", strings)
    unit = _indices(table, "Accelerator Core", strings)
    cores = _text(table, "Block Num" if "Block Num" in table.column_names else "Block Dim")
    grid = strings.convert(_indices_of(cores, strings), _grid)
    groups = dict(raw.groups)
    for category, group in found:
        row = _rows(start, name, group)
        texts = dict(group.texts)
        for key, column in (("unit", unit), ("grid", grid)):
            value = lookup(column, row, NONE)
            texts[key] = np.where(value >= 0, value, group.text(key)).astype(np.int32)
        groups[category] = replace(group, texts=texts)
    return replace(raw, groups=groups, strings=tuple(strings.all))


def _kernels(raw: Raw) -> Iterator[tuple[str, Group]]:
    """Yield the events of the device's process, by category."""
    pids = [pid for pid, name in raw.process_names.items() if name == schema.HARDWARE]
    index = [i for i, text in enumerate(raw.strings) if text in pids]
    of_device = np.isin(raw.threads.pid, index)
    for category, group in raw.groups.items():
        if len(group) and of_device[group.thread].any():
            yield category, group


def _rows(start: I64, name: I32, group: Group) -> I64:
    """Return the row of the same start and name for each event, -1 without one."""
    instants, code = np.unique(np.concatenate((start, group.start_ns)), return_inverse=True)
    step = len(instants)
    key = name.astype(np.int64) * step + code[: len(start)]
    wanted = group.name.astype(np.int64) * step + code[len(start) :]
    if not len(key):
        return np.full(len(group), NONE, np.int64)
    order = np.argsort(key, kind="stable")
    at = order[np.minimum(np.searchsorted(key, wanted, sorter=order), len(key) - 1)]
    return np.where(key[at] == wanted, at, NONE)


def _table(path: str, columns: Sequence[str]) -> Any:
    """Return some columns of a table as texts; those that it does not have are left out."""
    with open_file(path) as file:
        if file.seek(0, 2) > _MOST_CSV:
            raise TraceError("too_large", say("{path} is too large.", path=path))
        file.seek(0)
        first = file.readline(1 << 16).decode("utf-8", "replace").strip()
        there = [title.strip() for title in first.removeprefix("\ufeff").split(",")]
        wanted = [column for column in columns if column in there]
        file.seek(0)
        convert = csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, pa.string()),
            strings_can_be_null=False,
        )
        return csv.read_csv(
            file,
            read_options=csv.ReadOptions(use_threads=False),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=convert,
        )


def _text(table: Any, title: str) -> Any:
    """Return a column of texts without space around them; empty ones without the column."""
    if title not in table.column_names:
        return pa.array([""] * table.num_rows, pa.string())
    return pc.utf8_trim_whitespace(table[title].combine_chunks())


def _times(table: Any, title: str) -> I64:
    """Return times in ns, ``ABSENT`` where there is none."""
    parts = pc.extract_regex(_text(table, title), _TIME)
    us = pc.cast(pc.struct_field(parts, "us"), pa.int64())
    ns = pc.cast(pc.utf8_rpad(pc.struct_field(parts, "ns"), 3, "0"), pa.int64())
    total = pc.add(pc.multiply(us, 1000), pc.fill_null(ns, 0))
    return np.asarray(pc.fill_null(total, ABSENT), np.int64).copy()


def _sizes(table: Any, title: str, unit: int) -> I64:
    """Return sizes in bytes, ``ABSENT`` where there is none."""
    texts = _text(table, title)
    number = pc.match_substring_regex(texts, r"^-?[0-9]{1,15}(\.[0-9]*)?([eE]-?[0-9]{1,2})?$")
    values = pc.cast(pc.if_else(number, texts, "nan"), pa.float64())
    floats = np.asarray(values, np.float64) * unit
    known = np.isfinite(floats) & (np.abs(floats) < 1 << 60)
    return np.where(known, np.rint(np.where(known, floats, 0)), ABSENT).astype(np.int64)


def _device(table: Any) -> I64:
    """Return the device's number of ``NPU:3``, absent for the host."""
    parts = pc.extract_regex(_text(table, "Device Type"), r":(?P<number>[0-9]{1,9})$")
    number = pc.cast(pc.struct_field(parts, "number"), pa.int64())
    return np.asarray(pc.fill_null(number, ABSENT), np.int64).copy()


def _indices(table: Any, title: str, strings: Strings) -> I32:
    return _indices_of(_text(table, title), strings)


def _indices_of(texts: Any, strings: Strings) -> I32:
    """Return the index of each text, ``NONE`` for what stands for nothing."""
    encoded = pc.dictionary_encode(texts)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    distinct = encoded.dictionary.to_pylist()
    index = [NONE if text in _NOTHING else strings.index(text) for text in distinct]
    codes = np.asarray(encoded.indices, np.int64)
    return np.array([*index, NONE], np.int32)[codes] if len(codes) else np.empty(0, np.int32)


def _grid(cores: str) -> str:
    """Return the number of cores as a grid of one dimension, JSON; empty if it is no number."""
    number = cores.partition(".")[0]
    return f"[{int(number)},1,1]" if number.isdecimal() and 0 < len(number) < 10 else ""
