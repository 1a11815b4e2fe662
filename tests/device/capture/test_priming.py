"""Priming: a step behind a long kernel, what is recorded of it, and what its durations gain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tb_privateuse1 import capture, inference
from tb_privateuse1.capture import backend, priming
from tb_privateuse1.capture.priming import Primer
from tb_privateuse1.capture.warnings import Notes
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import BOUND, Trace
from tests.support.capture import CPU, read
from tests.support.on_device import Done, device

WORK = """
import time
from tb_privateuse1.capture import priming

def idle():
    # The device waits for the host.
    until = time.perf_counter_ns() + 15_000
    while time.perf_counter_ns() < until:
        pass

def run(name, **options):
    x, y = torch.randn(16, 16).to("refdev"), torch.randn(16, 16).to("refdev")
    with capture.profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=2),
                         record_shapes=True, on_trace_ready=log(name), **options) as prof:
        for _ in range(10):
            for _ in range(20):
                idle()
                y = x + y
                idle()
                y = y.relu()
            prof.step()
    return prof
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    script = """
    torch.set_num_threads(1)
    answer["plain"] = codes(run("plain"))
    answer["primed"] = codes(run("primed", prime_ms=40))
    answer["auto"] = codes(run("auto", prime_ms="auto"))
    priming.backend.synchronize = lambda: 1 / 0
    answer["failed"] = codes(run("failed", prime_ms="auto"))
    """
    lines = [line[4:] for line in script.splitlines()]
    return device(tmp_path_factory.mktemp("prime"), WORK + "\n".join(lines))


def traces(done: Done, run: str) -> Iterator[Trace]:
    for path, beside in zip(done.traces(run), done.sidecars(run), strict=True):
        yield inference.build_trace(
            chrome.read(str(path)), readers_sidecar.read_sidecar(str(beside))
        )


def test_the_first_recorded_step_of_each_cycle_is_primed(done: Done) -> None:
    assert done.answer["plain"] == done.answer["primed"] == []
    told = [read(path)["primed"] for path in done.sidecars("primed")]
    assert told == [
        [{"step": "ProfilerStep#2", "ms": 40.0}],
        [{"step": "ProfilerStep#7", "ms": 40.0}],
    ]
    assert [read(path)["primed"] for path in done.sidecars("plain")] == [[], []]
    for trace in traces(done, "primed"):
        assert trace.steps.primed.tolist() == [True, False, False]
    for path in done.traces("primed"):
        spans = {
            e["name"]: (e["ts"], e["ts"] + e["dur"])
            for e in read(path)["traceEvents"]
            if e.get("cat") == "user_annotation"
        }
        first = min(s for name, s in spans.items() if name.startswith("ProfilerStep#"))
        for inner in (priming.PRIME, priming.PRIMED):
            assert first[0] <= spans[inner][0] <= spans[inner][1] <= first[1]


def test_auto_takes_the_length_of_the_last_step(done: Done) -> None:
    for path in done.sidecars("auto"):
        (told,) = read(path)["primed"]
        assert priming.LEAST_MS <= told["ms"] <= 200


def test_durations_become_known(done: Done) -> None:
    def only_limits(trace: Trace) -> float:
        """The share of kernels of the steps that nobody primed."""
        plain = ~trace.steps.primed[trace.kernels.step]
        kernels = trace.kernels.take(plain & (trace.kernels.step >= 0))
        assert len(kernels) >= 80
        return float((kernels.evidence == BOUND).mean())

    plain, primed = ([only_limits(one) for one in traces(done, run)] for run in ("plain", "primed"))
    assert max(primed) < 0.1
    # How much more is for the machine to say: a device that is held up works off a queue, and
    # that tells durations, too. It may be held up in one of the two recordings.
    assert max(plain) > max(primed)


def test_what_only_kept_the_device_busy_is_in_no_figure(done: Done) -> None:
    for trace in traces(done, "primed"):
        names = {trace.text(name) for name in trace.kernels.name}
        assert "aten::mm" not in names
        assert {"aten::add", "aten::relu"} <= names
        assert any(f.code == "step_primed" for f in trace.meta.findings)


def test_a_device_that_cannot_be_primed_is_recorded_all_the_same(done: Done) -> None:
    assert "prime-failed" in done.answer["failed"]
    assert [read(path)["primed"] for path in done.sidecars("failed")] == [[], []]


def test_waits_in_a_step_are_primed_behind(tmp_path: Path) -> None:
    """Else priming ends with the first wait: the rest of a step's work would stay hidden."""
    script = """
    torch.set_num_threads(1)
    x = torch.randn(16, 16).to("refdev")
    with capture.profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
                         record_shapes=True, prime_ms="auto", on_trace_ready=log("log")) as prof:
        for _ in range(5):
            for _ in range(6):
                for _ in range(8):
                    idle()
                    y = x + x
                    idle()
                    y = y.relu()
                y.sum().item()
            prof.step()
    answer["codes"] = codes(prof)
    answer["mode"] = str(torch.overrides._get_current_function_mode())
    """
    lines = [line[4:] for line in script.splitlines()]
    done = device(tmp_path, WORK + "\n".join(lines))
    assert done.answer == {"codes": [], "mode": "None"}
    primed = read(done.sidecars("log")[0])["primed"]
    assert {one["step"] for one in primed} == {"ProfilerStep#2"}
    assert len(primed) == 1 + 6
    (trace,) = traces(done, "log")
    assert trace.steps.primed.tolist() == [True, False, False]
    rest = trace.kernels.take(trace.kernels.step > 0)
    assert (rest.evidence == BOUND).mean() < 0.1


