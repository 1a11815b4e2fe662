"""Writers of traces, one file per format (``formats``), reports, and SQL."""

__all__ = [
    "chrome",
    "formats",
    "formulas",
    "openmetrics",
    "query",
    "reports",
    "sql",
    "time_window",
    "trace_tables",
]
