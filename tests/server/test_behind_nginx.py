"""TensorBoard behind a real nginx: below a path, with TLS and a login; skipped without nginx."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import PLUGIN, Server, serve

pytestmark = pytest.mark.skipif(
    not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl"
)

NAME = "tb.example"
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"ann:secret").decode()}
BROWSER = {"User-Agent": "Mozilla/5.0", "Sec-Fetch-Site": "same-origin"}
_START_S = 20


@dataclass
class Proxy:
    """The ports of one nginx: as the guide has it, with Jupyter's headers, and without any."""

    guide: int
    jupyter: int
    bare: int

    def get(self, port: int, path: str, host: str = NAME, **headers: str) -> tuple[int, Any]:
        """Ask as a browser that calls the proxy by a name; return the status and the JSON."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, context=ssl._create_unverified_context(), timeout=60
        )
        sent = {**LOGIN, **BROWSER, "Host": f"{host}:{port}", **headers}
        connection.request("GET", path, headers={k: v for k, v in sent.items() if v})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(body) if is_json else body


def free_ports(count: int) -> list[int]:
    with_ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in with_ports]
    for one in with_ports:
        one.close()
    return ports


CONFIGURATION = """
daemon off; error_log {folder}/error.log; pid {folder}/pid; events {{}}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
  auth_basic "team"; auth_basic_user_file {folder}/users;
  server {{ listen 127.0.0.1:{guide} ssl; location /tb/ {{ proxy_pass {to};
    proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr; }} }}
  server {{ listen 127.0.0.1:{jupyter} ssl; location /tb/ {{ proxy_pass {to};
    proxy_set_header Host $http_host; proxy_set_header X-ProxyContextPath /tb; }} }}
  server {{ listen 127.0.0.1:{bare} ssl; location /tb/ {{ proxy_pass {to}; }} }}
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What nginx needs: a certificate and a user."""
    made = tmp_path_factory.mktemp("nginx")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}",
         "-keyout", made / "key.pem", "-out", made / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    (made / "users").write_text("ann:{PLAIN}secret\n")
    made.chmod(0o755)
    for parent in list(made.parents)[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    return made


def proxied(folder: Path, server: Server) -> Iterator[Proxy]:
    """Start nginx before a server, and end it."""
    ports = free_ports(3)
    to = server.url.rstrip("/").replace("localhost", "127.0.0.1") + "/"
    text = CONFIGURATION.format(
        folder=folder, to=to, guide=ports[0], jupyter=ports[1], bare=ports[2]
    )
    (folder / "nginx.conf").write_text(text)
    process = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log"])
    try:
        end = time.monotonic() + _START_S
        while any(_closed(port) for port in ports):
            assert process.poll() is None, (folder / "error.log").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        yield Proxy(*ports)
    finally:
        process.terminate()
        process.wait()


def _closed(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture(scope="module")
def proxy(folder: Path, logdir: Path) -> Iterator[Proxy]:
    """A server that was started as the hint says."""
    ports = f"{NAME}"
    with serve("--logdir", logdir, variables={"TB_PRIVATEUSE1_HOSTS": ports}) as server:
        yield from proxied(folder, server)


@pytest.fixture(scope="module")
def unnamed(folder: Path, logdir: Path) -> Iterator[Proxy]:
    """A server without any setting."""
    with serve("--logdir", logdir) as server:
        yield from proxied(folder, server)


def test_a_login_a_path_and_tls(proxy: Proxy) -> None:
    """Pages and data come through, and what is for this machine alone does not."""
    for port in (proxy.guide, proxy.jupyter):
        assert proxy.get(port, f"/tb/{PLUGIN}runs", Authorization="")[0] == 401
        assert proxy.get(port, f"/tb/{PLUGIN}static/index.js")[0] == 200
        assert proxy.get(port, f"/tb/{PLUGIN}runs")[0] == 200
        status, extras = proxy.get(port, f"/tb/{PLUGIN}extras")
        assert (status, extras["sql_allowed"]) == (200, False)
        assert proxy.get(port, f"/tb/{PLUGIN}sql?query=select%201")[0] == 403


def test_a_proxy_that_hides_everything_is_seen_by_its_page(proxy: Proxy) -> None:
    """nginx's default sends its own address as Host: the page's address is another one."""
    page = {"Referer": f"https://{NAME}:{proxy.bare}/tb/"}
    status, extras = proxy.get(proxy.bare, f"/tb/{PLUGIN}extras", **page)
    assert (status, extras["sql_allowed"]) == (200, False)


def test_the_first_answer_without_a_setting_says_what_to_type(unnamed: Proxy) -> None:
    """The page itself comes, and shows the message and the hint of the refusal."""
    for port in (unnamed.guide, unnamed.jupyter):
        assert unnamed.get(port, f"/tb/{PLUGIN}static/index.js")[0] == 200
        status, said = unnamed.get(port, f"/tb/{PLUGIN}runs")
        assert (status, said["error"]["code"]) == (403, "foreign_host")
        assert f"TB_PRIVATEUSE1_HOSTS={NAME}:{port}" in said["error"]["hint"]
    old = {"Sec-Fetch-Site": "", "Referer": f"https://{NAME}/tb/"}
    status, said = unnamed.get(unnamed.bare, f"/tb/{PLUGIN}runs", **old)
    assert (status, said["error"]["code"]) == (403, "other_site")
    assert f"TB_PRIVATEUSE1_HOSTS={NAME}" in said["error"]["hint"]
    by_address = unnamed.get(unnamed.guide, f"/tb/{PLUGIN}runs", host="10.0.0.7")
    assert by_address[0] == 200
