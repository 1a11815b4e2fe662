"""Recordings on demand: both sides have the same protocol, though neither may import the other."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from tb_privateuse1.discovery import live_jobs, recording_request
from tb_privateuse1.discovery.recording_request import RecordingOptions
from tests.support.fake_job import FOLDER, describe, description
from tests.support.sources import FILES, nodes

JOB_SIDE = "capture.demand.files"


@pytest.fixture(scope="module")
def job_side() -> ModuleType:
    """The job's module by itself: its package needs torch."""
    spec = importlib.util.spec_from_file_location("demand_files", FILES[JOB_SIDE])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # its dataclass looks there
        spec.loader.exec_module(module)
    return module


def test_names_and_limits_are_the_same(job_side: ModuleType) -> None:
    assert job_side.FOLDER == live_jobs.FOLDER == FOLDER
    assert job_side.REQUEST == recording_request.FILE
    assert job_side.JOB_SCHEMA == live_jobs.JOB_SCHEMA
    assert job_side.REQUEST_SCHEMA == recording_request.REQUEST_SCHEMA
    assert job_side.MOST_STEPS == recording_request.MOST_STEPS
    assert job_side.MOST_WARMUP == recording_request.MOST_WARMUP
    assert job_side.MOST_LABEL == recording_request.MOST_LABEL
    assert job_side._MOST_BYTES == live_jobs.LONGEST_FILE_BYTES


def test_a_process_describes_itself_with_these_fields() -> None:
    """Those that the reader of descriptions, and the fake job of the tests, know."""
    written: set[str] = set()
    for module in FILES:
        if not module.startswith("capture"):
            continue
        for node in nodes(FILES[module].read_text()):
            if isinstance(node, ast.FunctionDef) and node.name == "_facts":
                written |= {
                    str(key.value)
                    for part in ast.walk(node)
                    if isinstance(part, ast.Dict)
                    for key in part.keys
                    if isinstance(key, ast.Constant)
                }
    assert written | {"changed_ns", "period_s"} == set(description())


@pytest.mark.parametrize(
    "options",
    [
        RecordingOptions(),
        RecordingOptions(1000, 100, (0, 3, 999_999), shapes=True, stacks=False, memory=True),
    ],
)
def test_what_is_asked_is_what_the_job_reads(
    tmp_path: Path, job_side: ModuleType, options: RecordingOptions
) -> None:
    for rank in options.ranks or (0,):
        describe(tmp_path, rank)
    (job,) = live_jobs.read_jobs(live_jobs.find_places([("", str(tmp_path))]), time.time_ns())
    asked = recording_request.ask(job, options, by="b" * 200, now_ns=time.time_ns())
    read = job_side.read_request(tmp_path / FOLDER / recording_request.FILE)
    assert (read.id, read.created_ns, read.expires_ns) == (
        asked.id,
        asked.created_ns,
        asked.expires_ns,
    )
    assert (read.from_step, read.by) == (asked.from_step, asked.by)
    mine = (options.steps, options.warmup, options.ranks)
    assert (read.steps, read.warmup, read.ranks) == mine
    assert (read.shapes, read.stacks, read.memory) == (
        options.shapes,
        options.stacks,
        options.memory,
    )


def test_what_a_job_writes_is_found(tmp_path: Path, job_side: ModuleType) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    document = description(3, worker="a name/with:signs")
    job_side.write_atomically(job_side.job_path(folder, document["worker"]), document)
    (job,) = live_jobs.read_jobs(live_jobs.find_places([("", str(tmp_path))]), time.time_ns())
    assert [process.rank for process in job.processes] == [3]
    assert json.loads(next(folder.glob("job-*.json")).read_text()) == document
