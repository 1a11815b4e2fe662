"""Running jobs of a logdir: found, grouped, checked, and never followed out of it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.discovery import live_jobs
from tb_privateuse1.discovery.live_jobs import JOB_SCHEMA, LiveProcess, RecordingJob
from tb_privateuse1.trace.findings import Finding
from tests.support.fake_job import FOLDER, describe, description

SECOND = 10**9


def jobs(*roots: Path | tuple[str, str]) -> tuple[list[RecordingJob], list[Finding]]:
    warnings: list[Finding] = []
    named = [("", str(root)) if isinstance(root, Path) else root for root in roots]
    places = live_jobs.find_places(named, warnings)
    return live_jobs.read_jobs(places, time.time_ns(), warnings), warnings


def process(**more: Any) -> LiveProcess:
    return live_jobs.parse_process(description(**more), time.time_ns())


def test_ranks_of_a_directory_are_one_job(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for rank in (10, 2, 0):
        describe(logs / "a" / "b", rank)
    describe(logs, None)
    describe(logs, None, worker="other")
    found, warnings = jobs(logs)
    assert warnings == []
    assert [job.name for job in found] == ["a/b", "logs"]
    assert [p.rank for p in found[0].processes] == [0, 2, 10]
    assert [p.worker for p in found[1].processes] == ["host_0", "other"]
    assert found[0].directory == logs / "a" / "b"


def test_names_have_the_root_s_name(tmp_path: Path) -> None:
    describe(tmp_path / "x")
    describe(tmp_path / "y" / "z")
    found, _ = jobs(("one", str(tmp_path / "x")), ("two", str(tmp_path / "y")))
    assert [job.name for job in found] == ["one", "two/z"]


def test_alive_until_three_periods_and_a_grace_are_over() -> None:
    one = process(period_s=2)
    assert one.is_alive(one.changed_ns + 11 * SECOND - 1)
    assert not one.is_alive(one.changed_ns + 11 * SECOND)
    assert not process(state="ended").is_alive(one.changed_ns)


def test_a_job_that_is_gone_is_listed_as_such(tmp_path: Path) -> None:
    describe(tmp_path, 0, changed_ns=time.time_ns() - 3600 * SECOND)
    (job,), _ = jobs(tmp_path)
    assert len(job.processes) == 1
    assert job.alive(time.time_ns()) == ()


def test_remote_and_missing_logdirs(tmp_path: Path) -> None:
    found, warnings = jobs(("", "s3://user:secret@bucket/logs"), ("", str(tmp_path / "none")))
    assert found == []
    assert [w.code for w in warnings] == ["record_remote", "no_such_path"]
    assert "secret" not in warnings[0].message


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside, logs = tmp_path / "outside", tmp_path / "logs"
    describe(outside)
    logs.mkdir()
    (logs / "linked").symlink_to(outside)
    (logs / FOLDER).symlink_to(outside / FOLDER)
    assert jobs(logs) == ([], [])
    (logs / FOLDER).unlink()
    (logs / FOLDER).mkdir()
    (logs / FOLDER / "job-x.json").symlink_to(outside / FOLDER / "job-host_0.json")
    found, (warning,) = jobs(logs)
    assert found == []
    assert "it is a link" in warning.message
    assert [job.name for job in jobs(tmp_path)[0]] == ["outside"]


def bad(folder: Path, data: bytes) -> str:
    """Return what is said about a bad description beside a good one."""
    describe(folder)
    (folder / FOLDER / "job-bad.json").write_bytes(data)
    (job,), (warning,) = jobs(folder)
    assert len(job.processes) == 1
    assert warning.code == "record_bad_job"
    return warning.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 60_000, "no JSON"),
        (b"[]", "no JSON object"),
        (b'{"schema": "another/1"}', "schema"),
        (b'{"a": "' + b"x" * (1 << 16) + b'"}', "longer than 65,536 bytes"),
    ],
)
def test_hostile_files(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in bad(tmp_path, data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("worker", None),
        ("host", 7),
        ("pid", -1),
        ("pid", True),
        ("rank", "0"),
        ("rank", 1.5),
        ("world_size", 2**63),
        ("state", "asleep"),
        ("step", None),
        ("step_ns", -5),
        ("request", 5),
        ("last", []),
        ("last", {"id": "a", "trace": "/etc/passwd", "error": None}),
        ("last", {"id": "a", "trace": "../../x.json", "error": None}),
        ("changed_ns", 2**62),
        ("period_s", 0),
        ("period_s", float("nan")),
        ("period_s", float("inf")),
        ("period_s", 1e9),
        ("period_s", True),
    ],
)
def test_hostile_fields(tmp_path: Path, field: str, value: Any) -> None:
    text = json.dumps(description(**{field: value}))
    assert f"its field {field} is not valid" in bad(tmp_path, text.encode())


def test_a_process_that_refused_what_has_no_id() -> None:
    last = {"id": None, "trace": None, "error": "the request is no JSON"}
    assert process(last=last).last is None


def test_a_pipe_does_not_hold_the_reader(tmp_path: Path) -> None:
    describe(tmp_path)
    os.mkfifo(tmp_path / FOLDER / "job-pipe.json")
    (job,), (warning,) = jobs(tmp_path)
    assert len(job.processes) == 1
    assert "no regular file" in warning.message


def test_long_texts_and_half_surrogates(tmp_path: Path) -> None:
    describe(tmp_path, host="h" * 10_000, backend="\ud800")
    (job,), _ = jobs(tmp_path)
    assert len(job.processes[0].host) == 500
    assert job.processes[0].backend == "?"


def test_the_search_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_jobs, "MOST_LEVELS", 2)
    describe(tmp_path / "1" / "2")
    describe(tmp_path / "1" / "2" / "3")
    assert [job.name for job in jobs(tmp_path)[0]] == ["1/2"]
    monkeypatch.setattr(live_jobs, "MOST_DIRECTORIES", 2)
    found, (warning,) = jobs(tmp_path)
    assert found == []
    assert warning.code == "record_search_cut"


def test_the_processes_of_a_job_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_jobs, "MOST_PROCESSES", 2)
    for rank in range(3):
        describe(tmp_path, rank)
    (job,), (warning,) = jobs(tmp_path)
    assert len(job.processes) == 2
    assert warning.code == "record_search_cut"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(description())), _json))
def test_any_description_is_read_or_refused(changes: dict[str, Any]) -> None:
    document = {**description(), **changes, "schema": JOB_SCHEMA}
    with contextlib.suppress(ValueError):
        found = live_jobs.parse_process(document, time.time_ns())
        assert found.silent_ns > found.changed_ns
