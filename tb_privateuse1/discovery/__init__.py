"""Find the runs of a logdir by names, sizes and first bytes of files; no trace is parsed."""

__all__ = [
    "catalog",
    "daemon_pool",
    "file",
    "formats",
    "remote",
    "roots",
    "scanner",
    "trace_files",
    "trace_head",
    "walk",
]
