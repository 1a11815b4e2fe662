"""Decide who may ask a running job for a recording: by default nobody.

TensorBoard has no login, and any page that a browser shows can send requests to ``localhost``. So
three things must hold. The server was started with the permission. The request comes from this
machine, or calls the server by a name that was allowed: a foreign name that leads here (DNS
rebinding) is none. And what changes something is sent by a page of this very server.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from werkzeug.wrappers import Request

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

VARIABLE = "TB_PRIVATEUSE1_RECORD"

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_OFF = ("", "off", "0", "no", "false")
_ON = ("on", "1", "yes", "true")
_PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")


@dataclass(frozen=True)
class Permission:
    """The permission to ask jobs, and the host names that hold besides the loopback ones."""

    is_on: bool = False
    hosts: frozenset[str] = frozenset()

    def allows(self, request: Request) -> bool:
        """Return whether who sends this request may see the running jobs."""
        host = _host(request)
        if not self.is_on or host is None:
            return False
        return host in self.hosts or (_is_local(request) and _is_loopback(host))

    def check(self, request: Request) -> None:
        """Raise TraceError ``record_off``, ``record_not_here`` or ``other_site``."""
        if not self.is_on:
            hint = say(
                "Start TensorBoard with TB_PRIVATEUSE1_RECORD=on: see docs/guide/record-now.md."
            )
            raise TraceError("record_off", say("This server asks no job for recordings."), hint)
        if not self.allows(request):
            hint = say("Open TensorBoard at localhost, or name its host in TB_PRIVATEUSE1_RECORD.")
            message = say("Recordings cannot be asked for from here.")
            raise TraceError("record_not_here", message, hint)
        # Another port of the same machine is ``same-site``: it is another server all the same.
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise _other_site()

    def check_change(self, request: Request) -> None:
        """Check a request that changes something; its page must be of this server.

        A form cannot send JSON, and a script of another site asks first, which nobody answers.
        Raises TraceError as ``check`` does.
        """
        self.check(request)
        origin = request.headers.get("Origin", "")
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        is_ours = origin.partition("://")[2].lower() == request.headers.get("Host", "").lower()
        is_web = origin.lower().startswith(("http://", "https://"))
        if not (is_ours and is_web and site == "same-origin"):
            raise _other_site()
        if request.mimetype != "application/json":
            raise _other_site()


def from_environment(environment: Mapping[str, str] = os.environ) -> Permission:
    """Return the permission that ``$TB_PRIVATEUSE1_RECORD`` gives: ``on``, or names of hosts."""
    names = environment.get(VARIABLE, "").lower().split(",")
    words = [name.strip().strip("[]") for name in names]
    if all(word in _OFF for word in words):
        return Permission()
    return Permission(True, frozenset(word for word in words if word not in (*_ON, *_OFF)))


def _other_site() -> TraceError:
    return TraceError("other_site", say("Another site's page may not do this."))


def _host(request: Request) -> str | None:
    """Return the name by which the client calls the server, without the port."""
    match = _HOST.fullmatch(request.headers.get("Host", "").lower())
    return match[1].strip("[]") if match else None


def _is_local(request: Request) -> bool:
    """Return whether the client is on this machine; one behind a proxy is not."""
    if any(name in request.headers for name in _PROXY_HEADERS):
        return False
    return _is_loopback(request.remote_addr or "")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
