"""All tables of a trace as Parquet or CSV: one file each, in a directory or a ZIP archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tb_privateuse1.export import atomic_output, formulas, trace_tables
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace


def archive(kind: str, trace: Trace, window: Window = EVERYTHING) -> Iterator[bytes]:
    """Yield a ZIP archive of ``<table>.parquet`` or ``.csv`` while it is made."""
    sink = _Sink()
    # Parquet is compressed already.
    method = zipfile.ZIP_STORED if kind == "parquet" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(sink, "w", method) as zip_file:
        for table in trace_tables.COLUMNS:
            # ZipInfo's fixed time makes archives of the same trace identical.
            entry = zipfile.ZipInfo(f"{table}.{kind}")
            entry.compress_type = method
            with zip_file.open(entry, "w", force_zip64=True) as file:
                for _ in _write(kind, file, trace, table, window):
                    yield sink.take()
            yield sink.take()
    yield sink.take()


def directory(kind: str, path: str, trace: Trace, window: Window = EVERYTHING) -> None:
    """Write the same files into a directory, creating it. Raises TraceError ``unwritable``."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = say("{path} cannot be made: {error}.", path=path, error=error.strerror)
        raise TraceError("unwritable", message) from error
    for table in trace_tables.COLUMNS:
        with atomic_output.replacing(str(Path(path, f"{table}.{kind}"))) as file:
            for _ in _write(kind, file, trace, table, window):
                pass


def _write(kind: str, file: IO[bytes], trace: Trace, table: str, window: Window) -> Iterator[None]:
    open_writer = {"parquet": _parquet, "csv": _csv}[kind]
    sink = pa.PythonFile(file, "w")
    with open_writer(sink, trace_tables.schema(table)) as writer:
        for batch in trace_tables.batches(trace, table, window):
            writer.write_batch(formulas.quote_formulas(batch) if kind == "csv" else batch)
            yield


# Imported on use: at module level they would delay every command.


def _parquet(sink: Any, schema: pa.Schema) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(sink, schema, compression="zstd")


def _csv(sink: Any, schema: pa.Schema) -> Any:
    from pyarrow import csv

    return csv.CSVWriter(sink, schema)


class _Sink(io.RawIOBase):
    """A write-only stream; ``take`` returns and removes the written bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Store the bytes and return their number."""
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
