"""Serve the built bundle: one entry file that is asked for anew, hashed assets that are kept."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from werkzeug.wrappers import Request, Response

BUNDLE = Path(__file__).parent / "static"
ENTRY = "index.js"

_TYPES = {
    # Not from ``mimetypes``: the Windows registry overrides that.
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_POLICY = "default-src 'self'"
"""A worker runs under the policy of its own response: with none it could reach any host."""

_NO_BUNDLE = b"""
export function render() {
  document.body.textContent =
    "The dashboard's bundle is missing from this installation. Run `make build` in the " +
    "repository, or install the tb-privateuse1 wheel.";
}
"""


def respond(request: Request, path: str) -> Response:
    """The file of the bundle at a relative path; 404 for everything else."""
    found = _file(path)
    if found is None:
        if path == ENTRY:
            return _response(request, _NO_BUNDLE, ".js", keep=False)
        return Response("not found", 404, content_type="text/plain; charset=utf-8")
    stat = found.stat()
    plain, packed = _content(found, stat.st_mtime_ns, stat.st_size)
    return _response(request, plain, found.suffix, keep=path != ENTRY, packed=packed)


def _file(path: str) -> Path | None:
    """A file inside the bundle, or None: nothing outside can be named."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        return None
    found = BUNDLE.joinpath(*parts)
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
    zipped = packed is not None and "gzip" in request.accept_encodings
    response = Response(packed if zipped and packed else plain, content_type=_TYPES[suffix])
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    # No ETag: TensorBoard warns of werkzeug's 304, which has no Content-Type.
    kept = "private, max-age=31536000, immutable" if keep else "no-cache"
    response.headers["Cache-Control"] = kept
    return response
