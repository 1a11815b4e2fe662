"""Find the runs and the running jobs of a logdir; no trace is parsed."""

__all__ = [
    "archive",
    "archive_streams",
    "catalog",
    "compressed_files",
    "daemon_pool",
    "file",
    "file_state",
    "formats",
    "live_jobs",
    "recording_request",
    "remote",
    "roots",
    "scanner",
    "trace_files",
    "trace_head",
    "walk",
    "workers",
]
