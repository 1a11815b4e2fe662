"""What the capture notes of the host's threads, against what torch and the kernel say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tb_privateuse1.capture import torch_threads as capture
from tb_privateuse1.capture.torch_threads import torch_threads


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)


def test_one_process_has_what_it_may_use() -> None:
    found = torch_threads(None)
    assert found["intra_op"] == torch.get_num_threads()
    assert 1 <= found["processors"] <= len(os.sched_getaffinity(0))
    assert torch_threads(1) == found


def test_processes_of_a_job_share(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = torch_threads(None)["processors"]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert torch_threads(2)["processors"] == max(1, alone // 2)


def test_a_job_that_does_not_say_how_many_share() -> None:
    assert set(torch_threads(8)) == {"intra_op"}


@pytest.mark.parametrize(
    ("quota", "most"), [("100000 100000", 1), ("max 100000", 10**6), ("", 10**6), ("x y", 10**6)]
)
def test_a_container_has_a_quota(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, most: int
) -> None:
    path = tmp_path / "cpu.max"
    path.write_text(quota)
    monkeypatch.setattr(capture, "_QUOTA", path)
    assert torch_threads(None)["processors"] == min(most, len(os.sched_getaffinity(0)))
