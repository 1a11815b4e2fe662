"""Copy whole files from and to a remote filesystem, and remove them there.

Everything raises ``RemoteError``. A copy may take ten times the limit of one answer.
"""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1.discovery.remote.filesystem import server_of


def download(url: str, path: Path) -> None:
    """Copy a remote file to a path."""
    server_of(url).call(url, lambda fs: fs.get_file(url, str(path)), bulk=True)


def upload(path: Path, url: str) -> None:
    """Copy a file to a URL; what is there is replaced."""
    server_of(url).call(url, lambda fs: fs.put_file(str(path), url), bulk=True)


def remove(url: str) -> None:
    """Remove a remote file."""
    server_of(url).call(url, lambda fs: fs.rm_file(url))
