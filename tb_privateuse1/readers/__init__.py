"""Readers, one file per format: a file -> raw columns."""

__all__ = [
    "chrome",
    "raw",
    "sidecar",
]
