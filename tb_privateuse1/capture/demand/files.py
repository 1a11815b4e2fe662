"""Read requests for a recording, and write a running job's status.

A job and those who ask it for a recording share files in a hidden directory of the logdir:
``docs/reference/on-demand-files.md`` describes them. A request is written by others, so each field
of it is checked; no path is ever taken from it.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = ".tb_privateuse1"
"""The directory in the logdir; readers of traces skip what is hidden."""
REQUEST = "request.json"
JOB_SCHEMA = "tb_privateuse1.recording_job/1"
REQUEST_SCHEMA = "tb_privateuse1.recording_request/1"

MOST_STEPS, MOST_WARMUP, MOST_LABEL = 1000, 100, 100
_MOST_BYTES = 64 << 10
_MOST_STEP = 1 << 53
"""Larger numbers are not exact in every reader of JSON."""
_LONGEST = 40
"""Of what a message repeats from a request."""

_ID = re.compile(r"[0-9a-f]{16}")
_NO_FILE_NAME = re.compile(r"[^\w.-]")


class RefusedError(Exception):
    """A request that is not served; ``id`` is its own, if it has one."""

    def __init__(self, message: str, id: str | None = None) -> None:
        super().__init__(message)
        self.id = id


@dataclass(frozen=True)
class Request:
    """A valid request for a recording."""

    id: str
    created_ns: int
    expires_ns: int
    from_step: int | None
    """The first step to record; None: the next one."""
    steps: int
    warmup: int
    ranks: tuple[int, ...] | None
    shapes: bool | None
    stacks: bool | None
    memory: bool | None
    by: str

    def options(self) -> dict[str, bool]:
        """Return the options of ``capture.profile`` that were asked for."""
        asked = {
            "record_shapes": self.shapes,
            "with_stack": self.stacks,
            "profile_memory": self.memory,
        }
        return {key: value for key, value in asked.items() if value is not None}


def job_path(folder: Path, worker: str) -> Path:
    """Return the path of a worker's status file."""
    return folder / f"job-{_NO_FILE_NAME.sub('_', worker)}.json"


def read_request(path: Path) -> Request:
    """Read a request; raises RefusedError, or OSError where there is none."""
    # Without O_NONBLOCK a pipe in its place would stop the training.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RefusedError(f"the request cannot be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise RefusedError("the request is no file")
        data = os.read(number, _MOST_BYTES + 1)
    finally:
        os.close(number)
    return parse(data)


def parse(data: bytes) -> Request:
    """Return the request in a JSON text; raises RefusedError."""
    if len(data) > _MOST_BYTES:
        raise RefusedError("the request is larger than 64 kB")
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the request is no JSON: {_short(error)}") from error
    if not isinstance(value, dict):
        raise RefusedError("the request is no JSON object")
    id = value.get("id")
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise RefusedError("the request's id is not 16 hexadecimal digits")
    try:
        return _request(id, value)
    except RefusedError as error:
        raise RefusedError(str(error), id) from None


def _request(id: str, value: Mapping[str, Any]) -> Request:
    if value.get("schema") != REQUEST_SCHEMA:
        raise RefusedError(f"schema must be {REQUEST_SCHEMA}, not {_short(value.get('schema'))}")
    by = value.get("by", "")
    if not isinstance(by, str) or len(by) > MOST_LABEL:
        raise RefusedError(f"by must be a text of at most {MOST_LABEL} characters")
    from_step = value.get("from_step")
    return Request(
        id=id,
        created_ns=_integer(value, "created_ns", 0, 1 << 63),
        expires_ns=_integer(value, "expires_ns", 0, 1 << 63),
        from_step=None if from_step is None else _integer(value, "from_step", 0, _MOST_STEP),
        steps=_integer(value, "steps", 1, MOST_STEPS),
        warmup=_integer({"warmup": 1, **value}, "warmup", 0, MOST_WARMUP),
        ranks=_ranks(value.get("ranks")),
        shapes=_switch(value, "shapes"),
        stacks=_switch(value, "stacks"),
        memory=_switch(value, "memory"),
        by="".join(c if c.isprintable() else " " for c in by),
    )


def _integer(value: Mapping[str, Any], name: str, least: int, most: int) -> int:
    found = value.get(name)
    if type(found) is not int or not least <= found <= most:
        raise RefusedError(f"{name} must be a whole number from {least} to {most}")
    return found


def _switch(value: Mapping[str, Any], name: str) -> bool | None:
    found = value.get(name)
    if found is not None and type(found) is not bool:
        raise RefusedError(f"{name} must be true, false or null, not {_short(found)}")
    return found


def _ranks(found: Any) -> tuple[int, ...] | None:
    if found is None:
        return None
    if not isinstance(found, list) or not found or any(type(one) is not int for one in found):
        raise RefusedError("ranks must be null or a list of ranks")
    if found[0] < 0 or found != sorted(set(found)):
        raise RefusedError("ranks must be sorted, each once, from 0 on")
    return tuple(found)


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def write_atomically(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON under another name, and then give it its own; raises OSError."""
    # A name that nobody can guess, and O_EXCL: others may write into a shared logdir.
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(number, "wb") as file:
            file.write(json.dumps(value, separators=(",", ":")).encode("utf-8"))
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
