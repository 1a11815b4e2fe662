"""Run a recorded operator on a device: time it, and compare its numbers with the CPU's.

``script`` writes this module and ``operator_call`` into one file, which needs torch alone.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from tb_privateuse1.export.taken.operator_call import Call, NotRunnable, describe

CASE: dict[str, Any] = {}
"""The recorded call. A script has it at its top."""

WARM_UP_CALLS = 3
FLOOR_CALLS = 100
LEAST_SAMPLES, MOST_SAMPLES = 5, 10_000
FLUSHED_BYTES = 64 << 20
"""More than one core has of a server's caches."""
TINY = 10
"""Floors: a call that is shorter is to a tenth or more the call itself."""
BATCH_S = 0.005
"""Calls are timed together for so long: a device's events and its start cost microseconds."""
CPU_FLOPS = 2e11
"""More operations than these take a CPU many seconds: numbers are compared only on request."""
ROUNDED_ONCE, ACCUMULATED = 4, 128
"""Tolerated errors in units of a type's epsilon. Narrow types are summed in float32 and rounded
once or twice; the error of a sum of 16,384 float32 numbers grows with its root, 128."""
UNSET = "empty"
"""Part of the names of operators that return memory as it is (``aten::empty_like``)."""
EQUAL_SHARE = 0.99
"""Of integers: a tie between rounded numbers may select another index."""


class Timing(NamedTuple):
    """Nanoseconds of one call, in ascending order."""

    samples_ns: list[float]
    clock: str
    host_bound: bool
    """The host needed as long to start the calls as the device to finish them."""
    floor_ns: float
    """What a call from Python costs that does nothing (``aten::alias``)."""
    cold_ns: float | None = None
    """The median where other data are in the CPU's caches; None of a device."""
    cold_least_ns: float | None = None

    @property
    def median_ns(self) -> float:
        """Return the median."""
        return statistics.median(self.samples_ns)

    @property
    def middle_ns(self) -> float:
        """Return the geometric mean of warm and cold: which one a program has is not recorded."""
        return math.sqrt(self.median_ns * (self.cold_ns or self.median_ns))

    @property
    def least_middle_ns(self) -> float:
        """Return the same of the shortest calls, to compare with the shortest recorded one."""
        return math.sqrt(self.samples_ns[0] * (self.cold_least_ns or self.samples_ns[0]))


class Numbers(NamedTuple):
    """The result of the comparison; ``agree`` is None if nothing was compared."""

    agree: bool | None
    words: str


def accelerator() -> str | None:
    """Return the device type of the accelerator; None without one, or where torch is too old."""
    if not hasattr(torch, "accelerator"):
        return None
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if found is None else found.type


def name_of(device: str) -> str:
    """Return the name of a device as its module has it, else its type."""
    with contextlib.suppress(AttributeError, RuntimeError, AssertionError):
        return str(torch.get_device_module(device).get_device_name())
    return device


def measure(run: Callable[[], Any], device: str, seconds: float) -> Timing:
    """Time calls, one by one on the CPU, in batches on a device."""
    for _ in range(WARM_UP_CALLS):
        run()
    nothing = torch.empty(0)
    floor_ns = statistics.median(
        _on_host(lambda: torch.ops.aten.alias(nothing)) for _ in range(FLOOR_CALLS)
    )
    if device == "cpu":
        samples = sorted(_samples(lambda: _on_host(run), seconds))
        cold = sorted(_samples(lambda: _after_others(run), seconds))
        return Timing(
            samples,
            "host",
            host_bound=False,
            floor_ns=floor_ns,
            cold_ns=statistics.median(cold),
            cold_least_ns=cold[0],
        )
    module = torch.get_device_module(device)
    calls = max(1, math.ceil(BATCH_S * 1e9 / max(_batch(run, 1, module)[0], 1.0)))
    batches = list(_samples(lambda: _batch(run, calls, module), seconds))
    host_ns = statistics.median(host for _, host, _ in batches)
    whole_ns = statistics.median(whole for whole, _, _ in batches)
    samples = sorted(batch[0] for batch in batches)
    return Timing(samples, batches[0][2], host_ns > 0.9 * whole_ns, floor_ns)


