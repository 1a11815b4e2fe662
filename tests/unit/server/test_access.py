"""Whose requests are answered: by the name they call, and by the page that sent them."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from tb_privateuse1.server import access
from tb_privateuse1.server.access import Access
from tb_privateuse1.trace.errors import TraceError

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140"
HERE = "localhost:6006"


def request(address: str = "127.0.0.1", **headers: str) -> Request:
    """A request with these headers; by default a program's on this machine."""
    sent = {"Host": HERE} | {name.replace("_", "-"): value for name, value in headers.items()}
    base = {"REMOTE_ADDR": address}
    return Request(EnvironBuilder(headers=Headers(sent), environ_base=base).get_environ())


def refused(sent: Request, names: tuple[str, ...] = (), *, change: bool = False) -> str | None:
    """The code of the error; None: it is answered."""
    one = Access().with_names(names)
    try:
        (one.check_change if change else one.check)(sent)
    except TraceError as error:
        return error.code
    return None


@pytest.mark.parametrize(
    "host",
    ["localhost", HERE, "LOCALHOST:80", "127.0.0.1:6006", "[::1]:6006", "10.0.0.7:6006", "0.0.0.0"],
)
def test_names_and_addresses_of_the_server(host: str) -> None:
    assert refused(request(Host=host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:6006",  # DNS rebinding: the name leads to this machine
        "localhost.evil.example:6006",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "gpu7",
        "2130706433.example",
        "",
        "a b",
    ],
)
@pytest.mark.parametrize("change", [False, True])
def test_foreign_names(host: str, change: bool) -> None:
    page = {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    sent = request(Host=host, X_Forwarded_Host="localhost", User_Agent=BROWSER, **page)
    assert refused(sent, change=change) == "foreign_host"


def test_named_hosts() -> None:
    for host in ("gpu7.example", "gpu7.example:6006"):
        assert refused(request(Host=host), ("gpu7.example",)) is None
    assert refused(request(Host="other.gpu7.example"), ("gpu7.example",)) == "foreign_host"
    assert refused(request(Host="tb.example:8080"), ("tb.example:8080",)) is None


def test_the_environment_names_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Node3.cluster.example")
    made = access.from_environment("gpu7", {access.VARIABLE: " tb.example , other:80 "})
    expected = {"node3", "node3.cluster.example", "gpu7", "tb.example", "other:80"}
    assert made.names == expected
    assert access.from_environment(None, {}).names == {"node3", "node3.cluster.example"}


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, None),  # a program
        ({"Sec-Fetch-Site": "same-origin"}, None),
        ({"Sec-Fetch-Site": "none"}, None),  # its address was typed
        ({"Sec-Fetch-Site": "same-site"}, "other_site"),  # another port
        ({"Sec-Fetch-Site": "cross-site"}, "other_site"),
        ({"Sec-Fetch-Site": "cross-site", "Origin": f"http://{HERE}"}, "other_site"),
        # Where a browser sends no Sec-Fetch-Site: plain http to another machine.
        ({"Referer": f"http://{HERE}/?x=1"}, None),
        ({"Origin": f"http://{HERE}"}, None),
        ({"Origin": "http://evil.example"}, "other_site"),
        ({"Origin": "http://localhost:7007"}, "other_site"),
        ({"Origin": "null"}, "other_site"),
        ({"Referer": "http://evil.example/"}, "other_site"),
        ({"Referer": "about:blank"}, "other_site"),
        ({"Referer": ""}, "other_site"),
    ],
)
def test_pages_that_ask(headers: dict[str, Any], code: str | None) -> None:
    assert refused(request(**headers)) == code
    if headers:
        assert refused(request(User_Agent=BROWSER, **headers)) == code


def test_a_browser_that_hides_its_page_is_refused() -> None:
    assert refused(request(User_Agent=BROWSER)) == "other_site"
    assert refused(request(User_Agent="curl/8.5")) is None


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Origin": f"http://{HERE}"}, None),
        ({"Origin": f"https://{HERE}", "Sec-Fetch-Site": "same-origin"}, None),
        ({"Origin": f"http://{HERE}", "Sec-Fetch-Site": "same-site"}, "other_site"),
        ({"Origin": f"http://{HERE}", "Sec-Fetch-Site": "none"}, "other_site"),
        ({"Origin": "http://localhost:7007"}, "other_site"),
        ({"Origin": f"file://{HERE}"}, "other_site"),
        ({"Origin": "null"}, "other_site"),
        ({"Referer": f"http://{HERE}/"}, "other_site"),
        ({}, "other_site"),
    ],
)
def test_changes_need_our_own_page(headers: dict[str, Any], code: str | None) -> None:
    assert refused(request(**headers), change=True) == code


def test_the_page_of_a_proxy_that_renames_the_host_is_ours_if_it_is_named() -> None:
    sent = request(Host="127.0.0.1:6006", Origin="https://tb.example")
    assert refused(sent, change=True) == "other_site"
    assert refused(sent, ("tb.example",), change=True) is None
    other = request(Host="127.0.0.1:6006", Origin="https://tb.example:9000")
    assert refused(other, ("tb.example",), change=True) == "other_site"


