"""A request for a recording: written, followed, withdrawn, and refused in words."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import live_jobs, recording_request
from tb_privateuse1.discovery.live_jobs import FOLDER, RecordingJob
from tb_privateuse1.discovery.recording_request import RecordingOptions, first_step
from tb_privateuse1.trace.errors import TraceError
from tests.support import fake_job
from tests.support.fake_job import describe, description, failed, written

SECOND = 10**9


def job_of(folder: Path) -> RecordingJob:
    (job,) = live_jobs.read_jobs(live_jobs.find_places([("", str(folder))]), time.time_ns())
    return job


def ask(folder: Path, **more: Any) -> recording_request.RecordingRequest:
    options = more.pop("options", RecordingOptions())
    return recording_request.ask(job_of(folder), options, by="test", now_ns=time.time_ns(), **more)


def phases(folder: Path, id: str, now_ns: int | None = None) -> list[str]:
    job = job_of(folder)
    now = recording_request.progress(
        job, id, recording_request.read_request(job), now_ns or time.time_ns()
    )
    return [rank.phase for rank in now.ranks]


def test_the_file_has_the_fields_of_the_protocol(tmp_path: Path) -> None:
    describe(tmp_path, 0, step=40, step_ns=None)
    describe(tmp_path, 3, step=41, step_ns=None)
    request = ask(tmp_path, options=RecordingOptions(5, 2, (3,), shapes=True), timeout_s=60)
    assert fake_job.request(tmp_path) == {
        "schema": "tb_privateuse1.recording_request/1",
        "id": request.id,
        "created_ns": request.created_ns,
        "expires_ns": request.created_ns + 60 * SECOND,
        "from_step": None,
        "by": "test",
        "steps": 5,
        "warmup": 2,
        "ranks": [3],
        "shapes": True,
        "stacks": None,
        "memory": None,
    }
    assert len(bytes.fromhex(request.id)) == 8
    assert recording_request.read_request(job_of(tmp_path)) == request
    path = tmp_path / FOLDER / "request.json"
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


def _umask() -> int:
    os.umask(mask := os.umask(0))
    return mask


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([(100, 500_000_000, 0)], 100 + 5 + 1),
        ([(100, 500_000_000, 0), (103, 1_000_000_000, 0)], 103 + 5 + 1),
        ([(100, 60_000_000_000, 0)], 100 + 2 + 1),
        ([(100, 500_000_000, 10)], 120 + 5 + 1),
        ([(100, 500_000_000, 0), (90, None, 0)], 100 + 5 + 1),
        ([(100, None, 0)], None),
        ([(100, 0, 0)], None),
    ],
)
def test_the_first_step_is_one_that_all_ranks_reach(
    ranks: list[tuple[int, int | None, int]], expected: int | None
) -> None:
    """Step, duration of a step, and the age of the description in seconds."""
    now_ns = time.time_ns()
    processes = [
        live_jobs.parse_process(
            description(step=step, step_ns=step_ns, changed_ns=now_ns - age * SECOND), now_ns
        )
        for step, step_ns, age in ranks
    ]
    assert first_step(processes, 1, now_ns) == expected


def test_only_ranks_that_are_asked_for_set_the_first_step(tmp_path: Path) -> None:
    now_ns = time.time_ns()
    describe(tmp_path, 0, step=10, changed_ns=now_ns)
    describe(tmp_path, 1, step=900, changed_ns=now_ns)
    job = job_of(tmp_path)
    options = RecordingOptions(ranks=(0,))
    assert recording_request.ask(job, options, by="", now_ns=now_ns).from_step == 16


def test_progress_from_the_first_reading_to_the_trace(tmp_path: Path) -> None:
    for rank in (0, 1):
        describe(tmp_path, rank)
    id = ask(tmp_path).id
    assert phases(tmp_path, id) == ["asked", "asked"]
    for state in ("ready", "waiting"):
        describe(tmp_path, 0, request=id, state=state)
        assert phases(tmp_path, id) == ["waiting", "asked"]
    for state in ("recording", "writing"):
        describe(tmp_path, 0, request=id, state=state)
        assert phases(tmp_path, id) == [state, "asked"]
    describe(tmp_path, 0, last=written(id))
    describe(tmp_path, 1, last=failed(id, "the disk is full"))
    assert phases(tmp_path, id) == ["written", "failed"]
    job = job_of(tmp_path)
    now = recording_request.progress(job, id, None, time.time_ns())
    assert now.is_done
    assert [rank.error for rank in now.failures] == ["the disk is full"]


def test_processes_that_go_or_do_not_answer(tmp_path: Path) -> None:
    describe(tmp_path, 0)
    describe(tmp_path, 1)
    describe(tmp_path, 2, changed_ns=time.time_ns() - 3600 * SECOND)
    describe(tmp_path, 3, state="ended")
    request = ask(tmp_path, timeout_s=20)
    assert phases(tmp_path, request.id) == ["asked", "asked"]
    assert phases(tmp_path, request.id, request.expires_ns) == ["expired", "expired"]
    describe(tmp_path, 0, state="ended")
    describe(tmp_path, 1, request=request.id, state="recording")
    silent_ns = time.time_ns() + 60 * SECOND
    assert phases(tmp_path, request.id) == ["gone", "recording"]
    assert phases(tmp_path, request.id, silent_ns) == ["gone", "gone"]


def test_one_request_at_a_time(tmp_path: Path) -> None:
    describe(tmp_path)
    first = ask(tmp_path)
    with pytest.raises(TraceError, match="3 steps is already pending, by test") as caught:
        ask(tmp_path)
    assert caught.value.code == "record_pending"
    second = ask(tmp_path, replace=True)
    assert phases(tmp_path, first.id) == []
    describe(tmp_path, last=written(second.id))
    assert ask(tmp_path).id != second.id


def test_a_request_that_no_job_understands_does_not_block(tmp_path: Path) -> None:
    describe(tmp_path)
    path = tmp_path / FOLDER / "request.json"
    for text in ("{", "[]", '{"schema": "tb_privateuse1.recording_request/1", "id": 5}'):
        path.write_text(text)
        ask(tmp_path)
        path.unlink()
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    path.symlink_to(outside)
    ask(tmp_path)
    assert outside.read_text() == "untouched"
    assert not path.is_symlink()


def test_withdrawing(tmp_path: Path) -> None:
    describe(tmp_path, 0)
    describe(tmp_path, 1)
    id = ask(tmp_path).id
    describe(tmp_path, 1, request=id, state="recording")
    assert not recording_request.withdraw(job_of(tmp_path), "another")
    assert recording_request.withdraw(job_of(tmp_path), id)
    assert not recording_request.withdraw(job_of(tmp_path), id)
    assert fake_job.request(tmp_path) is None
    assert phases(tmp_path, id) == ["recording"]
    describe(tmp_path, 1, request=id, state="waiting")
    assert phases(tmp_path, id) == ["withdrawn"]


def test_ranks_that_are_not_running(tmp_path: Path) -> None:
    describe(tmp_path, 0)
    describe(tmp_path, 1)
    with pytest.raises(TraceError, match=r"has rank 5, 7") as caught:
        ask(tmp_path, options=RecordingOptions(ranks=(1, 5, 7)))
    assert caught.value.code == "record_no_rank"
    assert "ranks 0, 1" in (caught.value.hint or "")


def test_a_process_without_a_rank_is_rank_0(tmp_path: Path) -> None:
    describe(tmp_path, None)
    assert phases(tmp_path, ask(tmp_path, options=RecordingOptions(ranks=(0,))).id) == ["asked"]


def test_a_logdir_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path)
    before = sorted((tmp_path / FOLDER).iterdir())

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(TraceError, match="cannot be written: Read-only file system") as caught:
        ask(tmp_path)
    assert caught.value.code == "record_read_only"
    assert sorted((tmp_path / FOLDER).iterdir()) == before


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    describe(tmp_path)
    job = job_of(tmp_path)
    for file in (tmp_path / FOLDER).iterdir():
        file.unlink()
    (tmp_path / FOLDER).rmdir()
    with pytest.raises(TraceError, match="cannot be written"):
        recording_request.ask(job, RecordingOptions(), by="", now_ns=time.time_ns())


def test_choosing_a_job(tmp_path: Path) -> None:
    def pick(name: str | None = None) -> str:
        jobs = live_jobs.read_jobs(live_jobs.find_places([("", str(tmp_path))]), time.time_ns())
        return recording_request.pick_job(jobs, name, time.time_ns()).name

    def refused(name: str | None = None) -> str:
        with pytest.raises(TraceError) as caught:
            pick(name)
        return f"{caught.value.code}: {caught.value.message} {caught.value.hint}"

    assert "No running job" in refused()
    describe(tmp_path / "old", changed_ns=time.time_ns() - 100 * SECOND)
    assert "The job in old is gone: it was last active 10" in refused()
    describe(tmp_path / "old", state="ended")
    assert "The job in old has ended." in refused("old")
    describe(tmp_path / "a")
    assert pick() == pick("a") == "a"
    assert "No running job is called old" in refused("old")
    describe(tmp_path / "b")
    assert pick("b") == "b"
    assert "record_several_jobs: 2 jobs" in refused()
    assert "a, b" in refused()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("steps", 1001),
        ("steps", "3"),
        ("steps", True),
        ("warmup", -1),
        ("warmup", 101),
        ("ranks", []),
        ("ranks", [-1]),
        ("ranks", [0.5]),
        ("ranks", "all"),
        ("ranks", list(range(5000))),
        ("shapes", 1),
        ("memory", "yes"),
    ],
)
def test_options_out_of_range(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"field {field} is not valid"):
        recording_request.parse_options({field: value})


def test_the_longest_request_fits_its_file(tmp_path: Path) -> None:
    ranks = range(
        recording_request.LARGEST_RANK - recording_request.MOST_RANKS + 1,
        recording_request.LARGEST_RANK + 1,
    )
    options = recording_request.parse_options({"ranks": [*ranks]})
    assert options.ranks == tuple(ranks)
    size = len(json.dumps({"ranks": options.ranks}))
    assert size < live_jobs.LONGEST_FILE_BYTES - 4096


@pytest.mark.parametrize(
    "text", ["", "a", "1-", "-1", "3-1", "0-99999999999", "1,,2", "0-9999", "٣"]
)
def test_bad_ranks(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)ranks"):
        recording_request.parse_ranks(text)


def test_ranks() -> None:
    assert recording_request.parse_ranks("0, 3 - 5,4") == [0, 3, 4, 5]
    assert recording_request.parse_ranks("7") == [7]
