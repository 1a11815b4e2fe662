"""An S3-compatible server in a process of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECRET = "s3-secret-of-the-test"


@contextlib.contextmanager
def serve() -> Iterator[str]:
    """The server's address, until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/", timeout=5).close()
                break
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def environment(address: str) -> dict[str, str]:
    """What a user sets for s3fs."""
    return {
        "FSSPEC_S3_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nowhere",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    }


def upload(fs: Any, folder: Path, url: str) -> None:
    """Put a folder's JSON files below a URL."""
    for path in folder.rglob("*.json*"):
        fs.pipe_file(f"{url}/{path.relative_to(folder).as_posix()}", path.read_bytes())
