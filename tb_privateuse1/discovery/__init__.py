"""Find the runs and the running jobs of a logdir; no trace is parsed."""

__all__ = [
    "catalog",
    "daemon_pool",
    "file",
    "formats",
    "live_jobs",
    "recording_request",
    "remote",
    "roots",
    "scanner",
    "trace_files",
    "trace_head",
    "walk",
]
