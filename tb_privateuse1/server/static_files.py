"""Serve the built bundle: an entry file without caching, hashed assets with it."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from pathlib import Path

from werkzeug.wrappers import Request, Response

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

BUNDLE = Path(__file__).parent / "static"
"""Made by ``make`` or ``pip install``; not in the repository."""

PLUGIN, ENTRY = "privateuse1", "index.js"
"""The names that TensorBoard knows."""

_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*")

_TYPES = {
    # Not from ``mimetypes``: the Windows registry overrides that.
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".md": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_HASHED = re.compile(r"assets/[^/]+-[A-Za-z0-9_-]{8}\.[a-z0-9]+")
"""Vite's names of files whose content cannot change."""

_POLICY = "default-src 'self'"
"""A worker runs under the policy of its own response: with none it could reach any host."""

_NO_BUNDLE = b"""
export function render() {
  document.body.textContent =
    "The dashboard's pages are missing from this installation of tb-privateuse1. In the " +
    "repository run `make build` or `pip install .`; elsewhere install its wheel again.";
}
"""


def respond(request: Request, path: str) -> Response:
    """Return the file of the bundle at a relative path. Raises TraceError ``unknown_file``."""
    found = _file(path)
    if found is None:
        if path == ENTRY:
            return _response(request, _NO_BUNDLE, ".js", keep=False)
        raise TraceError("unknown_file", say("There is no such file."))
    stat = found.stat()
    plain, packed = _content(found, stat.st_mtime_ns, stat.st_size)
    keep = _HASHED.fullmatch(path) is not None
    return _response(request, plain, found.suffix, keep=keep, packed=packed)


def _file(path: str) -> Path | None:
    """Return a file inside the bundle, or None: a path outside has no file."""
    if not _NAME.fullmatch(path):
        return None
    found = BUNDLE / path
    if found.suffix not in _TYPES or not found.is_file():
        return None
    return found if found.resolve().is_relative_to(BUNDLE.resolve()) else None


@lru_cache(maxsize=64)
def _content(path: Path, _mtime_ns: int, _size: int) -> tuple[bytes, bytes]:
    plain = path.read_bytes()
    return plain, gzip.compress(plain, 9, mtime=0)


def _response(
    request: Request, plain: bytes, suffix: str, *, keep: bool, packed: bytes | None = None
) -> Response:
    zipped = packed is not None and request.accept_encodings.quality("gzip") > 0
    response = Response(packed if zipped and packed else plain, content_type=_TYPES[suffix])
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    # No ETag: TensorBoard warns of werkzeug's 304, which has no Content-Type.
    caching = "private, max-age=31536000, immutable" if keep else "no-cache"
    response.headers["Cache-Control"] = caching
    return response
