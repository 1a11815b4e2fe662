"""A device that runs marks and kernels in order, and a host that feeds it: exact truth.

The host runs a program of operators; around each one it records a mark, as torch's profiler does.
The device takes its commands in order: a mark executes when it has arrived and the one before it
is done, a kernel likewise. Elapsed times are what two marks read, in whole microseconds.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from tb_privateuse1 import inference
from tb_privateuse1.inference.device_timeline import Others
from tb_privateuse1.readers import chrome, sidecar
from tb_privateuse1.trace.model import Kernels, Trace
from tb_privateuse1.trace.table import I64
from tests.support import make

LATENCY, MARK, GAP = 6_000, 300, 800
BEFORE, AFTER = 200, 700


class Op(Struct, frozen=True):
    """An operator: host ns before and after its inside, children, and its kernel's ns (0: none).

    The kernel is launched at the end, after the children. ``blocking``: it returns when the
    device is done. ``held``: how long the thread has no core then, before the second mark;
    ``paused``: the same between the first mark and the start time; ``rest``: before the
    first mark. ``size``: that of its tensors, if the profiler records shapes. ``again``: it
    launches the same once more at its end.
    """

    name: str
    before: int
    after: int
    kernel: int = 0
    children: Sequence[Op] = ()
    blocking: bool = False
    category: str = "cpu_op"
    held: int = 0
    paused: int = 0
    rest: int = 0
    size: int = 0
    again: bool = False


class Machine(Struct):
    """Runs operators and keeps what the profiler and the truth see."""

    latency: int = LATENCY
    mark: int = MARK
    gap: int = GAP
    dear: int = 0
    """How much more than ``mark`` every 50th mark costs."""
    hesitates: int = 0
    """How much later than the latency a kernel begins on an idle device, at most."""
    unseen: tuple[int, int] = (0, 0)
    """Mean ns between launches of a thread that the profiler does not see; its kernels' ns."""
    now: int = 1_000_000
    device: int = 0
    shapes: dict[str, Any] = field(default_factory=dict)
    """Arguments of every operator."""
    events: list[dict[str, Any]] = field(default_factory=list)
    elapsed: dict[int, float | None] = field(default_factory=dict)
    kernels: dict[int, tuple[int, int]] = field(default_factory=dict)
    launched: list[int] = field(default_factory=list)
    """The host's times of all launches."""
    markers: list[tuple[int, int]] = field(default_factory=list)
    """Times of the markers at the ends of steps: of the record, and of the device."""
    executed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The device's times of each operator's two events."""
    marks: int = 0
    hidden: list[int] = field(default_factory=lambda: [1_000_000])
    """When that thread launches; the last one is still to come."""
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def run(self, op: Op) -> None:
        """One operator with all that is inside."""
        number, first, start = self.begin(op)
        self.now += op.before
        for child in op.children:
            self.run(child)
        if op.kernel:
            self.kernels[number] = self._launch(op.kernel)
        if op.blocking:
            self.now = max(self.now, self.device) + 4_000
        self.now += op.after
        if op.again:
            self.kernels[number] = self.kernels[number][0], self._launch(op.kernel)[1]
            self.now += AFTER
        self.finish(op, number, first, start)

    def begin(self, op: Op) -> tuple[int, int, int]:
        """Begin an operator; return its number, its first mark and its start."""
        number = len(self.events) + 1
        self.events.append({})
        self.now += BEFORE + op.rest
        first = self._mark()
        self.now += BEFORE + op.paused
        return number, first, self.now

    def finish(self, op: Op, number: int, first: int, start: int) -> None:
        """End an operator that ``begin`` began."""
        end = self.now
        self.now += op.held + AFTER
        last = self._mark()
        self.now += BEFORE
        self.elapsed[number] = float((last - first) // 1000)
        self.executed[number] = first, last
        args = {"External id": number, **self.shapes}
        if op.size:
            args |= {"Input Dims": [[op.size, op.size]], "Input type": ["float"]}
        self.events[number - 1] = make.span(op.category, op.name, start / 1e3, end / 1e3, **args)

    def end_step(self) -> None:
        """Record a marker, as the capture does at the end of a step."""
        self.now += BEFORE
        self.markers.append((self.now, self._mark()))
        self.now += AFTER

    def _run_unseen(self) -> None:
        """Run what the unseen thread launched until now."""
        mean, length = self.unseen
        while mean and self.hidden[-1] <= self.now:
            self.device = max(self.hidden[-1] + self.latency, self.device + self.gap) + length
            self.hidden.append(self.hidden[-1] + round(self.chance.exponential(mean)))

    def _launch(self, kernel: int) -> tuple[int, int]:
        self._run_unseen()
        self.launched.append(self.now)
        late = int(self.chance.integers(0, self.hesitates + 1))
        begin = max(self.now + self.latency + late, self.device + self.gap)
        self.device = begin + kernel
        return begin, self.device

    def _mark(self) -> int:
        self._run_unseen()
        self.marks += 1
        cost = self.mark + (self.dear if self.marks % 50 == 0 else 0)
        self.device = max(self.now + self.latency, self.device) + cost
        return self.device


class Result(Struct, frozen=True):
    """A trace as inferred, and its truth on the trace's clock, by operator in order."""

    trace: Trace
    ids: I64
    start_ns: I64
    end_ns: I64
    first_ns: list[int] = field(default_factory=list)
    second_ns: list[int] = field(default_factory=list)
    """The device's times of each operator's two events, by its clock, if the sidecar has them."""


