"""Engines that read traces: processes of this machine, or the workers of a Dask cluster."""

from tb_privateuse1.storage.engines.engine import Engine, EngineUse, Reader, Reading, Reads
from tb_privateuse1.storage.engines.selection import local_engine, local_readers, select_engine

__all__ = [
    "Engine",
    "EngineUse",
    "Reader",
    "Reading",
    "Reads",
    "local_engine",
    "local_readers",
    "select_engine",
]
