"""``record``: ask a running job on the command line."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.cli import record
from tests.support import fake_job
from tests.support.fake_job import describe, failed, serving, written

Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """Run the command: its exit code, output and messages."""
    monkeypatch.setattr(record, "_POLL_S", 0.01)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = cli.main(["record", *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def test_all_ranks_write_a_trace(run: Said, logs: Path, tmp_path: Path) -> None:
    trace = tmp_path / "made.json"
    trace.write_text('{"traceEvents": []}')
    with serving(logs, trace):
        fake_job.describe(logs, 1)
        code, out, err = run(logs, "--steps", "2", "--shapes", "--no-stacks")
    assert code == 0, err
    paths = [Path(line) for line in out.splitlines()]
    assert [p.name.partition(".")[0] for p in paths] == ["host_0", "host_1"]
    assert all(path.exists() for path in paths)
    assert "2 of 2 ranks written" in err
    assert fake_job.request(logs) is None  # not for a process that starts later


def answer(logs: Path, **outcomes: str | None) -> threading.Thread:
    """Answer the next request: an error, or None for a trace, by rank ``r0``, ``r1``."""

    def work() -> None:
        while (asked := fake_job.request(logs)) is None:
            time.sleep(0.005)
        answer.asked = asked  # type: ignore[attr-defined]
        for name, error in outcomes.items():
            last = written(asked["id"]) if error is None else failed(asked["id"], error)
            describe(logs, int(name[1:]), last=last)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_the_request_says_what_was_asked(run: Said, logs: Path) -> None:
    for rank in range(5):
        describe(logs, rank)
    answer(logs, r0=None, r3=None, r4=None)
    code, out, _ = run(
        logs, "--ranks", "3-4,0", "--warmup", "2", "--memory", "--json", "--timeout", "60"
    )
    assert code == 0
    asked = answer.asked  # type: ignore[attr-defined]
    assert asked["ranks"] == [0, 3, 4]
    assert (asked["warmup"], asked["memory"], asked["stacks"]) == (2, True, None)
    assert asked["by"] == "command line"
    assert asked["expires_ns"] - asked["created_ns"] == 60 * 10**9
    result = json.loads(out)
    assert [rank["phase"] for rank in result["ranks"]] == ["written"] * 3


def test_a_rank_that_fails(run: Said, logs: Path) -> None:
    describe(logs, 0)
    describe(logs, 1)
    answer(logs, r0=None, r1="no space \x1b[31m")
    code, out, err = run(logs)
    assert code == 1
    assert "host_0.1.pt.trace.json" in out
    assert "rank 1: no space \\x1b[31m" in err


@pytest.mark.long
def test_no_answer_in_time(run: Said, logs: Path) -> None:
    describe(logs)
    code, out, err = run(logs, "--timeout", "1")
    assert (code, out) == (1, "")
    assert "rank 0: it did not read the request in time" in err
    assert fake_job.request(logs) is None


def test_ctrl_c_withdraws(run: Said, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(logs)

    def interrupt(_: float) -> None:
        assert fake_job.request(logs)
        raise KeyboardInterrupt

    monkeypatch.setattr(record.time, "sleep", interrupt)
    code, _, err = run(logs)
    assert code == 130
    assert "the request was withdrawn" in err
    assert fake_job.request(logs) is None


@pytest.mark.long
def test_replacing(run: Said, logs: Path) -> None:
    describe(logs)
    fake_job_request = logs / fake_job.FOLDER / "request.json"
    now_ns = time.time_ns()
    pending = {
        "schema": "tb_privateuse1.recording_request/1", "id": "ab", "created_ns": now_ns,
        "expires_ns": now_ns + 10**12, "from_step": None, "steps": 7, "warmup": 1,
        "ranks": None, "by": "TensorBoard",
    }  # fmt: skip
    fake_job_request.write_text(json.dumps(pending))
    code, _, err = run(logs)
    assert code == 2
    assert "7 steps is already pending, by TensorBoard" in err
    assert "--replace" in err
    code, _, _ = run(logs, "--replace", "--timeout", "1")
    assert code == 1
    assert fake_job.request(logs) is None


def test_a_request_that_another_took_the_place_of(
    run: Said, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(logs)

    def replace(_: float) -> None:
        (logs / fake_job.FOLDER / "request.json").unlink(missing_ok=True)

    monkeypatch.setattr(record.time, "sleep", replace)
    code, _, err = run(logs)
    assert code == 1
    assert "withdrawn or replaced" in err


def test_listing(run: Said, logs: Path) -> None:
    assert run(logs, "--list")[0] == 1
    for rank in range(30):
        describe(logs / "run", rank)
    describe(logs / "old", changed_ns=1)
    code, out, _ = run(logs, "--list")
    assert code == 0
    assert "run: 30 processes" in out
    assert "rank 3  ready, step 100  host_3" in out
    assert "and 10 more" in out
    assert "old" not in out
    (job,) = json.loads(run(logs, "--list", "--json")[1])
    assert (job["job"], len(job["processes"])) == ("run", 30)


def test_mistakes(run: Said, logs: Path) -> None:
    def refused(*arguments: str | Path) -> str:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        return err

    assert "No running job" in refused(logs)
    assert "no file or directory" in refused(logs / "none")
    assert "is remote" in refused("s3://bucket/logs")
    describe(logs)
    assert "has rank 5" in refused(logs, "--ranks", "5")
    assert "field steps is not valid" in refused(logs, "--steps", "0")
    assert "such as 0,3-5, not all" in refused(logs, "--ranks", "all")
    assert "--timeout" in refused(logs, "--timeout", "nan")
    assert "called x" in refused(logs, "--job", "x")
    describe(logs / "second")
    assert "2 jobs are running here" in refused(logs)
    (logs / fake_job.FOLDER / "job-bad.json").write_text("{")
    assert "job-bad.json of logs describes no process: it is no JSON" in refused(logs)
