"""Errors of remote drivers, as messages and hints for the user."""

from __future__ import annotations

import socket

import pytest

from tb_privateuse1.discovery.remote.errors import RemoteError, remote_error

URL = "s3://key:SECRET@bucket/run?sig=SECRET"


class NoCredentialsError(Exception):
    """As botocore calls it."""


class ClientResponseError(Exception):
    """As aiohttp's: with a status, and the URL in its text."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{status}, url='https://me:SECRET@host/x?sig=SECRET'")
        self.status = status


class ClientError(Exception):
    """As botocore's: with a response."""

    def __init__(self, status: int) -> None:
        super().__init__("AccessDenied")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (caused(ImportError("Install s3fs"), ImportError("x", name="s3fs")),
         "remote_driver", "pip install s3fs"),
        (ImportError("x", name="fsspec.core"), "remote_driver", '"tb-privateuse1[remote]"'),
        (NoCredentialsError("x"), "remote_credentials", "environment variables"),
        (caused(FileNotFoundError("x"), ClientResponseError(403)), "remote_denied", "(403)"),
        (caused(FileNotFoundError("x"), ClientResponseError(404)), "no_such_path", "There is no"),
        (caused(FileNotFoundError("x"), ConnectionRefusedError(111, "x")),
         "remote_unreachable", "tried again"),
        (ClientError(403), "remote_denied", "allowed to list"),
        (ClientError(503), "remote_unreachable", "503"),
        (PermissionError("x"), "remote_denied", "access is denied"),
        (FileNotFoundError("x"), "no_such_path", "There is no file or directory s3://bucket/run"),
        (TimeoutError(), "remote_unreachable", "no answer in time"),
        (socket.gaierror(-2, "unknown"), "remote_unreachable", "gaierror"),
        (IsADirectoryError("x"), "remote_failed", "is a directory"),
        (RuntimeError("odd https://a:SECRET@b/c?SECRET " + "x" * 999), "remote_failed", "odd"),
    ],
)  # fmt: skip
def test_errors_of_drivers_are_classified(error: Exception, code: str, says: str) -> None:
    found = remote_error(error, URL)
    text = f"{found.message} {found.hint}"
    assert found.code == code
    assert says in text
    assert "SECRET" not in text
    assert "\n" not in text
    assert len(text) < 400
    assert isinstance(found, OSError)  # readers of files expect one


def test_our_own_error_inside_a_drivers_error_is_unchanged() -> None:
    own = RemoteError("remote_denied", "no")
    assert remote_error(caused(FileNotFoundError("x"), own), URL) is own
    assert not own.passing
    assert remote_error(TimeoutError(), URL).passing
