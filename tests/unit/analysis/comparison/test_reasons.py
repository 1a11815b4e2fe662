"""Why a step changed: reasons with their parts of the change, and the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.analysis.comparison.reasons import Explanation, Reason, explain_change
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program
from tests.support.repeats import repeats
from tests.support.shared_traces import FOLDER, load, needs_traces

LAYERS = 4


def explained(base: Trace, now: Trace) -> Explanation:
    steps = np.arange(len(base.steps)), np.arange(len(now.steps))
    found = explain_change(base, now, *steps, (whole(base), whole(now)))
    assert found is not None
    check(found)
    return found


def whole(trace: Trace) -> intervals.Set:
    """All time of the steps."""
    return intervals.union(trace.steps.start_ns, trace.steps.end_ns)


def check(found: Explanation) -> None:
    """What must hold of all explanations."""
    assert sum(one.change_ns for one in found.reasons) + found.rest_ns == found.change_ns
    sizes = [abs(one.change_ns) for one in found.reasons]
    assert sizes == sorted(sizes, reverse=True)
    for one in found.reasons:
        assert one.change_ns == one.now_ns - one.base_ns
        assert min(one.base_ns, one.now_ns) >= 0
        assert one.sentence
        assert one.verdict in ("longer", "shorter", "unknown")
        if one.noise_ns is not None:
            assert abs(one.change_ns) > one.noise_ns


def model(
    *,
    attention: str = "math",
    us: float = 100,
    gemm: str = "gemm",
    copies: int = 0,
    waits: int = 0,
    steps: int = 4,
    batch: int = 32,
    dtype: str = "float",
) -> Program:
    """Run steps of layers with two products around attention."""
    run = Program()
    inputs = {"Input Dims": [[batch, 64, 512], [512, 512]], "Input type": [dtype, dtype]}
    for _ in range(steps):
        with run.step():
            for _ in range(LAYERS):
                run.op("aten::linear", 10, kernel=us, device=gemm, **inputs)
                if attention == "math":
                    run.op("aten::bmm", 5, kernel=60, device="bmm")
                    run.op("aten::_softmax", 5, kernel=40, device="softmax")
                    run.op("aten::bmm", 5, kernel=60, device="bmm")
                else:
                    run.op("aten::_flash_attention_forward", 5, kernel=50, device="flash")
                run.op("aten::linear", 10, kernel=us, device=gemm, **inputs)
            for _ in range(copies):
                run.op("aten::copy_", 2, kernel=20, device="elementwise")
            for _ in range(waits):
                run.wait()
                run.rest(50)
            run.wait()
    return run


def only(found: Explanation, kind: str) -> Reason:
    (one,) = [reason for reason in found.reasons if reason.kind == kind]
    return one


def test_attention_in_one_kernel_is_one_change_between_the_same_neighbors() -> None:
    found = explained(model().trace(), model(attention="flash").trace())
    one = only(found, "replaced")
    assert one.change_ns == (50 - 160) * LAYERS * 1000
    assert (one.base_calls, one.now_calls) == (3 * LAYERS, LAYERS)
    assert one.sentence == (
        "aten::bmm, aten::_softmax (12 kernels a step) became "
        "aten::_flash_attention_forward (4 kernels a step)."
    )
    assert one.operator == "aten::bmm"


def test_a_fused_operator_inside_the_same_one() -> None:
    def nested(inner: str, kernels: int) -> Trace:
        run = Program()
        for _ in range(4):
            with run.step():
                run.op("aten::linear", 10, kernel=100)
                with run.around("aten::scaled_dot_product_attention"):
                    for _ in range(kernels):
                        run.op(inner, 5, kernel=40, device=inner[6:])
                run.op("aten::linear", 10, kernel=100)
                run.wait()
        return run.trace()

    found = explained(nested("aten::bmm", 3), nested("aten::_flash_attention", 1))
    assert only(found, "replaced").change_ns == -80_000


def test_compiled_code_replaces_operators_all_over_the_step() -> None:
    def run(compiled: bool) -> Trace:
        program = Program()
        for _ in range(4):
            with program.step():
                if compiled:
                    with program.around("Torch-Compiled Region: 0/0"):
                        program.op("triton_poi_fused_0", 5, kernel=30, device="triton_poi_fused_0")
                else:
                    program.op("aten::mul", 5, kernel=40, device="mul")
                    program.op("aten::add", 5, kernel=40, device="add")
                program.op("aten::mse_loss", 5, kernel=10, device="loss")
                if not compiled:
                    program.op("aten::tanh_backward", 5, kernel=20, device="tanh")
                program.op("aten::_foreach_add_", 5, kernel=10, device="foreach")
                program.wait()
        return program.trace()

    one = only(explained(run(False), run(True)), "compiled")
    assert one.change_ns == -70_000
    assert one.sentence == (
        "Compiled code was added: aten::mul, aten::add, aten::tanh_backward (3 kernels a step) "
        "became Torch-Compiled Region: 0/0 (1 kernel a step)."
    )
    back = only(explained(run(True), run(False)), "compiled")
    assert back.sentence.startswith("Compiled code was removed: Torch-Compiled Region: 0/0 (1 ")


def test_more_copies() -> None:
    one = only(explained(model().trace(), model(copies=30).trace()), "calls")
    assert (one.change_ns, one.now_calls) == (600_000, 30)
    assert one.sentence == "aten::copy_ (30 kernels a step) is new."
    back = only(explained(model(copies=30).trace(), model(copies=10).trace()), "calls")
    assert back.sentence == "aten::copy_: 30 → 10 kernels a step."
    assert back.change_ns == -400_000


def test_other_kernels_of_the_same_operator() -> None:
    one = only(explained(model().trace(), model(gemm="fast_one", us=70).trace()), "kernels")
    assert one.sentence == "aten::linear runs other kernels, fast_one instead of gemm."
    assert one.change_ns == -30_000 * 2 * LAYERS


def test_the_same_kernels_at_another_speed() -> None:
    one = only(explained(model().trace(), model(us=125).trace()), "speed")
    assert one.sentence == "aten::linear: the same kernels take 25.0 % longer."


def test_batch_and_types() -> None:
    found = explained(model().trace(), model(batch=64, us=200).trace())
    assert only(found, "shapes").sentence == "Batch 32 → 64, most in aten::linear."
    assert found.batch == ("32", "64")
    one = only(explained(model().trace(), model(dtype="c10::BFloat16", us=50).trace()), "types")
    assert one.sentence == "Inputs are c10::BFloat16 instead of float, most in aten::linear."


def test_synchronizations_are_counted() -> None:
    found = explained(model(waits=3).trace(), model().trace())
    one = next(r for r in found.reasons if r.time_class == "python")
    assert one.change_ns < -100_000
    fewer = [r for r in found.reasons if r.time_class == "synchronization"]
    assert all(r.sentence.startswith("Less idle time: Synchronization, 4 → 1 calls") for r in fewer)


def test_another_device() -> None:
    names = ["A100", "H100"]
    base, now = (
        model(us=us).trace(deviceProperties=[{"id": 0, "name": name}])
        for us, name in zip((100, 60), names, strict=True)
    )
    one = only(explained(base, now), "device")
    assert one.sentence.startswith("The device is H100 instead of A100: equal work takes")


def test_the_loader_has_workers() -> None:
    def fed(iterator: str, us: float) -> Trace:
        run = Program()
        for _ in range(4):
            with run.step():
                with run.range(f"enumerate(DataLoader)#{iterator}.__next__"):
                    run.rest(us)
                run.op("aten::linear", 10, kernel=100)
                run.wait()
        return run.trace()

    found = explained(
        fed("_SingleProcessDataLoaderIter", 900), fed("_MultiProcessingDataLoaderIter", 20)
    )
    one = found.reasons[0]
    assert one.sentence == "The data loader got workers: the device waits less for input."
    assert one.change_ns == pytest.approx(-880_000, abs=2000)


def test_the_same_recording_has_no_reasons() -> None:
    run = model(copies=3).trace()
    found = explained(run, run)
    assert (found.change_ns, found.reasons, found.rest_ns) == (0, (), 0)


def test_changes_within_the_spread_of_the_steps_are_the_rest() -> None:
    def noisy(*us: float) -> Trace:
        run = Program()
        for took in us:
            with run.step():
                run.op("aten::mm", 10, kernel=took)
                run.wait()
        return run.trace()

    found = explained(noisy(100, 300, 120, 260), noisy(110, 310, 140, 300))
    assert found.reasons == ()
    assert found.rest_ns == found.change_ns > 0
    assert found.rest_noise_ns is not None
    assert found.rest_noise_ns > found.rest_ns


def test_a_single_step_has_reasons_without_a_verdict() -> None:
    found = explained(model(steps=1).trace(), model(steps=1, attention="flash").trace())
    assert {one.verdict for one in found.reasons} == {"unknown"}
    assert found.rest_noise_ns is None


def test_a_host_alone_is_compared_by_its_operators() -> None:
    def host(*names: str) -> Trace:
        events = []
        for i in range(3):
            at = 1000.0 * i
            events.append(make.step(i, at, at + 900))
            for n, name in enumerate(("aten::mm", *names, "aten::sum")):
                events.append(make.op(name, at + 10 + 100 * n, at + 90 + 100 * n))
        return make.trace(*events)

    found = explained(host("aten::mul", "aten::tanh"), host("aten::gelu"))
    one = only(found, "replaced")
    assert one.sentence == (
        "aten::mul, aten::tanh (2 calls a step) became aten::gelu (1 call a step)."
    )
    assert one.change_ns == -80_000


def test_a_host_beside_a_recording_of_nothing() -> None:
    """A recording of nothing has no account: nothing explains a change."""
    empty, host = make.trace(), make.trace(make.op("aten::mm", 10, 890))
    one = np.arange(1)
    assert explain_change(empty, host, one, one, (whole(empty), whole(host))) is None
    assert explain_change(host, empty, one, one, (whole(host), whole(empty))) is None


def test_names_of_the_host_are_as_the_program_wrote_them() -> None:
    def run(us: float) -> Trace:
        events = []
        for i in range(3):
            at = 1000.0 * i
            events += [
                make.step(i, at, at + 900),
                make.op("aten::mm", at + 10, at + 10 + us),
                make.annotation("Optimizer.step#SGD.step", at + 400, at + 400 + us),
            ]
        return make.trace(*events)

    found = {one.sentence for one in explained(run(100), run(150)).reasons}
    assert "aten::mm: the same calls take 50.0 % longer." in found
    assert not any("optimizer step" in sentence for sentence in found)


def test_nothing_is_known_without_steps_or_times() -> None:
    none = np.arange(0)
    time = intervals.EMPTY
    assert explain_change(Trace(), Trace(), none, none, (time, time)) is None


@pytest.mark.long
@settings(max_examples=repeats(25), deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6),
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6),
    st.integers(0, 3),
    st.integers(1, 3),
)
def test_reasons_and_rest_are_the_change(
    base: list[str], now: list[str], waits: int, steps: int
) -> None:
    def run(names: list[str], waits: int) -> Trace:
        program = Program()
        for i in range(steps):
            with program.step():
                program.op("aten::first", 10, kernel=20)
                for n, name in enumerate(names):
                    program.op(f"aten::{name}", 5, kernel=7 * n + i, device=name)
                for _ in range(waits):
                    program.wait()
                program.copy("HtoD", 5)
        return program.trace()

    one, other = run(base, waits), run(now, 1)
    found, back = explained(one, other), explained(other, one)
    assert found.change_ns == -back.change_ns
    assert explained(one, one).reasons == ()


@needs_traces
def test_a_real_loader_with_workers() -> None:
    base, now = (
        load(next((FOLDER / "cuda" / f"v100_resnet50_old_torch_workers{n}").glob("*.json*")))
        for n in (0, 4)
    )
    one = explained(base, now).reasons[0]
    assert one.sentence == "The data loader got workers: the device waits less for input."
    assert one.time_class == "input"
    assert one.change_ns < -30_000_000
    back = explained(now, base).reasons[0]
    assert back.sentence.startswith("The data loader lost its workers")
