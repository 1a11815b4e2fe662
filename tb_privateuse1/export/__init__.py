"""Writers of traces, one file per format (``formats``), reports, and SQL."""

__all__ = [
    "chrome",
    "formats",
    "formulas",
    "openmetrics",
    "query",
    "reports",
    "sql",
    "stacks_trace",
    "time_window",
    "trace_tables",
]
