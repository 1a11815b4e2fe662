"""Parser of export requests: the format and the time window."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.export.formats import FORMATS, FormatName
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views.request import parse_value, parse_whole

EXPORT = ("format", "start_ns", "end_ns")


def parse_export(texts: Mapping[str, str]) -> tuple[FormatName, Window]:
    """Return the format and the window of a query's texts.

    Raises TraceError ``bad_option``, also without ``format``.
    """
    if "format" not in texts:
        raise TraceError(
            "bad_option", say("format is missing: one of {names}.", names=", ".join(FORMATS))
        )
    name: FormatName = parse_value("format", texts["format"], FormatName)
    return name, Window(*(parse_whole(key, texts.get(key)) for key in EXPORT[1:]))
