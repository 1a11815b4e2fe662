"""Parse URLs, and show them without their secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(?:::[a-zA-Z][a-zA-Z0-9+.-]+)*://")
"""At least two letters before the colon: ``C:/`` and ``C://`` are drives of Windows."""
_WEB = re.compile("https?://", re.IGNORECASE)
_USER = re.compile(r"://[^/?#\s'\"]*@")
_QUERY = re.compile(r"(://[^?#\s'\"]*)[?#][^\s'\"]*")


def is_url(path: str) -> bool:
    """Return whether fsspec reads a path, not the local filesystem."""
    return "://" in path and _URL.match(path) is not None


def is_web(url: str) -> bool:
    """Return whether a URL is percent-encoded and may have a query, unlike an object's key."""
    return _WEB.match(url) is not None


def scrub(text: str) -> str:
    """Return a text without the user names, passwords and queries of its URLs."""
    return _QUERY.sub(r"\1", _USER.sub("://", text))


def shown(url: str) -> str:
    """Return a URL without user, password and query."""
    user = _USER.sub("://", url)
    return user.partition("?")[0].partition("#")[0] if is_web(user) else _QUERY.sub(r"\1", user)


def host(url: str) -> str:
    """Return the part up to the path: URLs that share it share a connection."""
    return url[: len(_bare(url)) - len(_path(url))]


def name(url: str) -> str:
    """Return the last part of the path, or the host if there is no path."""
    path = _path(url).strip("/")
    if not path:
        return shown(url).partition("://")[2].strip("/")
    last = path.rpartition("/")[2]
    return unquote(last) if is_web(url) else last


def parent(url: str) -> str | None:
    """Return the directory of a file; None if the URL has a query, which is the file's alone."""
    if _bare(url) != url:
        return None
    return url.rstrip("/").rpartition("/")[0]


def join(root: str, below: str) -> str:
    """Return the URL of a path ``below`` the ``root``."""
    return f"{root.rstrip('/')}/{below}" if below else root


def below(url: str, root: str) -> bool:
    """Return whether a URL is below a root: ``s3://b/log2/x`` is not below ``s3://b/log``."""
    return url == root or url.startswith(root.rstrip("/") + "/")


def _bare(url: str) -> str:
    return url.partition("?")[0].partition("#")[0] if is_web(url) else url


def _path(url: str) -> str:
    rest = _bare(url).partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else ""


def web_host(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port, by default the scheme's own port. Raises ValueError."""
    parts = urlsplit(url)
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default_port
