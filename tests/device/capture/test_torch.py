"""Without a PrivateUse1 device capture does what torch does, and tags the rank."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend
from tests.support.capture import CPU, NAME, read, train, written

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


@pytest.mark.parametrize("zipped", [False, True])
def test_a_cpu_run_writes_what_torch_writes(tmp_path: Path, zipped: bool) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    handler = torch.profiler.tensorboard_trace_handler(str(theirs), use_gzip=zipped)
    train(torch_profile, on_trace_ready=handler)
    handler = capture.tensorboard_trace_handler(str(ours), use_gzip=zipped)
    prof = train(capture.profile, on_trace_ready=handler)

    def parts(paths: list[Path]) -> list[str]:
        return [re.sub(r"\d{15,}", "<time>", path.name) for path in paths]

    assert parts(written(ours)) == parts(written(theirs))
    assert len(written(ours)) == 2
    for left, right in zip(map(read, written(ours)), map(read, written(theirs)), strict=True):
        assert left.keys() == {*right.keys(), "torch_threads", "memory_pages"}
        names = [sorted(str(e.get("name")) for e in t["traceEvents"]) for t in (left, right)]
        assert names[0] == names[1]
    assert prof.route == "torch"
    assert prof.sidecar() is None
    assert not prof.notes.found


def test_it_is_torchs_profiler(tmp_path: Path) -> None:
    prof = train(capture.profile, record_shapes=True, acc_events=True, with_modules=True)
    assert issubclass(capture.profile, torch.profiler.profile)
    assert {row.key for row in prof.key_averages(group_by_input_shape=True)} > {"aten::add"}
    assert len(prof.events()) > 1
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert read(tmp_path / "trace.json")["traceEvents"]
    with pytest.raises(TypeError):
        capture.profile(no_such_option=True)


def test_without_a_schedule_and_by_hand(tmp_path: Path) -> None:
    prof = capture.profile(activities=[CPU])
    prof.start()
    torch.ones(2).add(1)
    prof.stop()
    capture.tensorboard_trace_handler(str(tmp_path))(prof)
    assert len(written(tmp_path)) == 1


def test_the_python_exporter_is_passed_on(tmp_path: Path) -> None:
    handler = capture.tensorboard_trace_handler(str(tmp_path), use_python_export=True)
    train(capture.profile, on_trace_ready=handler)
    assert [read(path)["schemaVersion"] for path in written(tmp_path)] == [1, 1]


def test_the_handler_serves_torchs_own_profiler(tmp_path: Path) -> None:
    train(torch_profile, on_trace_ready=capture.tensorboard_trace_handler(str(tmp_path), "me"))
    assert [NAME.match(path.name).group(1) for path in written(tmp_path)] == ["me", "me"]  # type: ignore[union-attr]


def test_a_sidecar_by_hand_needs_device_times(tmp_path: Path) -> None:
    prof = train(capture.profile)
    with pytest.raises(ValueError, match="'torch'"):
        capture.write_sidecar(prof, tmp_path / "x.kernel_event.json")


def test_the_launchers_rank_is_in_the_name_and_in_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    train(capture.profile, on_trace_ready=capture.tensorboard_trace_handler(str(tmp_path)))
    for path in written(tmp_path):
        assert NAME.match(path.name).group(1).endswith(f"_{os.getpid()}_rank3")  # type: ignore[union-attr]
        info = read(path)["distributedInfo"]
        assert (info["rank"], info["world_size"]) == (3, 8)


def test_a_rank_that_is_no_number_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "first")
    assert backend.rank_and_world_size() == (None, None)


def test_the_process_group_knows_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    rendezvous = f"file://{tmp_path}/store"
    torch.distributed.init_process_group("gloo", init_method=rendezvous, rank=0, world_size=1)
    try:
        handler = capture.tensorboard_trace_handler(str(tmp_path / "log"))
        train(capture.profile, on_trace_ready=handler)
    finally:
        torch.distributed.destroy_process_group()
    trace = written(tmp_path / "log")[0]
    assert "_rank0." in trace.name
    assert read(trace)["distributedInfo"]["backend"] == "gloo"
