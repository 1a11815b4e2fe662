"""Memory close to its capacity."""

from tb_privateuse1.advice.rules.memory_capacity import RULE
from tests.support import make
from tests.support.program import found

GIB = 1 << 30
DEVICES = [{"id": 0, "name": "x", "totalGlobalMem": 16 * GIB}]


def found_at(peak: int, **args: int) -> int:
    events = [make.memory(10, GIB, peak - GIB, **args), make.memory(20, GIB, peak, **args)]
    trace = make.trace(make.op("aten::empty", 0, 30), *events, deviceProperties=DEVICES)
    return len(found(RULE, trace))


def test_above_ninety_percent() -> None:
    events = [make.memory(20, GIB, 12 * GIB, **{"Total Reserved": 15 * GIB})]
    trace = make.trace(make.op("aten::empty", 0, 30), *events, deviceProperties=DEVICES)
    (row,) = found(RULE, trace)
    assert row.title == "PrivateUse1 0 is 93.8 % full at its peak"
    assert (row.severity, row.saving_ns, row.evidence[0].table) == ("medium", None, "memory")


def test_both_sides_of_the_threshold() -> None:
    assert found_at(15 * GIB) == 1
    assert found_at(14 * GIB) == 0


def test_a_peak_above_the_capacity_is_of_something_else() -> None:
    assert found_at(17 * GIB) == 0


def test_host_memory_is_not_compared_with_the_device() -> None:
    assert found_at(15 * GIB, device_type=0) == 0


def serving(swing: int, *, backward: bool = False) -> int:
    level = [15 * GIB - swing * (i % 2) for i in range(200)]
    events = [make.memory(10 + i, GIB, total) for i, total in enumerate(level)]
    ops = [make.op("aten::mm", 0, 300)]
    if backward:
        ops.append(make.op("autograd::engine::evaluate_function: MmBackward0", 300, 400))
    return len(found(RULE, make.trace(*ops, *events, deviceProperties=DEVICES)))


def test_memory_that_a_server_holds_is_no_finding() -> None:
    assert serving(GIB // 8) == 0


def test_a_level_that_swings_is_the_programs_own() -> None:
    assert serving(4 * GIB) == 1
    assert serving(GIB // 8, backward=True) == 1


def test_the_peak_says_what_it_holds_and_when() -> None:
    """Activations of a forward pass, 3 GiB each, on top of 6 GiB from before."""
    links = {"Sequence number": 0}
    events = [
        make.frame("nn.Module: Net_0", 0, 90),
        *(make.op("aten::mm", 10 + 20 * i, 20 + 20 * i, **links) for i in range(3)),
        make.op(
            "autograd::engine::evaluate_function: MmBackward0", 100, 200, **links,
            **{"Fwd thread id": 1},
        ),
    ]  # fmt: skip
    total = 6 * GIB
    for i in range(3):
        total += 3 * GIB
        events.append(make.memory(12 + 20 * i, 3 * GIB, total, Addr=4096 * (i + 1)))
    for i in range(3):
        total -= 3 * GIB
        events.append(make.memory(120 + 20 * i, -3 * GIB, total, Addr=4096 * (i + 1)))
    (row,) = found(RULE, make.trace(*events, deviceProperties=DEVICES))
    assert "At the peak, in the forward pass, it holds" in row.explanation
    assert "60.0 % activations" in row.explanation


def test_modules_with_most_activations_are_named_with_the_cost_to_recompute_them() -> None:
    """Two blocks of two layers each: the block counts, which is the outermost repeated class."""
    links, events, total = {"Sequence number": 0}, [make.frame("nn.Module: Net_0", 0, 90)], 6 * GIB
    for i in range(4):
        at = 10 + 20 * i
        if i % 2 == 0:
            events.append(make.frame(f"nn.Module: Block_{i // 2}", at - 5, at + 33))
        events += [
            make.frame(f"nn.Module: Layer_{i}", at - 2, at + 12),
            make.op("aten::mm", at, at + 10, **links),
            make.launch(at + 4, at + 5, i),
            make.kernel("gemm", at + 6, at + 16, i),
        ]
        total += 2 * GIB
        events.append(make.memory(at + 2, 2 * GIB, total, Addr=4096 * (i + 1)))
    events += [
        make.step(1, 0, 200),
        make.op(
            "autograd::engine::evaluate_function: MmBackward0", 100, 190, **links,
            **{"Fwd thread id": 1},
        ),
        make.launch(110, 112, 9),
        make.kernel("gemm_backward", 115, 195, 9),
    ]  # fmt: skip
    for i in range(4):
        total -= 2 * GIB
        events.append(make.memory(120 + 10 * i, -2 * GIB, total, Addr=4096 * (i + 1)))
    devices = [{**DEVICES[0], "totalGlobalMem": 15 * GIB}]
    (row,) = found(RULE, make.trace(*events, deviceProperties=devices))
    assert "57.1 % of it were made in the 2 instances of Block." in row.explanation
    assert "To recompute that would take about 20.0 % of the time." in row.explanation


def test_temporaries_of_the_optimizer_have_a_fix_of_their_own() -> None:
    events = [
        make.annotation("Optimizer.step#Adam.step", 10, 90),
        make.op("aten::_foreach_mul", 20, 80),
        make.memory(30, 9 * GIB, 15 * GIB),
        make.memory(60, -9 * GIB, 6 * GIB),
    ]
    (row,) = found(RULE, make.trace(*events, deviceProperties=DEVICES))
    assert "At the peak, in the optimizer's step, it holds" in row.explanation
    assert row.fix.startswith("Use a fused optimizer")
