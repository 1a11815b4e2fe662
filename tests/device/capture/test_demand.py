"""A running job records when it is asked, and never suffers from that."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tb_privateuse1 import capture
from tb_privateuse1.capture.demand.files import FOLDER, REQUEST
from tb_privateuse1.capture.profiler import DeviceProfiler
from tb_privateuse1.capture.warnings import CaptureWarning
from tests.support.capture import read
from tests.support.demand import ID, ask, recorded_steps, status

pytestmark = [
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events"),
    pytest.mark.usefixtures("host_alone"),
]

OTHER = "fedcba9876543210"


def work(job: capture.on_demand, steps: int, loss: Any = None) -> None:
    for _ in range(steps):
        torch.ones(8).add(1)
        job.step(loss)


def traces(logdir: Path) -> list[Path]:
    return sorted(logdir.glob("*.pt.trace.json*"))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def job(logdir: Path) -> Iterator[capture.on_demand]:
    """A job that looks for requests in each step."""
    with capture.on_demand(logdir, poll_s=0) as job:
        yield job


def test_a_job_announces_itself_and_its_end(logdir: Path) -> None:
    with capture.on_demand(logdir) as job:
        first = status(logdir)
        work(job, 3)
    assert first["schema"] == "tb_privateuse1.recording_job/1"
    assert (first["pid"], first["state"], first["step"]) == (os.getpid(), "ready", 0)
    assert first["rank"] is first["last"] is first["request"] is first["step_ns"] is None
    assert first["period_s"] == 10
    last = status(logdir)
    assert (last["state"], last["step"]) == ("ended", 3)
    assert last["step_ns"] > 0
    assert last["changed_ns"] > first["changed_ns"]
    assert [path.name for path in logdir.iterdir()] == [FOLDER]


def test_the_next_steps_are_recorded(job: capture.on_demand, logdir: Path) -> None:
    work(job, 5)
    ask(logdir)
    work(job, 1)
    assert (status(logdir)["state"], status(logdir)["request"]) == ("recording", ID)
    work(job, 5)
    now = status(logdir)
    (trace,) = traces(logdir)
    content = read(trace)
    assert recorded_steps(content) == [7, 8]
    assert "aten::add" in {event.get("name") for event in content["traceEvents"]}
    facts = content["tb_privateuse1_window"]
    assert (facts["first_step"], facts["steps"], facts["request"]) == (7, 2, ID)
    assert facts["by"] == "command line"
    assert (now["state"], now["request"], now["route"]) == ("ready", None, "torch")
    last = now["last"]
    assert (last["id"], last["trace"], last["error"]) == (ID, trace.name, None)
    assert (last["steps"], last["stopped_by"]) == (2, None)
    assert set(last["overhead"]) == {"usual_ns", "recorded_ns", "write_ns"}
    assert not list((logdir / FOLDER).glob("recordings-*/*"))


def test_several_requests_each_once(job: capture.on_demand, logdir: Path) -> None:
    for id in (ID, OTHER):
        ask(logdir, id, steps=1)
        work(job, 6)
    assert len(traces(logdir)) == 2
    (logdir / FOLDER / REQUEST).touch()
    ask(logdir, ID)
    work(job, 6)
    assert len(traces(logdir)) == 2


def test_from_a_step_on(job: capture.on_demand, logdir: Path) -> None:
    ask(logdir, from_step=10, warmup=3)
    work(job, 1)
    assert (status(logdir)["state"], status(logdir)["request"]) == ("waiting", ID)
    work(job, 20)
    assert recorded_steps(read(traces(logdir)[0])) == [10, 11]


def test_a_late_request_has_less_warmup(job: capture.on_demand, logdir: Path) -> None:
    work(job, 9)
    ask(logdir, from_step=10, warmup=50, steps=3)
    work(job, 9)
    assert recorded_steps(read(traces(logdir)[0])) == [10, 11, 12]


def test_one_rank_records_late_but_not_another_step_than_the_others(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with capture.on_demand(logdir, poll_s=0) as job:
        work(job, 9)
        ask(logdir, from_step=5)
        work(job, 5)
        assert "step 5 was over" in status(logdir)["last"]["error"]
        ask(logdir, OTHER, from_step=5, ranks=[1], steps=1)
        work(job, 5)
        assert recorded_steps(read(traces(logdir)[0])) == [15]
        ask(logdir, "0" * 16, ranks=[0])
        work(job, 5)
        assert len(traces(logdir)) == 1
        assert status(logdir)["last"]["id"] == OTHER
    assert "_rank1" in status(logdir)["worker"]


def test_the_options_that_were_asked_for(job: capture.on_demand, logdir: Path) -> None:
    ask(logdir, shapes=False, memory=True, stacks=True, steps=1)
    work(job, 5)
    content = read(traces(logdir)[0])
    assert not content.get("record_shapes")
    assert content["profile_memory"] == content["with_stack"] == 1
    assert not [e for e in content["traceEvents"] if "_write" in str(e.get("name"))]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 5000}, "steps must be"),
        ({"expires_ns": 5}, "had expired"),
        ({"created_ns": 5}, "before this job began"),
        ({"by": "x" * 70000}, "larger than 64 kB"),
    ],
)
def test_a_refused_request_says_why(
    job: capture.on_demand, logdir: Path, changes: dict[str, Any], message: str
) -> None:
    ask(logdir, **changes)
    work(job, 5)
    assert message in status(logdir)["last"]["error"]
    ask(logdir, OTHER, steps=1)
    work(job, 5)
    assert status(logdir)["last"]["error"] is None


def test_a_request_that_is_removed_or_replaced_is_forgotten(
    job: capture.on_demand, logdir: Path
) -> None:
    ask(logdir, from_step=20)
    work(job, 2)
    (logdir / FOLDER / REQUEST).unlink()
    work(job, 2)
    assert (status(logdir)["state"], status(logdir)["request"]) == ("ready", None)
    ask(logdir, OTHER, from_step=20)
    work(job, 2)
    ask(logdir, "0" * 16, from_step=30, steps=1)
    work(job, 30)
    assert [recorded_steps(read(path)) for path in traces(logdir)] == [[30]]


def test_a_request_expires_while_it_waits(job: capture.on_demand, logdir: Path) -> None:
    ask(logdir, from_step=1 << 40)
    work(job, 2)
    waiting = job._inbox.waiting
    assert waiting is not None
    object.__setattr__(waiting, "expires_ns", time.time_ns() - 1)
    work(job, 2)
    assert "expired before step" in status(logdir)["last"]["error"]


def test_the_end_of_the_job_writes_what_was_recorded(logdir: Path) -> None:
    with capture.on_demand(logdir, poll_s=0) as job:
        ask(logdir, steps=100, warmup=0)
        work(job, 4)
    assert recorded_steps(read(traces(logdir)[0]))[:3] == [1, 2, 3]
    last = status(logdir)
    assert (last["state"], last["last"]["steps"]) == ("ended", 3)
    assert last["last"]["trace"] == traces(logdir)[0].name


def test_the_end_of_the_job_in_the_warmup(logdir: Path) -> None:
    with capture.on_demand(logdir, poll_s=0) as job:
        ask(logdir, warmup=50)
        work(job, 4)
    assert "ended before the first step" in status(logdir)["last"]["error"]
    assert traces(logdir) == []


def test_files_are_zipped(logdir: Path) -> None:
    with capture.on_demand(logdir, poll_s=0, use_gzip=True, worker_name="me") as job:
        ask(logdir)
        work(job, 5)
        assert status(logdir)["worker"] == "me"
    (trace,) = traces(logdir)
    assert trace.name.startswith("me.")
    assert trace.name.endswith(".pt.trace.json.gz")
    assert read(trace)["tb_privateuse1_window"]["steps"] == 2


def test_it_is_started_stopped_and_started_again(logdir: Path) -> None:
    job = capture.on_demand(logdir, poll_s=0)
    job.stop()
    for id in (ID, OTHER):
        job.start()
        job.start()
        ask(logdir, id, steps=1)
        work(job, 5)
        job.stop()
        job.stop()
        work(job, 5)
    assert len(traces(logdir)) == 2


def test_a_process_serves_one_logdir(job: capture.on_demand, logdir: Path) -> None:
    with (
        pytest.warns(CaptureWarning, match=r"\[demand-twice\]"),
        capture.on_demand(logdir, poll_s=0) as second,
    ):
        work(second, 3)
    assert second.count == 0
    assert status(logdir)["state"] == "ready"


def test_steps_of_other_threads_do_not_count(job: capture.on_demand) -> None:
    work(job, 2)
    other = threading.Thread(target=work, args=(job, 5))
    other.start()
    other.join()
    assert job.count == 2


def test_a_logdir_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.warns(CaptureWarning, match=r"\[demand-unavailable\]") as caught,
        capture.on_demand(tmp_path / "file" / "log", poll_s=0, period_s=0.01) as job,
    ):
        work(job, 5)
    assert len(caught) == 1
    assert job.count == 5


def test_a_url_is_no_logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        pytest.warns(CaptureWarning, match="local directories only"),
        capture.on_demand("s3://bucket/log") as job,
    ):
        work(job, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_logdir_that_goes_away(job: capture.on_demand, logdir: Path) -> None:
    ask(logdir, from_step=5, steps=1)
    work(job, 2)
    shutil.rmtree(logdir)
    with pytest.warns(CaptureWarning, match=r"\[demand-unavailable\]") as caught:
        work(job, 8)
    job.stop()
    assert len(caught) == 1
    assert not logdir.exists()
    assert job.count == 10


def test_a_recording_that_cannot_be_written(
    job: capture.on_demand, logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        ask(logdir)
        with pytest.warns(CaptureWarning, match=r"\[disk-full\]"):
            work(job, 5)
    assert "the disk is full" in status(logdir)["last"]["error"]
    assert status(logdir)["state"] == "ready"
    ask(logdir, OTHER)
    work(job, 5)
    assert status(logdir)["last"]["error"] is None


def test_a_profiler_that_cannot_start(
    job: capture.on_demand, logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(DeviceProfiler, "start_trace", lambda _: 1 / 0)
        ask(logdir)
        with pytest.warns(CaptureWarning) as caught:
            work(job, 5)
    codes = [str(one.message).partition("]")[0] for one in caught]
    assert codes == ["[start-failed", "[demand-failed"]
    assert "ZeroDivisionError" in status(logdir)["last"]["error"]
    ask(logdir, OTHER)
    work(job, 5)
    assert status(logdir)["last"]["error"] is None


def test_another_profiler_is_not_disturbed(job: capture.on_demand, logdir: Path) -> None:
    with torch.profiler.profile() as other:
        ask(logdir)
        with pytest.warns(CaptureWarning) as caught:
            work(job, 5)
    codes = [str(one.message).partition("]")[0] for one in caught]
    assert codes == ["[profiler-busy", "[demand-failed"]
    assert "another profiler" in status(logdir)["last"]["error"]
    assert "aten::add" in {one.key for one in other.key_averages()}
    ask(logdir, OTHER)
    work(job, 5)
    assert status(logdir)["last"]["error"] is None


def test_what_killed_jobs_left_is_removed(logdir: Path) -> None:
    folder = logdir / FOLDER
    (folder / "recordings-old").mkdir(parents=True)
    (folder / "recordings-new").mkdir()
    for name in ("job-old.json", "job-new.json"):
        (folder / name).write_text(json.dumps({}))
    for name in ("job-old.json", "recordings-old"):
        os.utime(folder / name, (0, 0))
    with capture.on_demand(logdir):
        left = {path.name for path in folder.iterdir()}
    assert {"job-new.json", "recordings-new"} < left
    assert not {"job-old.json", "recordings-old"} & left


def test_a_hanging_step_shows_that_the_job_lives(logdir: Path) -> None:
    with capture.on_demand(logdir, period_s=0.01) as job:
        work(job, 2)
        written = status(logdir)["changed_ns"]
        while status(logdir)["changed_ns"] == written or status(logdir)["step"] < 2:
            time.sleep(0.01)


def test_a_recording_of_stacks_has_no_thread_of_ours_but_shows_that_the_job_lives(
    logdir: Path,
) -> None:
    with capture.on_demand(logdir, poll_s=0, period_s=0.01, with_stack=True) as job:
        ask(logdir, steps=1000)
        work(job, 4)
        assert [one.name for one in threading.enumerate() if "tb_priv" in one.name] == []
        written = status(logdir)["step"]
        while status(logdir)["step"] == written:
            work(job, 1)
    assert status(logdir)["state"] == "ended"
    names = {str(event.get("name")) for event in read(traces(logdir)[0])["traceEvents"]}
    assert not [name for name in names if "_beat" in name]


def test_wrong_options_are_named(logdir: Path) -> None:
    for options in ({"ring": -1}, {"ring": 1, "every": 2}, {"ring_steps": 0}):
        with pytest.raises(ValueError, match="ring must be"):
            capture.on_demand(logdir, **options)  # type: ignore[arg-type]
