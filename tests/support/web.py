"""A web server for a directory, in this process, that can be made to fail in many ways."""

from __future__ import annotations

import contextlib
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Web:
    """What the server does. Patterns are regular expressions for the path that is asked for."""

    folder: Path
    url: str = ""
    ranges: bool = True
    """``python -m http.server`` knows none."""
    statuses: dict[str, int] = field(default_factory=dict)
    """Pattern -> status instead of the file."""
    redirects: dict[str, str] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    """Pattern -> links that a directory's page has besides."""
    hangs: str = ""
    """Pattern of what is answered when ``go`` is set."""
    breaks: str = ""
    """Pattern of files whose answers end after ``after`` bytes of the file, with the connection."""
    after: int = 0
    go: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and range."""
    sent: int = 0
    """Bytes of files that were sent."""

    def asked(self, pattern: str) -> int:
        """How often a path was asked for."""
        return sum(re.search(pattern, f"{method} {path}") is not None
                   for method, path, _ in self.requests)  # fmt: skip

    def __str__(self) -> str:
        return self.url


class _Handler(SimpleHTTPRequestHandler):
    web: Web

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, directory=str(self.web.folder))

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        web = self.web
        web.requests.append((self.command, self.path, self.headers.get("Range", "")))
        if web.hangs and re.search(web.hangs, self.path):
            web.go.wait(30)
        for pattern, status in web.statuses.items():
            if re.search(pattern, self.path):
                self.send_error(status)
                return
        for pattern, target in web.redirects.items():
            if re.search(pattern, self.path):
                self.send_response(302)
                self.send_header("Location", target)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            self.page(path, body)
        elif path.is_file():
            self.file(path, body)
        else:
            self.send_error(404)

    def page(self, path: Path, body: bool) -> None:
        if not urllib.parse.urlsplit(self.path).path.endswith("/"):
            self.send_response(301)
            self.send_header("Location", self.path + "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        links = [
            urllib.parse.quote(entry.name) + ("/" if entry.is_dir() else "")
            for entry in sorted(path.iterdir())
        ]
        for pattern, more in self.web.links.items():
            if re.search(pattern, self.path):
                links += more
        text = "".join(f'<li><a href="{link}">{link}</a></li>\n' for link in links)
        data = f"<html><body><ul>{text}</ul></body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def file(self, path: Path, body: bool) -> None:
        data = path.read_bytes()
        start, end = 0, len(data)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.web.ranges:
            start, end = int(asked[1]), min(int(asked[2]) + 1, len(data))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("Last-Modified", self.date_time_string(int(path.stat().st_mtime)))
        self.send_header("ETag", f'"{path.stat().st_mtime_ns:x}"')
        self.end_headers()
        if body:
            if self.web.breaks and re.search(self.web.breaks, self.path):
                end = min(end, max(self.web.after, start))
                self.close_connection = True
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data[start:end])
                self.web.sent += end - start


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass  # a client that has seen enough


@contextlib.contextmanager
def serve(folder: Path, **options: Any) -> Iterator[Web]:
    """Serve a folder until the end of the block."""
    web = Web(folder, **options)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": web}))
    web.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.go.set()
        server.shutdown()
        server.server_close()
        thread.join()


def until(condition: Any, seconds: float = 20) -> Any:
    """The first true value of a condition."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return value
