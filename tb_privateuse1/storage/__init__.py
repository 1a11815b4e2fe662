"""Traces and what is derived from them, on disk and in memory; reader processes and locks."""

__all__ = [
    "baseline_file",
    "cache_directory",
    "clients",
    "derived",
    "engines",
    "event_record",
    "file_identity",
    "ingest",
    "jobs",
    "memory_limit",
    "part_groups",
    "store",
]
