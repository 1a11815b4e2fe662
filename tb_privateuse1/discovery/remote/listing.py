"""List the files below a URL with as few requests as its filesystem allows.

An object store lists everything below a prefix, a thousand objects per request, with size and time
of change. Other filesystems list directories one by one, a few at a time. A web server's page has
only names, so each wanted file costs a request of its own.

Names come from the server: a name that leads out of its directory is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from tb_privateuse1.discovery.remote.errors import RemoteError, missing
from tb_privateuse1.discovery.remote.filesystem import Server, server_of
from tb_privateuse1.discovery.remote.url import is_web, join, shown
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.findings import Finding

_DEPTH = 32
_DIRECTORIES = 20_000

_TIMES = (
    "mtime",
    "LastModified",
    "last_modified",
    "Last-Modified",
    "updated",
    "modified",
    "created",
)
_VERSIONS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "Content-MD5")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Status(Struct, frozen=True):
    """A remote file; ``mtime_ns`` is 0 if its filesystem does not have it."""

    url: str
    size: int
    mtime_ns: int
    version: str
    """Changes with the content: an ETag or the like."""


Keep = Callable[[str], bool]


def status(url: str) -> Status:
    """Return the present status of a file. Raises RemoteError."""
    server = server_of(url)
    info = server.call(url, lambda fs: fs.info(fs._strip_protocol(url)))
    found = _status(url, info)
    if found is None:
        message = say(
            "{url} cannot be read: its server does not say how large it is.", url=shown(url)
        )
        raise RemoteError("remote_failed", message)
    return found


def is_file(url: str) -> bool:
    """Return whether a URL is a file, not a directory. Raises RemoteError if it is neither."""
    server = server_of(url)

    def look(fs: Any) -> bool:
        path = fs._strip_protocol(url)
        info = fs.info(path)
        if info["type"] == "directory":
            return False
        # To a web server everything is a file, and a directory is a page.
        return not is_web(url) or not (path.endswith("/") or info.get("mimetype") == "text/html")

    return server.call(url, look)


def files_of(url: str, keep: Keep) -> list[Status]:
    """Return the files of one directory whose names pass ``keep``. Raises RemoteError."""
    server = server_of(url)
    base = server.call(url, lambda fs: _base(fs, url))
    listing = server.call(url, partial(_list, path=base))
    names, _, _ = _sort(url, base, listing)
    files = {name: info for name, info in names.items() if keep(_plain(url, name))}
    return sorted(_complete(server, url, files, []), key=lambda s: s.url)


def walk(
    url: str,
    keep_directory: Keep,
    keep_file: Keep,
    warnings: list[Finding],
    unread: list[str],
) -> Iterator[tuple[str, list[Status]]]:
    """Yield each directory from ``url`` down: its path below (``.`` for itself), its files.

    Links are not followed. A directory that cannot be listed, or a name that leads elsewhere, is a
    warning. ``unread`` gets the URLs of directories and files that exist but cannot be read.
    Raises RemoteError if the root cannot be listed, or the server stops answering.
    """
    server = server_of(url)
    base, at_once = server.call(url, lambda fs: (_base(fs, url), _lists_at_once(fs)))
    if at_once:
        listings = _all_at_once(server, url, base, keep_directory, warnings)
    else:
        listings = _one_by_one(server, url, base, keep_directory, warnings, unread)
    for below, names in listings:
        last = {name: _plain(url, name.rpartition("/")[2]) for name in names}
        files = {name: info for name, info in names.items() if keep_file(last[name])}
        yield below, sorted(_complete(server, url, files, unread), key=lambda s: s.url)


_Names = dict[str, Mapping[str, Any]]
"""Information by path below the root, as in the URL."""


def _all_at_once(
    server: Server, url: str, base: str, keep: Keep, warnings: list[Finding]
) -> Iterator[tuple[str, _Names]]:
    found = server.call(url, lambda fs: fs.find(base, detail=True).values(), bulk=True)
    names, _, refused = _sort(url, base, found)
    if not names:
        server.call(url, lambda fs: fs.info(base))  # an object store has no empty directories
    directories: dict[str, _Names] = {}
    for name, info in names.items():
        above = name.rpartition("/")[0]
        if all(keep(part) for part in above.split("/") if part):
            directories.setdefault(above, {})[name] = info
    for above in sorted(directories):
        yield above or ".", directories[above]
    _warn_refused(refused, url, warnings)


def _one_by_one(
    server: Server, url: str, base: str, keep: Keep, warnings: list[Finding], unread: list[str]
) -> Iterator[tuple[str, _Names]]:
    level, refused, listed = [""], 0, 0
    for _ in range(_DEPTH):
        calls = [(join(url, below), partial(_list, path=join(base, below))) for below in level]
        following: list[str] = []
        for below, listing in zip(level, server.each(calls), strict=True):
            if isinstance(listing, RemoteError):
                if not below:
                    raise listing
                if listing.code != "no_such_path":  # it may be gone by now
                    warnings.append(Finding("unreadable_directory", listing.message, listing.hint))
                    unread.append(join(url, below))
                continue
            names, directories, odd = _sort(url, join(base, below) if below else base, listing)
            refused += odd
            listed += 1
            within = f"{below}/" if below else ""
            following += [within + d for d in directories if "/" not in d and keep(_plain(url, d))]
            own = {within + name: info for name, info in names.items() if "/" not in name}
            yield _plain(url, below) or ".", own
        level = sorted(set(following))
        if not level:
            break
        if listed + len(level) > _DIRECTORIES:
            break
    if level:
        message = say(
            "{url} has more directories than are looked at; some are left out.", url=shown(url)
        )
        warnings.append(
            Finding("too_many_directories", message, say("Name a directory further down."))
        )
    _warn_refused(refused, url, warnings)


def _warn_refused(refused: int, url: str, warnings: list[Finding]) -> None:
    if refused:
        message = say(
            "The listing of {url} names places outside of it; they are left out.", url=shown(url)
        )
        warnings.append(Finding("refused_path", message, count=refused))


def _list(fs: Any, path: str) -> list[Mapping[str, Any]]:
    # A web server's directory is only one with a slash behind it.
    own = path.rstrip("/") + "/" if is_web(path) else path.rstrip("/")
    found: list[Mapping[str, Any]] = fs.ls(own, detail=True)
    return found


def _base(fs: Any, url: str) -> str:
    if is_web(url) and "?" in url:
        hint = say("Name a single trace, or set the token up for fsspec.")
        raise RemoteError("remote_failed", say("{url}?… cannot be listed.", url=shown(url)), hint)
    base: str = fs._strip_protocol(url)
    return base.rstrip("/")


def _lists_at_once(fs: Any) -> bool:
    """Return whether the driver overrides fsspec's generic recursive listing."""
    from fsspec.asyn import AsyncFileSystem
    from fsspec.spec import AbstractFileSystem

    kind = type(fs)
    if fs.async_impl:
        return kind._find is not AsyncFileSystem._find
    return kind.find is not AbstractFileSystem.find


