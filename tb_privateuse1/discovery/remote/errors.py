"""Translate errors of remote filesystems into messages and hints for the user.

Every driver raises its own errors. They are classified by common properties: builtin types, an
HTTP status, and words in the names of their types. A driver's own text is shown only if nothing
else is known, without the URLs' secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tb_privateuse1.discovery.remote.url import scrub, shown
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

_CREDENTIALS = re.compile("Credential|Authenti|RefreshError|TokenRetrieval|NoAuth")
_CONNECTION = re.compile("Connect|Disconnect|Payload|Timeout|SSL|Certificate|gaierror")
_DETAIL_LENGTH = 200


class RemoteError(TraceError, OSError):
    """A remote file or directory that cannot be read. Codes:

    ``remote_driver`` (fsspec or a driver is missing, or the URL's scheme is unknown),
    ``remote_credentials``, ``remote_denied``, ``no_such_path``, ``remote_unreachable`` (may pass:
    ask again), ``remote_changed`` and ``remote_failed`` (anything else).
    """

    @property
    def passing(self) -> bool:
        """Return whether the host may answer again soon, so that its known runs still count."""
        return self.code == "remote_unreachable"


def remote_error(error: BaseException, url: str) -> RemoteError:
    """Return the error for the user from a driver's error at a URL."""
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, RemoteError):
            return cause
    for classify in (_driver, _credentials, _http_status, _unreachable, _builtin):
        for cause in chain:
            if translation := classify(cause, shown(url)):
                return translation
    detail = " ".join(scrub(str(error)).split())[:_DETAIL_LENGTH]
    message = say(
        "{url} cannot be read: {kind}: {detail}",
        url=shown(url),
        kind=type(error).__name__,
        detail=detail,
    )
    return RemoteError("remote_failed", message)


def unreachable(url: str, why: str) -> RemoteError:
    """Return the error for a host that does not answer (any more)."""
    hint = say("Check the network and the address; it is tried again.")
    return RemoteError(
        "remote_unreachable", say("{url} cannot be read: {why}.", url=shown(url), why=why), hint
    )


def missing(url: str) -> RemoteError:
    """Return the error for a missing bucket, directory or file."""
    return RemoteError("no_such_path", say("There is no file or directory {url}.", url=shown(url)))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, the nearest first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _driver(error: BaseException, url: str) -> RemoteError | None:
    if not isinstance(error, ImportError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    message = say(
        "Reading {url} needs the Python package {package}, which is not installed.",
        url=url,
        package=package,
    )
    where = '"tb-privateuse1[remote]"' if package == "fsspec" else package
    hint = say("pip install {where}, in the environment that this runs in.", where=where)
    return RemoteError("remote_driver", message, hint)


def _credentials(error: BaseException, url: str) -> RemoteError | None:
    if not _CREDENTIALS.search(type(error).__name__):
        return None
    hint = say(
        "Set them up as the filesystem's own tools want them (environment variables, a "
        "profile), for the user that runs this."
    )
    message = say("{url} cannot be read: there are no valid credentials.", url=url)
    return RemoteError("remote_credentials", message, hint)


def _http_status(error: BaseException, url: str) -> RemoteError | None:
    """Classify by the HTTP status of a driver's error."""
    status = _status(error)
    if status in (401, 403, 407):
        return _denied(url, f" ({status})")
    if status in (404, 410):
        return missing(url)
    if status in (408, 425, 429) or (status is not None and status >= 500):
        return unreachable(url, say("the server answered {status}", status=status))
    return None


def _status(error: Any) -> int | None:
    response = getattr(error, "response", None)  # botocore's is a dict
    if isinstance(response, dict):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        status = getattr(error, "status", None) or getattr(error, "code", None)
    if isinstance(status, str) and status.isdecimal():
        status = int(status)
    return status if isinstance(status, int) and 400 <= status < 600 else None


def _unreachable(error: BaseException, url: str) -> RemoteError | None:
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return unreachable(url, say("there was no answer in time"))
    if isinstance(error, ConnectionError) or _CONNECTION.search(type(error).__name__):
        return unreachable(url, say("the connection failed ({kind})", kind=type(error).__name__))
    return None


def _builtin(error: BaseException, url: str) -> RemoteError | None:
    if isinstance(error, FileNotFoundError):
        return missing(url)
    if isinstance(error, PermissionError):
        return _denied(url)
    if isinstance(error, IsADirectoryError):
        return RemoteError("remote_failed", say("{url} is a directory.", url=url))
    return None


def _denied(url: str, status: str = "") -> RemoteError:
    hint = say(
        "The credentials in use must be allowed to list the directory and to read its files."
    )
    return RemoteError(
        "remote_denied",
        say("{url} cannot be read: access is denied{status}.", url=url, status=status),
        hint,
    )
