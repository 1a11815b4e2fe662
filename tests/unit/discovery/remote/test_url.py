"""Parsing URLs, and showing them without secrets."""

from __future__ import annotations

import pytest

from tb_privateuse1.discovery.remote import below, is_url, name, parent, scrub, shown
from tb_privateuse1.discovery.remote.url import host, join


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("s3://bucket/x", True),
        ("memory://x", True),
        ("simplecache::s3://bucket/x", True),
        ("hdfs://host:9000/x", True),
        ("C:/logs", False),
        ("C://logs", False),
        ("c:\\logs", False),
        ("/x://y", False),
        ("./s3://y", False),
        ("log", False),
        ("", False),
        ("://x", False),
    ],
)
def test_is_url(path: str, answer: bool) -> None:
    assert is_url(path) is answer


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://me:secret@host/run?sig=secret#x", "https://host/run"),
        ("s3://key:secret@bucket/run", "s3://bucket/run"),
        ("s3://key:sec/ret@bucket/run", "s3://key:sec/ret@bucket/run"),  # no user: a key's "@"
        ("s3://bucket/a#b", "s3://bucket/a"),
        ("https://host", "https://host"),
        ("az://container/x?sv=1&sig=secret", "az://container/x"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, text: str) -> None:
    assert shown(url) == text


def test_a_text_is_scrubbed() -> None:
    text = "403, url='https://me:pw@host/a?token=abc', also s3://k:s@b/c and 'x?y' stay"
    assert scrub(text) == "403, url='https://host/a', also s3://b/c and 'x?y' stay"


def test_names() -> None:
    assert name("https://me:pw@host/a/run%201/?t=1") == "run 1"
    assert name("https://me:pw@host") == "host"
    assert name("s3://bucket/a/run%201") == "run%201"
    assert name("s3://bucket/what?.json") == "what?.json"
    assert name("s3://bucket") == "bucket"


def test_parents_and_children() -> None:
    assert parent("s3://bucket/run/x.json") == "s3://bucket/run"
    assert parent("https://host/run/x.json?sig=1") is None
    assert join("s3://bucket/", "x") == "s3://bucket/x"
    assert join("s3://bucket/run", "") == "s3://bucket/run"
    assert host("s3://bucket/run/x.json") == host("s3://bucket") == "s3://bucket"
    assert host("https://h:80/x?a/b") == "https://h:80"


def test_a_directory_is_not_below_another_whose_name_it_begins_with() -> None:
    assert below("s3://b/log/r/x.json", "s3://b/log")
    assert below("s3://b/log/r/x.json", "s3://b/log/")
    assert below("s3://b/x.json", "s3://b/x.json")
    assert not below("s3://b/log2/r/x.json", "s3://b/log")