def _sort(
    url: str, base: str, listing: Iterable[Mapping[str, Any]]
) -> tuple[_Names, list[str], int]:
    """Return files and directories by their path below the root, and the count of refused names."""
    names: _Names = {}
    directories: list[str] = []
    refused = 0
    for info in listing:
        name = str(info["name"])
        if not name.startswith(f"{base}/"):
            refused += name.rstrip("/") != base
            continue
        below = name[len(base) + 1 :].rstrip("/")
        parts = [_plain(url, part) for part in below.split("/")]
        if any(part in ("", ".") for part in parts):  # the directory itself, or a detour
            continue
        if any(part == ".." or re.search(r"[/\\\0]", part) for part in parts):
            refused += 1
        elif is_web(url) and re.search("[?#]", below):  # links that sort the page, and the like
            continue
        elif info["type"] == "directory":
            directories.append(below)
        elif info["type"] == "file":
            names[below] = info
    return names, directories, refused


def _plain(url: str, below: str) -> str:
    return unquote(below) if is_web(url) else below


def _complete(server: Server, url: str, names: _Names, unread: list[str]) -> Iterator[Status]:
    """Yield the status of listed files; requests those that the listing lacks one by one.

    ``unread`` gets the URLs of files that the server refuses.
    """
    lacking: list[tuple[str, Callable[[Any], Any]]] = []
    for name, info in names.items():
        file_url = join(url, name)
        if info.get("size") is None:
            lacking.append((file_url, partial(_info, path=info["name"])))
        elif complete := _status(file_url, info):
            yield complete
    for (file_url, _), answer in zip(lacking, server.each(lacking), strict=True):
        # A file without a status or size cannot be read either.
        if isinstance(answer, RemoteError):
            if answer.code != "no_such_path":
                unread.append(file_url)
        elif complete := _status(file_url, answer):
            yield complete


def _info(fs: Any, path: str) -> Mapping[str, Any]:
    info: Mapping[str, Any] = fs.info(path)
    return info


def _status(url: str, info: Mapping[str, Any]) -> Status | None:
    if info.get("size") is None:
        return None
    if info["type"] == "directory":
        raise missing(url)
    mtime_ns = next((_unix_ns(info[key]) for key in _TIMES if info.get(key)), 0)
    version = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
    return Status(url, int(info["size"]), mtime_ns, version.removeprefix("W/").strip('"'))


def _unix_ns(value: Any) -> int:
    """Return Unix time in ns from a datetime, seconds, ISO 8601 or HTTP's format; 0 if invalid."""
    import email.utils

    try:
        if isinstance(value, str):
            iso = value[:4].isdecimal()
            parse = datetime.fromisoformat if iso else email.utils.parsedate_to_datetime
            value = parse(value)
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return (aware - _EPOCH) // timedelta(microseconds=1) * 1000
        return round(float(value) * 1e6) * 1000
    except (ValueError, TypeError, OverflowError):
        return 0
