"""The clock of a session, and what its report says of the machine, the devices and the rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.readers.sqlite.columns import Times, valid_times
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.trace.process_groups import RANK_LIMIT
from tb_privateuse1.trace.table import I64

_LIMIT_NS = 1 << 61
_GPU_FACTS = {
    "totalGlobalMem": "totalMemory",
    "computeMajor": "computeMajor",
    "computeMinor": "computeMinor",
    "numSms": "smCount",
    "warpSize": "threadsPerWarp",
    "maxThreadsPerBlock": "maxThreadsPerBlock",
    "regsPerMultiprocessor": "maxRegistersPerSm",
    "sharedMemPerMultiprocessor": "maxShmemPerSm",
}
"""Kineto's keys of what a device is, and the columns that have it."""


class Session:
    """The session's clock: ``start_ns`` is its start since 1970, 0 if the report has none."""

    def __init__(self, database: Database) -> None:
        starts = database.numbers(schema.START, ["utcEpochNs"])["utcEpochNs"]
        valid = starts[(starts > 0) & (starts < _LIMIT_NS)]
        self.start_ns = int(valid[0]) if len(valid) else 0

    def times(self, start_ns: I64, end_ns: I64) -> Times:
        """Return the rows with possible times, as times since 1970.

        What had begun before the session has a negative start in the file.
        """
        times = valid_times(start_ns, end_ns, -_LIMIT_NS)
        return replace(
            times, start_ns=times.start_ns + self.start_ns, end_ns=times.end_ns + self.start_ns
        )


def read_metadata(database: Database, several_processes: bool) -> dict[str, Any]:
    """Return the metadata of a trace: devices, host, and the rank if there is one only."""
    metadata: dict[str, Any] = {}
    if devices := _devices(database, several_processes):
        metadata["deviceProperties"] = devices
    for name, value in database.texts(schema.SYSTEM, ["name", "value"]):
        if name == "Hostname" and value:
            metadata["host_name"] = value
    ranks = np.unique(database.numbers(schema.RANKS, ["rank"])["rank"])
    if len(ranks) == 1 and 0 <= ranks[0] < RANK_LIMIT:
        metadata["distributedInfo"] = {"rank": int(ranks[0])}
    return metadata


def _devices(database: Database, several_processes: bool) -> list[dict[str, Any]]:
    """Return the properties of devices, by the number under which their work is shown."""
    columns = ["id", *_GPU_FACTS.values()]
    table = database.numbers(schema.GPUS, columns)
    names = [name for (name,) in database.texts(schema.GPUS, ["name"])]
    known: dict[int, dict[str, Any]] = {}
    for row, (number, name) in enumerate(zip(table["id"].tolist(), names, strict=False)):
        facts = {key: int(table[column][row]) for key, column in _GPU_FACTS.items()}
        known[number] = {"name": name} | {k: v for k, v in facts.items() if v > 0}
    seen = database.numbers(schema.DEVICES, ["gpuId", "cudaId"])
    number = seen["gpuId"] if several_processes else seen["cudaId"]
    pairs = zip(number.tolist(), seen["gpuId"].tolist(), strict=True)
    shown = {own: known[gpu] for own, gpu in pairs if gpu in known and own >= 0} or known
    return [{"id": own, **facts} for own, facts in sorted(shown.items()) if 0 <= own < 1 << 31]
