"""What lies in a logdir, by names, sizes and the first bytes of files; nothing is parsed."""

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
