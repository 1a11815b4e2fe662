"""Decide whose requests the server answers: those of its own pages, and of programs.

TensorBoard has no login, and any page that a browser shows can send requests to its address. So
two things must hold of each request for data. It calls the server by one of the server's names: a
foreign name that leads here (DNS rebinding) would make another site's page one of ours. And no
other site's page has sent it.

What proxies say of a client (``X-Forwarded-For``, ``Forwarded``, …) anybody can say. It is never a
reason to trust a client, only one to take it for a client of another machine.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import socket
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace
from werkzeug.wrappers import Request

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

VARIABLE = "TB_PRIVATEUSE1_HOSTS"

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_PROXY_HEADER = re.compile(
    r"via|.*(forwarded|proxy).*"
    r"|(.*-)?(client|real|remote|user|originating|connecting|socket|src)-?(ip(v?6)?|addr(ess)?)"
    r"|(cf|cdn|x-envoy|x-original|x-amz|x-amzn|x-azure|x-appengine|x-auth-request|fastly|fly)-.*"
    r"|((x-)?remote|x-webauth)-user|x-(scheme|cloud-trace-context)"
)
"""What proxies, balancers and login services add to a request, in lower case: by the words of such
names, since each product has its own. A browser or program without a proxy sends none of them."""
_CLIENT_HEADERS = (
    "X-Forwarded-For", "X-Real-IP", "X-Forwarded-User", "X-WebAuth-User", "Remote-User",
)  # fmt: skip
"""Which client of a proxy asks, or which user of a login service: nginx, Traefik, oauth2-proxy."""
_BROWSER = "Mozilla/"
"""Every browser's name of itself begins so, and no page can change that without asking first."""
_OURS = ("same-origin", "none")
"""Another port of the same machine is ``same-site``: it is another server all the same."""


class Access(Struct, frozen=True):
    """The names of the server besides its loopback names and addresses.

    ``names`` are as in an address, with the port where it is not the usual one.
    """

    names: frozenset[str] = frozenset()

    def with_names(self, names: Iterable[str]) -> Access:
        """Return the same with more names."""
        return replace(self, names=self.names.union(name.lower() for name in names))

    def check(self, request: Request) -> None:
        """Check a request for data. Raises TraceError ``foreign_host`` or ``other_site``."""
        self._check_host(request)
        site = request.headers.get("Sec-Fetch-Site")
        if site is not None:  # a page cannot set it
            is_ours = site in _OURS
        elif (page := _page(request)) is not None:
            is_ours = self._is_own(page, request)
        else:  # a browser that says nothing may hide another site's page
            is_ours = not request.headers.get("User-Agent", "").startswith(_BROWSER)
        if not is_ours:
            raise other_site(_page(request))

    def check_change(self, request: Request) -> None:
        """Check a request that changes something: a page of this very server must have sent it.

        Raises TraceError as ``check`` does. Every browser tells the ``Origin`` of a POST.
        """
        self._check_host(request)
        origin = request.headers.get("Origin", "")
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        if site != "same-origin" or not self._is_own(_netloc(origin), request):
            raise other_site(_page(request))

    def _check_host(self, request: Request) -> None:
        host = host_of(request)
        names = {_without_port(name) for name in self.names}
        # Nobody can make an address of numbers lead here that is not ours.
        if host is None or not (is_loopback(host) or host in names or _is_address(host)):
            hint = say(
                "Open TensorBoard at localhost, or start it with {setting}: see "
                "docs/guide/shared-server.md.",
                setting=_setting(_netloc_of(request)),
            )
            message = say("The name in this address is not one of this server.")
            raise TraceError("foreign_host", message, hint)

    def _is_own(self, page: str | None, request: Request) -> bool:
        """Return whether a page's host and port are ours; a proxy may have changed ``Host``."""
        return page is not None and (page == _netloc_of(request) or page in self.names)


def from_environment(
    host: str | None = None, environment: Mapping[str, str] = os.environ
) -> Access:
    """Return the access by the machine's name, TensorBoard's ``--host``, and the variable's."""
    own = socket.gethostname()
    named = environment.get(VARIABLE, "").split(",")
    names = (own, own.partition(".")[0], host or "", *(name.strip() for name in named))
    return Access().with_names(name for name in names if name)


def is_local(request: Request) -> bool:
    """Return whether a client on this machine asks, at a loopback name and behind no proxy.

    A proxy shows by what it adds to a request, or by its page's address.
    """
    if any(_PROXY_HEADER.fullmatch(name.lower()) for name, _ in request.headers):
        return False
    host, page = host_of(request), _page(request)
    if host is None or page not in (None, _netloc_of(request)):
        return False
    return is_loopback(host) and is_loopback(request.remote_addr or "")


def client_of(request: Request) -> str:
    """Return a name of who asks. It decides about turns alone: a client can make it up.

    It is a digest: headers may have any length, and names are remembered.
    """
    known = (request.headers.get(name, "") for name in _CLIENT_HEADERS)
    name = "\n".join([request.remote_addr or "", *known])
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()


def host_of(request: Request) -> str | None:
    """Return the name by which the client calls the server, without the port."""
    match = _HOST.fullmatch(_netloc_of(request))
    return match[1].strip("[]") if match else None


def is_loopback(host: str) -> bool:
    """Return whether a name or address is of this machine itself."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def other_site(page: str | None = None) -> TraceError:
    """Return the error for a request of another site's page, of this host and port if known."""
    hint = say(
        "If this is TensorBoard's own address behind a proxy, start it with {setting}: see "
        "docs/guide/shared-server.md.",
        setting=_setting(page or ""),
    )
    return TraceError("other_site", say("Another site's page may not do this."), hint)


def _setting(netloc: str) -> str:
    """Return the setting that makes a host and port one of the server's names."""
    return f"{VARIABLE}={netloc if _HOST.fullmatch(netloc) else 'NAME'}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _without_port(name: str) -> str:
    match = _HOST.fullmatch(name)
    return match[1].strip("[]") if match else name


def _page(request: Request) -> str | None:
    """Return host and port of the page that sent a request; empty: it hides them; None: no page."""
    for name in ("Origin", "Referer"):
        if (url := request.headers.get(name)) is not None:
            return _netloc(url) or ""
    return None


def _netloc(url: str) -> str | None:
    scheme, _, rest = url.lower().partition("://")
    return rest.partition("/")[0] if scheme in ("http", "https") else None


def _netloc_of(request: Request) -> str:
    return request.headers.get("Host", "").lower()
