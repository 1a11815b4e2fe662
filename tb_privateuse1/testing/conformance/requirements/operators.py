"""Operators that compute on the CPU, or wait for the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.capture.calibration.queue_check import CoreClock
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_SIZE = 32
_TRIES, _ENOUGH = 16, 2
_EARLY, _WAITED = 0.5, 0.4
"""Shares of a backlog: a call that returned before the one was over, one that lasted the other."""
_TO_CPU = frozenset({"aten::_to_cpu", "aten::_local_scalar_dense"})
_COPIES = frozenset({"aten::_to_copy"})

Operators = dict[str, Callable[[], Any]]


def usual_operators(device: str) -> Operators:
    """Return operators of a training by name; none of them has a reason to wait."""
    values = torch.rand(_SIZE, _SIZE, device=device)
    weight = torch.ones(_SIZE, device=device)
    index = torch.zeros(4, dtype=torch.int64, device=device)
    functional = torch.nn.functional
    return {
        "add": lambda: values + values,
        "mul": lambda: values * values,
        "mm": lambda: values @ values,
        "addmm": lambda: torch.addmm(weight, values, values),
        "bmm": lambda: torch.bmm(values[None], values[None]),
        "relu": lambda: torch.relu(values),
        "gelu": lambda: functional.gelu(values),
        "tanh": lambda: torch.tanh(values),
        "softmax": lambda: torch.softmax(values, 1),
        "log_softmax": lambda: torch.log_softmax(values, 1),
        "layer_norm": lambda: functional.layer_norm(values, (_SIZE,), weight, weight),
        "sum": values.sum,
        "mean": values.mean,
        "max": values.amax,
        "cat": lambda: torch.cat([values, values]),
        "embedding": lambda: functional.embedding(index, values),
        "where": lambda: torch.where(values > 0, values, -values),
        "clone": values.clone,
    }


def _check(subject: Subject) -> Answer:
    found = usual_operators(subject.device)
    lacking, waiting, doubtful = [], [], []
    for name, run in found.items():
        try:
            run()  # what a first call prepares
        except Exception:
            lacking.append(name)
            continue
        waits = _waits(subject, run)
        if waits:
            waiting.append(name)
        elif waits is None:
            doubtful.append(name)
    fallen = [name for name in waiting if _goes_to_the_cpu(found[name])]
    values = {"tried": len(found), "lacking": lacking, "waiting": waiting, "on_cpu": fallen}
    if fallen:
        return Answer("warn", f"on the CPU: {', '.join(fallen)}", values)
    if waiting:
        return Answer("warn", f"wait for the device: {', '.join(waiting)}", values)
    if lacking:
        return Answer("warn", f"not there: {', '.join(lacking)}", values)
    if doubtful:
        return Answer("unknown", f"the host is too busy: {', '.join(doubtful)}", values)
    return Answer("ok", f"{len(found)} usual ones neither wait nor run on the CPU", values)


def _waits(subject: Subject, run: Callable[[], Any]) -> bool | None:
    """Return whether a call behind a backlog lasts until that is done; None if the host is busy.

    Two calls that did are enough, and one that returned before the backlog can have been over.
    """
    whole, waited = subject.backlog_ns, 0
    with CoreClock() as clock:
        for _ in range(_TRIES):
            subject.read_back()
            began = time.perf_counter_ns()
            subject.launch()
            launched, before = time.perf_counter_ns() - began, clock.now_ns()
            run()
            taken = clock.now_ns() - before
            if time.perf_counter_ns() - began < _EARLY * whole:
                subject.read_back()
                return False
            waited += launched < _EARLY * whole and taken > _WAITED * whole
            if waited == _ENOUGH:
                return True
    return None


def _goes_to_the_cpu(run: Callable[[], Any]) -> bool:
    """Return whether the operator copies to the CPU inside."""
    from torch.autograd.profiler import profile as autograd_profile

    with autograd_profile(use_kineto=True) as probe:
        run()
    names = [row.name() for row in probe.kineto_results.events()]
    return bool(_TO_CPU & set(names)) or any(name in _COPIES for name in names)


REQUIREMENT = Requirement(
    "operators",
    "usual operators run on the device, without a wait",
    "The host waits in them, and the device waits for the host behind them.",
    'm.impl("_softmax", &softmax);  // TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)\n'
    "// instead of torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>(), and without\n"
    "// driver_stream_synchronize() inside",
    _check,
)