def _samples(sample: Callable[[], Any], seconds: float) -> Iterator[Any]:
    until = time.monotonic() + seconds
    for count in range(MOST_SAMPLES):
        if count >= LEAST_SAMPLES and time.monotonic() > until:
            return
        yield sample()


def _on_host(run: Callable[[], Any]) -> float:
    begin = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - begin


def _after_others(run: Callable[[], Any]) -> float:
    """Time a call behind one that took the caches, as the operators around it do in a program."""
    torch.ones(FLUSHED_BYTES, dtype=torch.uint8)
    return _on_host(run)


def _batch(run: Callable[[], Any], calls: int, module: Any) -> tuple[float, float, str]:
    """Return ns per call until the device is done, ns per call of the host, and the clock."""
    events = None
    with contextlib.suppress(AttributeError, TypeError, RuntimeError, NotImplementedError):
        events = [module.Event(enable_timing=True) for _ in range(2)]
    module.synchronize()
    begin = time.perf_counter_ns()
    if events:
        events[0].record()
    for _ in range(calls):
        run()
    if events:
        events[1].record()
    launched = time.perf_counter_ns() - begin
    module.synchronize()
    whole: float = time.perf_counter_ns() - begin
    if events:
        whole = events[0].elapsed_time(events[1]) * 1e6
    return whole / calls, launched / calls, "events" if events else "host"


def compare(case: dict[str, Any], device: str, *, always: bool) -> Numbers:
    """Compare one call with the same on the CPU, in float64 where that has it."""
    call = Call(case, device)
    if torch.Tag.nondeterministic_seeded in call.overload.tags:
        return Numbers(None, "not compared: its results are random")
    if UNSET in case["operator"].partition("::")[2].split("_"):
        return Numbers(None, "not compared: it leaves its values open")
    if (case["work"]["flops"] or 0) > CPU_FLOPS and not always:
        return Numbers(None, "not compared: it takes a CPU long (--check)")
    ours = call.results()
    try:
        theirs, reference = Call(case, "cpu", in_float64=True).results(), "float64"
    except (RuntimeError, NotImplementedError, TypeError):
        if device == "cpu":
            return Numbers(None, "not compared: the CPU has it in no wider type")
        try:
            theirs, reference = Call(case, "cpu").results(), "the same type"
        except (RuntimeError, NotImplementedError) as error:
            return Numbers(None, f"not compared: the CPU says {str(error).splitlines()[0]}")
    if not ours and not theirs:
        return Numbers(None, "not compared: it returns no tensor")
    if len(ours) != len(theirs):
        return Numbers(agree=False, words="another number of results than the CPU's")
    words = [difference(one, other) for one, other in zip(ours, theirs, strict=True)]
    worst = next((w for agree, w in words if not agree), words[0][1])
    agree = all(agree for agree, _ in words)
    verdict = "agree" if agree else "DIFFER"
    return Numbers(agree, f"{verdict} with the CPU's in {reference}: {worst}")


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> tuple[bool, str]:
    """Return whether results agree, and by how much they differ: in the 2-norm, or in equality."""
    if ours.shape != theirs.shape:
        return False, f"shapes {list(ours.shape)} and {list(theirs.shape)}"
    if not ours.numel():
        return True, "no elements"
    if not (ours.dtype.is_floating_point or ours.dtype.is_complex):
        share = (ours == theirs).double().mean().item()
        return share >= EQUAL_SHARE, f"{share:.2%} of the integers are equal"
    wide = torch.complex128 if ours.dtype.is_complex else torch.float64
    a, b = ours.to(wide), theirs.to(wide)
    finite = torch.isfinite(a) & torch.isfinite(b)
    alike = bool((finite | (a == b) | (a.isnan() & b.isnan())).all())
    a, b = a[finite], b[finite]
    scale = torch.linalg.vector_norm(b).item()
    error = torch.linalg.vector_norm(a - b).item() / scale if scale else float(a.ne(b).any())
    eps = torch.finfo(ours.dtype).eps
    allowed = eps * (ROUNDED_ONCE if eps > torch.finfo(torch.float32).eps else ACCUMULATED)
    words = f"relative error {error:.1e}, tolerance {allowed:.1e}"
    return alike and error <= allowed, words if alike else f"{words}; other NaN or infinities"


