"""The verdict: one sentence on what limits the judged part, with its number and its cause."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.account.table import Account
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.analysis.recording.judged_part import JudgedPart, judged_part
from tb_privateuse1.analysis.simulation import verdict as verdicts
from tb_privateuse1.analysis.simulation.class_gains import ClassGains
from tb_privateuse1.analysis.simulation.verdict import Verdict, steady_verdict
from tb_privateuse1.trace.model import Trace
from tests.support.make import frame, kernel, launch, op, span, step, trace
from tests.support.program import device_bound
from tests.support.uncertain import pair


def judged(t: Trace) -> Verdict:
    found = steady_verdict(t)
    assert found is not None
    return found


def test_a_host_that_is_blocked_is_named_with_call_operator_and_function() -> None:
    events = [frame("serve.py(3): main", 0, 1000)]
    for at in range(0, 1000, 100):
        events += [
            frame("serve.py(29): copy", at + 5, at + 95), op("aten::copy_", at + 6, at + 94),
            span("hip_runtime", "hipMemcpyWithStream", at + 10, at + 90, correlation=at + 1),
            kernel("Memcpy DtoH", at + 85, at + 88, at + 1, category="gpu_memcpy"),
        ]  # fmt: skip
    found = judged(trace(*events))
    assert (found.kind, found.time_class) == ("blocked", "blocking_copy")
    assert (found.cause, found.operator, str(found.where)) == (
        "hipMemcpyWithStream", "aten::copy_", "copy (serve.py:29)"
    )  # fmt: skip
    assert (found.ns, found.bound_ns, found.longest_ns) == (770_000, 0, 75_000)
    assert found.sentence == (
        "Host-blocked: Blocking copies 77.9 % of the analyzed 988 µs, most in hipMemcpyWithStream "
        "← aten::copy_ ← copy (serve.py:29). The device is idle for 97.0 %. "
        "Without “Blocking copies” the analyzed time is 73.5 % shorter."
    )


def test_a_busy_device_is_named_with_its_work_and_the_reason_for_the_rest() -> None:
    t = trace(
        step(1, 0, 100),
        op("aten::mm", 0, 30), launch(5, 6, 1), op("aten::add", 30, 32), launch(31, 32, 2),
        kernel("gemm", 20, 80, 1), kernel("add", 80, 90, 2),
        span("cuda_runtime", "cudaDeviceSynchronize", 33, 91, correlation=9),
    )  # fmt: skip
    found = judged(t)
    assert (found.kind, found.time_class, found.where) == ("device", "kernel", None)
    assert found.sentence == (
        "Device-bound: Kernels 76.9 % of the analyzed 91.0 µs (gemm 65.9 %). "
        "The device is idle for 23.1 % (Launch latency 15.4 %). "
        "Without “Kernels” the analyzed time is 48.4 % shorter."
    )


def test_a_device_that_nobody_waits_for_does_not_limit() -> None:
    """STORY 1.2: it was device-bound by its largest class, and half of its work gained nothing."""
    events = [step(1, 0, 1000)]
    for i in range(20):
        at = 50 * i
        events += [op("aten::mm", at, at + 25), launch(at + 3, at + 5, i + 1)]
        events += [op("aten::relu", at + 25, at + 50), kernel("gemm", at + 12, at + 45, i + 1)]
    found = judged(trace(*events))
    assert (found.kind, found.time_class) == ("host", "dispatch")
    assert found.judged_share < 0.5
    assert [one.name for one in found.gains] == ["dispatch", "launch_call"]


def test_a_wait_that_is_not_recorded_leaves_the_gain_open() -> None:
    """The step ends as the device does, and no call says that the host waits for it."""
    t = trace(
        step(1, 0, 1000), op("aten::mm", 0, 30), launch(5, 6, 1), kernel("gemm", 10, 980, 1),
    )  # fmt: skip
    found = judged(t)
    assert (found.kind, found.time_class) == ("device", "kernel")
    assert "the host may wait for the device in what is not recorded." in found.sentence


def test_a_class_that_nothing_changes_is_no_limit() -> None:
    """Work from before the recording ends when it ended: no change of the program moves it."""
    t = trace(
        step(1, 0, 100), kernel("earlier", 1, 4), op("aten::mm", 60, 90), launch(62, 64, 1),
        kernel("gemm", 70, 95, 1),
    )  # fmt: skip
    found = judged(t)
    assert "before_recording" not in {one.name for one in found.gains}
    assert found.time_class in {one.name for one in found.gains}


def test_a_replay_that_fails_leaves_the_account(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise IndexError("a mistake")

    monkeypatch.setattr(verdicts, "class_gains", fails)
    found = judged(trace(op("aten::mm", 0, 30), launch(5, 6, 1), kernel("k", 7, 29, 1)))
    assert (found.time_class, found.gains, found.replayed_steps) == ("kernel", (), 0)
    assert "Not replayed: the replay failed" in found.sentence
    assert "a mistake" in caplog.text


def test_an_inferred_verdict_has_the_limits_of_idle_time() -> None:
    shown, _ = pair(0)
    kernels = shown.kernels
    near = np.full(len(kernels), 10, np.int64)
    sure = replace(kernels, start_bound_ns=near, duration_bound_ns=near)
    found = judged(replace(shown, kernels=sure))
    assert found.kind != "undecided"
    assert re.search(r"idle for [\d.]+ %, by bounds [\d.]+ % to [\d.]+ %", found.sentence)


def test_python_is_named_by_the_users_own_function() -> None:
    """The innermost frame may be a library's, or a built-in method with an address."""
    t = trace(
        step(1, 0, 100), frame("train.py(7): prepare", 0, 90),
        frame("<built-in method sort of list object at 0x7f5103f4eff0>", 5, 85),
        op("aten::mm", 92, 95), launch(93, 94, 1), kernel("k", 94, 99, 1),
    )  # fmt: skip
    found = judged(t)
    assert (found.kind, found.time_class) == ("host", "python")
    assert found.sentence.startswith(
        "Host-bound: Python outside operators 93.0 % of the analyzed 100 µs, most in "
        "prepare (train.py)."
    )