class Waiting:
    """A primer that is asked to prime a step, on the CPU's tensors as if they were a device's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.primer = Primer("cpu", Notes())
        self.shares: list[float] = []
        monkeypatch.setattr(self.primer, "prime", self.prime)
        monkeypatch.setattr(backend, "synchronize", lambda: None)

    def prime(self, _step: str | None, _ms: float | None, share: float = priming.SHARE) -> None:
        self.shares.append(share)
        self.primer.busy = True


def test_only_so_many_waits_of_a_step_are_primed_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting(monkeypatch)
    waiting.primer.prime_behind_waits("ProfilerStep#2")
    x = torch.ones(3)
    for _ in range(priming.MOST_AGAIN + 5):
        x.sum().item()
    waiting.primer.finish()
    x.sum().item()
    assert waiting.shares == [priming.SHARE] + [priming.AGAIN] * priming.MOST_AGAIN
    assert torch.overrides._get_current_function_mode() is None


def test_only_three_cycles_of_a_recording_are_primed(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting(monkeypatch)
    for number in range(6):
        waiting.primer.prime_behind_waits(f"ProfilerStep#{number}")
        waiting.primer.finish()
    assert waiting.shares == [priming.SHARE] * priming.MOST_STEPS


def test_a_mode_of_the_program_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that began in the primed step and ends behind it: ours is silent, and below."""
    waiting = Waiting(monkeypatch)
    waiting.primer.prime_behind_waits(None)
    with torch.device("cpu"):
        mode = torch.overrides._get_current_function_mode()
        waiting.primer.finish()
        assert torch.overrides._get_current_function_mode() is mode
        torch.ones(3).sum().item()
    assert waiting.shares == [priming.SHARE]
    ours = torch.overrides._get_current_function_mode()
    assert ours is not None
    ours.__exit__(None, None, None)


def test_compiled_functions_are_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo import utils

    monkeypatch.setitem(utils.counters, "frames", {"total": 1})
    waiting = Waiting(monkeypatch)
    waiting.primer.prime_behind_waits(None)
    assert torch.overrides._get_current_function_mode() is None
    assert waiting.shares == [priming.SHARE]


def test_priming_by_hand(tmp_path: Path) -> None:
    script = """
    x = torch.randn(64, 64).to("refdev")
    with capture.profile(schedule=schedule(wait=1, warmup=0, active=2, repeat=1),
                         prime_ms=0, on_trace_ready=log("log")) as prof:
        for i in range(3):
            (x + 1).sum().item()
            if i == 2:
                prof.prime(7)
            x.relu()
            prof.step()
        prof.prime(7)  # nothing is recorded any more
    answer["codes"] = codes(prof)
    with capture.profile(route="torch", prime_ms=5) as prof:
        prof.prime()
    answer["torch"] = codes(prof)
    """
    done = device(tmp_path, "\n".join(line[4:] for line in script.splitlines()))
    (sidecar,) = done.sidecars("log")
    assert read(sidecar)["primed"] == [{"step": "ProfilerStep#2", "ms": 7}]
    assert done.answer == {"codes": [], "torch": ["prime-unused"]}


@pytest.mark.parametrize("wrong", [-1, 3_000, "always"])
def test_only_sensible_lengths_are_taken(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"auto|always"):
        capture.profile(prime_ms=wrong)


def test_without_a_device_nothing_is_primed() -> None:
    with pytest.warns(capture.CaptureWarning, match="prime-unused"):
        prof = capture.profile(activities=[CPU], prime_ms="auto")
    with prof:
        prof.prime(5)
    assert prof._primer.done == []


class Device:
    """Products of a known length, on the CPU."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, product_ns: int) -> None:
        self.products, self.now = 0, 0
        monkeypatch.setattr(backend, "synchronize", lambda: None)
        monkeypatch.setattr(priming.time, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(torch, "mm", self.mm)
        self.product_ns = product_ns

    def mm(self, a: Any, b: Any, out: Any) -> None:
        self.products += 1
        self.now += self.product_ns * (len(a) // 256) ** 3


@pytest.mark.parametrize(
    ("product_ns", "step_ns", "ms", "products"),
    [
        (5_000_000, 10_000_000, None, 4),
        (5_000_000, 10_000_000, 100.0, 20),
        (300_000, 12_000_000, None, 10),  # 512 by 512: 2.4 ms
        (5_000_000, 1_000, None, 1),  # no step is that short
        (5_000_000, None, None, 10),  # no step was seen
        (5_000_000, 60_000_000_000, None, 400),  # nobody waits for a minute
    ],
)
def test_the_length_is_made_of_products(
    monkeypatch: pytest.MonkeyPatch,
    product_ns: int,
    step_ns: int | None,
    ms: float | None,
    products: int,
) -> None:
    fake = Device(monkeypatch, product_ns)
    primer = Primer("cpu", Notes())
    primer.prepare()
    if step_ns is not None:
        primer.stepped()
        fake.now += step_ns
        primer.stepped()
    before = fake.products
    primer.prime("ProfilerStep#1", ms)
    assert fake.products - before == products
    assert [told["step"] for told in primer.done] == ["ProfilerStep#1"]
