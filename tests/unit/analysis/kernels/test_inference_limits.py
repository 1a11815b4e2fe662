"""Limits of a timeline and advice against them, in traces of a few events."""

from __future__ import annotations

from tb_privateuse1.analysis.kernels import inference_limits
from tb_privateuse1.trace.model import Trace
from tests.support.make import kernel, launch, op, trace
from tests.support.simulate import Op, linear, simulate, step


def advice(made: Trace) -> list[str]:
    """Return the codes of the advice."""
    limits = inference_limits.find_limits(made, made.kernels)
    return [one.code for one in inference_limits.limit_advice(made, limits)]


def test_measured_times_have_no_limits() -> None:
    """A measured timeline needs no advice."""
    made = trace(op("aten::mm", 0, 10), launch(1, 2, 1), kernel("k", 3, 8, 1))
    assert inference_limits.find_limits(made, made.kernels) == ()
    assert advice(made) == []


def test_limits_are_sorted_by_the_error_that_they_cause() -> None:
    """The greatest error is first, limits without one are last."""
    ops = [op("aten::mm", 100 * i, 100 * i + 10, id=i + 1) for i in range(5)]
    made = trace(*ops, elapsed={i + 1: 40.0 for i in range(5)})
    limits = inference_limits.find_limits(made, made.kernels)
    bounds = [limit.bound_ns or 0 for limit in limits]
    assert bounds == sorted(bounds, reverse=True)
    assert {limit.code for limit in limits} >= {"latency", "shapes", "one_stream"}
    latency = next(limit for limit in limits if limit.code == "latency")
    assert (latency.kernels, latency.share) == (5, 1.0)
    assert advice(made)[-1] == "native"
    assert len(set(advice(made))) == len(advice(made))


def test_every_advice_has_one_code() -> None:
    """Codes are unique."""
    codes = [one.code for one in inference_limits.ADVICE]
    assert len(set(codes)) == len(codes)


def test_event_times_are_advised_where_the_backend_reports_none() -> None:
    """With them nothing is left to say of how far the device was behind."""
    layers = [linear(20_000, 150_000)] * 4
    edge = Op(
        "tb_privateuse1::window_start", 3_000, 1_000, blocking=True, category="user_annotation"
    )
    program = [edge, *(step(i, *layers) for i in range(4)), edge]
    assert "event_times" in advice(simulate(program).trace)
    assert "event_times" not in advice(simulate(program, event_times=(0, 0.0)).trace)