def report(case: dict[str, Any], timing: Timing, numbers: Numbers, name: str) -> Iterator[str]:
    """Yield the lines for people."""
    here, recorded, work = timing.median_ns, case["recorded"], case["work"]
    low, high = timing.samples_ns[0], timing.samples_ns[-1]
    yield f"{case['operator']}  {', '.join(map(describe, case['inputs']))}"
    most = "at most " if timing.host_bound else ""
    spread = f"median of {len(timing.samples_ns)}, {low / 1e3:.4g} to {high / 1e3:.4g}"
    if here < TINY * timing.floor_ns:
        spread += f"; a call from Python alone takes {timing.floor_ns / 1e3:.3g}"
    yield f"  here      {most}{here / 1e3:.4g} us ({spread}; clock: {timing.clock}) on {name}"
    if timing.cold_ns is not None:
        yield f"  cold      {timing.cold_ns / 1e3:.4g} us where other data are in the caches"
        yield f"  between   {timing.middle_ns / 1e3:.4g} us, the geometric mean of both"
    side = "host" if recorded["device_ns"] is None else "device"
    ns, bound = (
        max(recorded[f"{side}_ns"], 1),
        recorded["device_bound_ns"] if side == "device" else 0,
    )
    about = " ± unknown" if bound is None else f" ± {bound / 1e3:.4g}" if bound else ""
    yield (
        f"  recorded  {ns / 1e3:.4g}{about} us of the {side} (median of {recorded['calls']}) on "
        f"{recorded['name']}: here it takes {timing.middle_ns / ns:.3g} times as long"
    )
    if work["roof_ns"] is not None:
        yield (
            f"  roof      {work['roof_ns'] / 1e3:.4g} us on {recorded['name']} by "
            f"{work['roof_source']}: {work['roof_ns'] / ns:.0%} of the recorded time"
        )
    rates = [
        f"{work[key] / here * scale:.4g} {unit}"
        for key, scale, unit in (("flops", 1e-3, "TFLOP/s"), ("bytes", 1.0, "GB/s"))
        if work[key]
    ]
    if rates:
        yield f"  rate      {', '.join(rates)} here"
    yield f"  numbers   {numbers.words}"


def main() -> int:
    """Run the operator; return 0, 1 if the numbers differ, or 3 if it cannot run here."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", help="by default the accelerator, else the CPU")
    parser.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to time it")
    parser.add_argument("--check", action="store_true", help="compare however long it takes")
    parser.add_argument("--json", metavar="FILE", help="append the result as one line of JSON")
    options = parser.parse_args()
    for module in options.modules:
        importlib.import_module(module)
    device = options.device or ("cpu" if (one := accelerator()) is None else one)
    try:
        with torch.no_grad():
            numbers = compare(CASE, device, always=options.check)
            call = Call(CASE, device)
            timing = measure(call.run, device, options.seconds)
    except (NotRunnable, RuntimeError, ValueError, TypeError, IndexError) as error:
        sys.stderr.write(f"{CASE['operator']} cannot run on {device}: {error}\n")
        return 3
    name = name_of(device)
    lines = [*report(CASE, timing, numbers, name)]
    if call.assumed:
        lines.append(f"  assumed   {', '.join(call.assumed)}: torch records no texts; edit CASE")
    sys.stdout.write("\n".join([*lines, ""]))
    if options.json is not None:
        here = {
            "device": name,
            "ns": timing.median_ns,
            "host_bound": timing.host_bound,
            "floor_ns": timing.floor_ns,
        }
        row = {**CASE, "here": {**here, "agree": numbers.agree, "numbers": numbers.words}}
        row["here"]["assumed"] = call.assumed
        with open(options.json, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return 1 if numbers.agree is False else 0


if __name__ == "__main__":
    sys.exit(main())