def test_communication_and_a_host_alone_have_kinds_of_their_own() -> None:
    host = trace(step(1, 0, 100), op("aten::mm", 10, 90))
    alone = judged(host)
    device = trace(
        step(1, 0, 100), op("c10d::allreduce_", 0, 8), launch(2, 3, 1),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 95, 1),
    )  # fmt: skip
    busy = judged(device)
    assert (alone.kind, alone.time_class) == ("host_only", "dispatch")
    assert "device" not in alone.sentence
    assert (busy.kind, busy.time_class) == ("communication", "exposed_communication")


def test_nothing_judged_has_no_verdict() -> None:
    assert steady_verdict(trace()) is None


def test_a_kernel_that_waits_in_the_queue_has_the_name_that_people_read() -> None:
    full = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn"
    events = []
    for i in range(20):
        events += [launch(2 * i, 2 * i + 1, i + 1), kernel(full, 50 * i + 45, 50 * i + 55, i + 1)]
    found = judged(trace(step(1, 0, 1000), op("aten::mm", 0, 45), *events))
    assert found.cause == full
    assert f"most before {display_name(full)}." in found.sentence
    assert display_name(full) == "GEMM bf16 128×64×64"


def test_a_replay_that_contradicts_the_account_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its 20 us of 100 a class cannot gain all of them, if another one has the rest."""
    t = trace(
        step(1, 0, 100), op("aten::mm", 20, 98), launch(96, 97, 1), kernel("gemm", 98, 100, 1)
    )
    sure = judged(t)
    assert (sure.time_class, len(sure.gains) > 0) == ("dispatch", True)

    def wrong(trace: Trace, part: JudgedPart, account: Account) -> ClassGains:
        return ClassGains(
            100_000, 100_000, 1, {"host": 100_000}, 0, {"python": 100_000, "dispatch": 0}, 1_000
        )

    monkeypatch.setattr(verdicts, "class_gains", wrong)
    found = verdicts.verdict(t, judged_part(t))
    assert found is not None
    assert (found.time_class, found.gains) == ("dispatch", ())
    assert "Not replayed: the replay gains more than the account allows." in found.sentence


def test_activities_without_any_launch_are_not_replayed() -> None:
    """Nothing moves them, so all gains would be 0, and nothing would limit a busy device."""
    run = device_bound()
    for event in run.events:
        if event["cat"] == "kernel":
            event["args"].pop("correlation")
    found = steady_verdict(run.trace())
    assert found is not None
    assert (found.kind, found.time_class, found.gains) == ("device", "kernel", ())
    assert "have no launch" in found.sentence
