"""Read from a request's texts which file is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.export import FORMATS, FormatName
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views.request import parse_value, parse_whole

EXPORT = ("format", "start_ns", "end_ns")


def parse_export(texts: Mapping[str, str]) -> tuple[FormatName, Window]:
    """The format and the window that a query's texts name; ``format`` has to be there.

    Raises TraceError ``bad_option``.
    """
    if "format" not in texts:
        raise TraceError(
            "bad_option", say("format is missing: one of {names}.", names=", ".join(FORMATS))
        )
    name: FormatName = parse_value("format", texts["format"], FormatName)
    return name, Window(*(parse_whole(key, texts.get(key)) for key in EXPORT[1:]))
