"""URLs as text: what is one, its parts, and how it is shown without what it may keep secret."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(?:::[a-zA-Z][a-zA-Z0-9+.-]+)*://")
"""At least two letters before the colon: ``C:/`` and ``C://`` are drives of Windows."""
_WEB = re.compile("https?://", re.IGNORECASE)
_USER = re.compile(r"://[^/?#\s'\"]*@")
_QUERY = re.compile(r"(://[^?#\s'\"]*)[?#][^\s'\"]*")


def is_url(path: str) -> bool:
    """Whether a path is to be read through fsspec, rather than from a local disk."""
    return "://" in path and _URL.match(path) is not None


def is_web(url: str) -> bool:
    """Whether it is percent-encoded and may have a query; in an object's key ``%`` is itself."""
    return _WEB.match(url) is not None


def scrub(text: str) -> str:
    """A text without the user names, passwords and queries of the URLs in it."""
    return _QUERY.sub(r"\1", _USER.sub("://", text))


def shown(url: str) -> str:
    """A URL as it may be shown."""
    user = _USER.sub("://", url)
    return user.partition("?")[0].partition("#")[0] if is_web(user) else _QUERY.sub(r"\1", user)


def host(url: str) -> str:
    """The part up to the path; what has it in common is read through one connection."""
    return url[: len(_bare(url)) - len(_path(url))]


def name(url: str) -> str:
    """The last part of the path, or the host if there is none."""
    path = _path(url).strip("/")
    if not path:
        return shown(url).partition("://")[2].strip("/")
    last = path.rpartition("/")[2]
    return unquote(last) if is_web(url) else last


def parent(url: str) -> str | None:
    """The directory of a file; None if it has a query, which would not fit the directory."""
    if _bare(url) != url:
        return None
    return url.rstrip("/").rpartition("/")[0]


def join(root: str, below: str) -> str:
    """The URL of what a listing of ``root`` calls ``below``."""
    return f"{root.rstrip('/')}/{below}" if below else root


def below(url: str, root: str) -> bool:
    """Whether a URL was listed below a root: ``s3://b/log2/x`` is not below ``s3://b/log``."""
    return url == root or url.startswith(root.rstrip("/") + "/")


def _bare(url: str) -> str:
    return url.partition("?")[0].partition("#")[0] if is_web(url) else url


def _path(url: str) -> str:
    rest = _bare(url).partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else ""


def web_host(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port (the scheme's own if there is none). Raises ValueError."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or usual