@pytest.mark.parametrize(
    ("headers", "is_local"),
    [
        ({}, True),
        ({"Host": "[::1]:6006"}, True),
        ({"Referer": f"http://{HERE}/"}, True),
        ({"address": "::ffff:127.0.0.1"}, True),
        ({"address": "10.0.0.7"}, False),
        ({"address": ""}, False),
        ({"Host": "10.0.0.7"}, False),
        ({"Referer": "https://tb.example/", "Sec-Fetch-Site": "same-origin"}, False),
    ],
)
def test_clients_of_this_machine(headers: dict[str, Any], is_local: bool) -> None:
    assert access.is_local(request(**headers)) is is_local


@pytest.mark.parametrize(
    "name",
    # nginx, Apache, HAProxy, Envoy, Traefik, Squid, Kong
    ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
     "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Server", "X-Forwarded-Ssl",
     "X-Forwarded", "Forwarded-For", "X-Envoy-External-Address", "X-Envoy-Internal", "X-Scheme",
     "X-Original-Forwarded-For", "X-Original-URI", "Proxy-Connection", "X-Proxy-User-IP",
     # networks that deliver content, and clouds
     "CF-Connecting-IP", "CF-Connecting-IPv6", "CF-Ray", "CF-Visitor", "True-Client-IP",
     "Fastly-Client-IP", "Ali-CDN-Real-IP", "CDN-Src-IP", "X-Amz-Cf-Id", "X-Amzn-Trace-Id",
     "X-Azure-ClientIP", "X-Azure-SocketIP", "X-AppEngine-User-IP", "X-Cloud-Trace-Context",
     "Fly-Client-IP",
     # balancers and application servers
     "Client-IP", "X-Client-IP", "X-Cluster-Client-IP", "Proxy-Client-IP", "WL-Proxy-Client-IP",
     "X-Remote-IP", "X-Remote-Addr", "X-Originating-IP", "X-Remote-Address",
     # login services, and Jupyter's proxy
     "X-Auth-Request-User", "X-Forwarded-User", "Remote-User", "X-Remote-User", "X-WebAuth-User",
     "X-Forwarded-Access-Token", "X-Forwarded-Context", "X-ProxyContextPath"],
)  # fmt: skip
@pytest.mark.parametrize("form", [str, str.lower, str.upper])
def test_what_proxies_add_means_another_machine(name: str, form: Any) -> None:
    assert not access.is_local(request(**{form(name): "127.0.0.1"}))


@pytest.mark.parametrize(
    "name",
    ["Accept", "Accept-Encoding", "Accept-Language", "Access-Control-Request-Method",
     "Authorization",
     "Cache-Control", "Connection", "Content-Length", "Content-Type", "Cookie", "DNT",
     "Device-Memory",
     "Expect", "If-Modified-Since", "If-None-Match", "Keep-Alive", "Origin-Agent-Cluster", "Pragma",
     "Priority", "Range", "Save-Data", "Sec-CH-UA", "Sec-Fetch-Dest", "Sec-GPC", "TE", "Upgrade",
     "Upgrade-Insecure-Requests", "User-Agent", "X-Requested-With", "X-TensorBoard-Feature-Flags",
     "X-XSRF-Protected", "MCP-Protocol-Version", "MCP-Session-Id", "Last-Event-ID", "Traceparent"],
)  # fmt: skip
def test_what_browsers_and_programs_send_says_nothing(name: str) -> None:
    assert access.is_local(request(**{name: "1"}))


def test_the_hint_is_the_setting_to_type() -> None:
    """The page shows it: a proxy's first answer may be a refusal."""

    def hint(sent: Request) -> str:
        with pytest.raises(TraceError) as caught:
            Access().check(sent)
        return str(caught.value.hint)

    assert "TB_PRIVATEUSE1_HOSTS=hub.example:8443:" in hint(request(Host="hub.example:8443"))
    renamed = request(Host="127.0.0.1:6006", Origin="https://tb.example")
    assert "TB_PRIVATEUSE1_HOSTS=tb.example:" in hint(renamed)
    assert "TB_PRIVATEUSE1_HOSTS=NAME:" in hint(request(Host="<b>"))


def test_a_client_elsewhere_cannot_say_that_it_is_here() -> None:
    for name in ("X_Forwarded_For", "Forwarded", "X_Real_IP", "CF_Connecting_IP"):
        assert not access.is_local(request("10.0.0.7", **{name: "127.0.0.1"}))


@pytest.mark.parametrize("header", ["X_FORWARDED_FOR", "X_REAL_IP", "REMOTE_USER"])
def test_clients_behind_one_proxy_differ(header: str) -> None:
    one, other = (access.client_of(request(**{header: who})) for who in "ab")
    assert (
        len({one, other, access.client_of(request()), access.client_of(request("10.0.0.7"))}) == 4
    )


def test_the_name_of_a_client_is_short_whatever_its_headers_are() -> None:
    assert len(access.client_of(request(X_FORWARDED_FOR="\udcff" + "a" * 60_000))) < 100
