"""Writers of traces, one file per format (``formats``), reports, and SQL."""

__all__ = [
    "chrome",
    "collapsed",
    "formats",
    "formulas",
    "query",
    "reports",
    "sql",
    "time_window",
    "trace_tables",
    "work_columns",
]
