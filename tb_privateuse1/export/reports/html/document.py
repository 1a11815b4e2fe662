"""The HTML file of a report: its style, its data as JSON, and the pages' script, in one file.

Nothing in it can load anything: the content security policy allows its own script and style by
their digests, and no connection. Text of a trace is data in JSON, which the script shows as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import partial
from importlib import resources
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.export.reports import summary
from tb_privateuse1.export.reports.html import budget
from tb_privateuse1.export.reports.html.budget import Cut
from tb_privateuse1.export.reports.html.contents import Report, attempt
from tb_privateuse1.export.reports.html.timeline_levels import Levels, build_levels
from tb_privateuse1.i18n import LANGUAGES, say
from tb_privateuse1.i18n.units import plain_text, shorten
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader

MOST_BYTES = 2_000_000
"""A report is shorter, whatever the recording: it goes into a mail."""
_OF_DATA = 400_000
"""The most bytes of JSON."""
_OF_LEVELS = 900_000
"""The most bytes of the timeline."""
_OF_TITLE = 200

_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


class Additions(Struct, frozen=True):
    """Data of a report besides the fields of ``Report``."""

    timeline: Levels
    cuts: tuple[Cut, ...]
    """The lists that the report has only a part of."""


def document(reader: Reader, report: Report, language: str = LANGUAGES[0]) -> bytes:
    """Return the HTML file of a report, shorter than ``MOST_BYTES``.

    Raises TraceError: ``no_bundle`` if the package was built without its pages.
    """
    script, style = _bundle("report.js"), _bundle("style.css")
    levels = Levels((), 0)
    texts: dict[str, str] = {}
    if report.trace is not None:
        trace, failures = report.trace, list(report.trace.failures)
        work = partial(build_levels, reader, trace, _OF_LEVELS, language)
        levels, texts = attempt("timeline", work, failures) or (levels, texts)
        trace = replace(trace, failures=tuple(failures))
        report = replace(report, trace=trace)
    data = _data(report, levels, language)
    elements = "".join(
        f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in texts.items()
    )
    title = html.escape(plain_text(shorten(report.title, _OF_TITLE)))
    policy = _POLICY.format(script=_digest(script), style=_digest(style))
    without = html.escape(summary.markdown(report))
    off = say("This report needs JavaScript, which is off. Its summary:")
    note: str = json.loads(encode(off, language))
    found = (
        f'<!doctype html>\n<html lang="{language}" data-language="{language}">\n<head>\n'
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="tb_privateuse1 {html.escape(report.version)}">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<noscript><p>{html.escape(note)}</p><pre>{without}</pre></noscript>\n"
        f'<div id="report"></div>\n<script type="application/json" id="data">'
    ).encode()
    found += data + f'</script>\n{elements}<script type="module">{script}</script>\n'.encode()
    found += b"</body>\n</html>\n"
    assert len(found) < MOST_BYTES, "its parts have shares of these bytes"
    return found


def require_bundle() -> None:
    """Raise TraceError ``no_bundle`` at once, rather than when the figures are ready."""
    _bundle("report.js")


def _data(report: Report, levels: Levels, language: str) -> bytes:
    plain: dict[str, Any] = json.loads(encode(report, language))
    value, cuts, _ = budget.fit(plain, _OF_DATA)
    more: dict[str, Any] = json.loads(encode(Additions(levels, cuts), language))
    return budget.to_script(value | more)


def _bundle(name: str) -> str:
    file = resources.files("tb_privateuse1.export.reports.html") / "bundle" / name
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError as error:
        message = say("This installation has no script for reports: {name} is missing.", name=name)
        hint = say("Install it from a wheel, or build the pages: python setup.py bundle")
        raise TraceError("no_bundle", message, hint) from error
    # Neither may end its element.
    return text.replace("</script", "<\\/script").replace("</style", "<\\/style")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
