"""Engines that read traces: processes of this machine, or the workers of a Dask cluster."""

from tb_privateuse1.storage.engines.engine import Engine, Reading
from tb_privateuse1.storage.engines.selection import local_engine, local_readers, select_engine

__all__ = ["Engine", "Reading", "local_engine", "local_readers", "select_engine"]