def simulate(
    program: Sequence[Op],
    *,
    backlog: int = 0,
    shift: int = 0,
    shapes: dict[str, Any] | None = None,
    others: Others | None = None,
    mark: int = MARK,
    gap: int = GAP,
    dear: int = 0,
    hesitates: int = 0,
    unseen: tuple[int, int] = (0, 0),
    record_launches: bool = False,
    record_markers: bool = False,
    event_times: tuple[int, float] | None = None,
    **facts: Any,
) -> Result:
    """Run a program behind a device that is busy for another ``backlog`` ns, and infer.

    ``record_launches``, ``record_markers``: the sidecar has all launches, and a marker at the end
    of each outermost operator. ``dear``: what every 50th mark costs more. ``hesitates``: how much
    later a kernel begins on an idle device, at most. ``unseen``: mean ns between kernels of a
    thread that nobody records, and their length. ``event_times``: origin and drift (ppm) of the
    device's clock: the sidecar has the times of all events.
    """
    machine = Machine(
        mark=mark, gap=gap, dear=dear, hesitates=hesitates, now=1_000_000 + shift,
        shapes=shapes or {}, unseen=unseen,
    )  # fmt: skip
    machine.device = machine.now + backlog
    for op in program:
        machine.run(op)
        if record_markers:
            machine.end_step()
    facts = {"launch_latency_ns": LATENCY, **facts}
    if record_launches:
        hidden = machine.hidden[:-1]
        host, ones = machine.launched + hidden, [1] * (len(machine.launched) + len(hidden))
        thread = [1] * len(machine.launched) + [2] * len(hidden)
        facts["launches"] = {"host_ns": host, "thread": thread, "device": ones, "stream": ones}
    if record_markers:
        host, done = (list(column) for column in zip(*machine.markers, strict=True))
        zeros, less = [0] * len(host), LATENCY + mark
        facts["markers"] = {
            "host_ns": host, "device": zeros, "stream": zeros, "bound_ns": [100] * len(host),
            "done_ns": [at - less for at in done],
        }  # fmt: skip
    if event_times is not None:
        origin, ppm = event_times
        columns = zip(*machine.executed.values(), strict=True)
        facts["first_ns"], facts["second_ns"] = (
            [round((at - origin) * (1 + ppm / 1e6)) for at in column] for column in columns
        )
    trace = infer_from(machine.events, machine.elapsed, others, **facts)
    ids = np.array(list(machine.kernels), np.int64)
    times = np.array(list(machine.kernels.values()), np.int64).reshape(-1, 2) - trace.base_ns
    times_of_events = (facts[name] for name in ("first_ns", "second_ns") if event_times is not None)
    return Result(trace, ids, times[:, 0], times[:, 1], *times_of_events)


def infer_from(
    events: Sequence[dict[str, Any]],
    elapsed: dict[int, float | None],
    others: Others | None = None,
    **facts: Any,
) -> Trace:
    """The trace of some events and a sidecar of their elapsed times."""
    with tempfile.TemporaryDirectory() as folder:
        path, beside = write(Path(folder), events, elapsed, **facts)
        trace = inference.build_trace(
            chrome.read(str(path)), sidecar.read_sidecar(str(beside)), files=(path.name,),
            others=others,
        )  # fmt: skip
    types = Kernels.column_types()
    assert {name: column.dtype for name, column in trace.kernels.columns()} == types
    return trace


def write(
    folder: Path,
    events: Sequence[dict[str, Any]],
    elapsed: dict[int, float | None],
    name: str = "w.1",
    **facts: Any,
) -> tuple[Path, Path]:
    """The trace of some events and a sidecar of their elapsed times, as files of a directory."""
    path, beside = folder / f"{name}.pt.trace.json", folder / f"{name}.kernel_event.json"
    path.write_text(json.dumps(make.document(*events)))
    beside.write_text(json.dumps(make.sidecar(elapsed, **facts)))
    return path, beside


def linear(host: int, kernel: int) -> Op:
    """A composite with a view and a launching operator inside, as torch's ``aten::linear``."""
    view = Op("aten::t", 2_000, 600, children=(Op("aten::transpose", 900, 400),))
    return Op("aten::linear", 1_500, 700, children=(view, Op("aten::addmm", host, 1_000, kernel)))


def step(number: int, *ops: Op) -> Op:
    """A ``ProfilerStep#N`` around some operators."""
    return Op(f"ProfilerStep#{number}", 3_000, 2_000, children=ops, category="user_annotation")


def start_errors(result: Result) -> list[int]:
    """How far each kernel's start is from the truth, in order."""
    return np.abs(result.trace.kernels.start_ns - result.start_ns).tolist()


def inside(result: Result) -> bool:
    """Whether each kernel's start is within its bound of the truth."""
    kernels = result.trace.kernels
    off = np.abs(kernels.start_ns - result.start_ns)
    return bool((off <= kernels.start_bound_ns).all())


def errors_and_bounds(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the starts, and their bounds, in ns."""
    kernels = result.trace.kernels
    assert result.trace.ops.external_id[kernels.op].tolist() == sorted(result.ids.tolist())
    order = np.argsort(result.ids)
    return np.abs(kernels.start_ns - result.start_ns[order]), kernels.start_bound_ns
