"""Durations that another recording of the run knows."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery import catalog
from tb_privateuse1.inference.device_timeline import Others, other_recordings
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import BOUND, CATALOGUE, END_PINNED, EVENTS, Trace
from tb_privateuse1.views.method import method
from tests.support import make, trace_files
from tests.support.simulate import Machine, Op, Result, simulate, step, write

US = 1_000
SHAPES = {"Input Dims": [[64, 64]], "Input type": ["float"]}
WORK = (7 * US, 11 * US, 5 * US)
NAMES = ("aten::add", "aten::mul", "aten::relu")


def program(times: float = 1) -> list[Op]:
    work = [int(kernel * times) for kernel in WORK]
    ops = [Op(n, 25 * US, 1_000, k) for _ in range(8) for n, k in zip(NAMES, work, strict=True)]
    return [step(i, *ops) for i in range(3)]


def behind(times: float = 1) -> Result:
    """A recording in which the device is behind the host from beginning to end."""
    return simulate(program(times), backlog=20_000 * US, shapes=SHAPES)


def hidden(others: Others | None, shapes: dict[str, object] | None = SHAPES) -> Result:
    """One in which it waits for the host all the time."""
    return simulate(program(), shapes=shapes, others=others)


def lengths(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """The durations as inferred, and how far they are off."""
    kernels = result.trace.kernels
    found = kernels.end_ns - kernels.start_ns
    return found, np.abs(found - np.tile(WORK, len(found) // 3))


def test_what_hides_here_was_seen_there() -> None:
    there = behind().trace
    assert (there.kernels.evidence == EVENTS).mean() > 0.9
    alone, helped = hidden(None), hidden(lambda: [there])
    assert (alone.trace.kernels.evidence == BOUND).mean() > 0.6
    classes = helped.trace.kernels.evidence
    assert (classes == CATALOGUE).mean() > 0.6
    assert np.isin(classes, (CATALOGUE, END_PINNED)).all()
    _, error = lengths(helped)
    assert error.max() <= 1_500
    assert (error <= helped.trace.kernels.duration_bound_ns).all()
    assert helped.trace.kernels.duration_bound_ns.max() <= 5_000
    told = method(helped.trace)
    assert told.elsewhere == len(helped.trace.kernels)
    assert told.others == ("w.1.pt.trace.json",)
    (backlog,) = (limit for limit in told.limits if limit.code == "backlog")
    assert (backlog.kernels, backlog.bound_ns) == (72, None)  # nothing ties the device to the host
    assert (method(alone.trace).elsewhere, method(alone.trace).others) == (0, ())


@pytest.mark.parametrize("times", [0.96, 1.04])
def test_a_device_a_little_faster_or_slower_stays_inside_the_bounds(times: float) -> None:
    helped = hidden(lambda: [behind(times).trace])
    _, error = lengths(helped)
    assert (error <= helped.trace.kernels.duration_bound_ns).all()


def test_others_are_not_asked_where_nothing_hides() -> None:
    def nobody() -> list[Trace]:
        raise AssertionError("asked")

    trace = simulate(program(), backlog=20_000 * US, shapes=SHAPES, others=nobody).trace
    assert (trace.kernels.evidence == EVENTS).mean() > 0.9


def test_what_was_seen_here_goes_first() -> None:
    """Half of the operators wait for the host, behind others of the same that did not."""
    slow = behind(2).trace
    long = Op("aten::mm", 6 * US, US, 2_000 * US)
    ops = [Op(n, 25 * US, 1_000, k) for _ in range(8) for n, k in zip(NAMES, WORK, strict=True)]
    wait = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
    rare = Op("aten::tanh", 25 * US, 1_000, 9 * US)
    both = [step(0, long, *ops, wait), step(1, *ops, rare)]
    plain = simulate(both, shapes=SHAPES).trace
    other = simulate(both, shapes=SHAPES, others=lambda: [slow]).trace
    for name, column in plain.kernels.columns():
        assert np.array_equal(column, getattr(other.kernels, name)), name


def test_other_shapes_and_none_tell_nothing() -> None:
    larger = simulate(
        program(), backlog=20_000 * US, shapes={**SHAPES, "Input Dims": [[128, 64]]}
    ).trace
    unknown = simulate(program(), backlog=20_000 * US).trace
    alone = hidden(None).trace
    for others in ([larger], [unknown], [make.trace()], []):
        trace = hidden(functools.partial(list, others)).trace
        assert np.array_equal(trace.kernels.end_ns, alone.kernels.end_ns)
        assert method(trace).elsewhere == 0
    bare = hidden(lambda: [behind().trace], shapes=None).trace
    assert (bare.kernels.evidence == BOUND).mean() > 0.6


def test_a_device_profiler_on_another_rank_tells_too() -> None:
    there = behind().trace
    kernels = replace(
        there.kernels,
        evidence=np.zeros_like(there.kernels.evidence),
        duration_bound_ns=np.zeros_like(there.kernels.duration_bound_ns),
    )
    helped = hidden(lambda: [replace(there, kernels=kernels)])
    assert (helped.trace.kernels.evidence == CATALOGUE).mean() > 0.6
    _, error = lengths(helped)
    assert error.max() <= 1_500


def test_kernels_of_one_operator_are_told_apart_by_their_place() -> None:
    """Counted from its end: the last one is the one in its closing segment."""
    there = behind().trace
    n = len(there.kernels)
    early = replace(
        there.kernels,
        start_ns=there.kernels.start_ns - 3 * US,
        end_ns=there.kernels.start_ns - 1 * US,
    )
    columns = {
        name: np.concatenate((column, getattr(early, name)))
        for name, column in there.kernels.columns()
    }
    twice = replace(there, kernels=replace(there.kernels, **columns))
    seen = other_recordings.seen_durations(twice)
    texts = {(name, place) for name, _, _, place in seen.labels}
    assert texts == {(name, place) for name in NAMES for place in (0, 1)}
    place = np.array([place for *_, place in seen.labels])[seen.label]
    assert (seen.length[place == 1] == 2 * US).all()
    assert (seen.length[place == 0] > 3 * US).all()
    assert len(seen.length) > n


def recorded(folder: Path, name: str, rank: int, backlog_us: int = 0) -> None:
    """A recording as our handler leaves it."""
    machine = Machine(shapes=SHAPES)
    machine.device = machine.now + backlog_us * US
    for op in program():
        machine.run(op)
    folder.mkdir(exist_ok=True)
    facts = {"launch_latency_ns": 6_000, "rank": rank}
    write(folder, machine.events, machine.elapsed, name, **facts)


def hides(trace: Trace) -> bool:
    return bool((trace.kernels.evidence == BOUND).mean() > 0.6)


@pytest.mark.long
@pytest.mark.parametrize("jobs", [0, 1])
def test_first_spans_tell_later_ones_and_other_ranks(tmp_path: Path, jobs: int) -> None:
    log = tmp_path / "log"
    recorded(log, "host_0.100", 0, 20_000)
    recorded(log, "host_0.200", 0)
    recorded(log, "host_1.100", 1)
    recorded(log, "host_1.200", 1)
    files = catalog.scan(str(log), READERS).files
    first = {place[1:]: own.others for place, own in files.items()}
    names = {place: [o.trace.name for o in others] for place, others in first.items()}
    zero, one = "host_0.100.pt.trace.json", "host_1.100.pt.trace.json"
    assert names == {(0, 1): [], (0, 2): [zero], (1, 1): [zero], (1, 2): [zero, one]}
    made = Store(jobs, tmp_path / "cache")
    for rank, span in ((1, 2), (0, 2), (1, 1)):
        trace = made.trace(files["log", rank, span])
        assert not hides(trace), (rank, span)
        assert method(trace).others == (zero,)
    # Those that were asked are stored as well, and not read again.
    assert made.in_cache(files["log", 0, 1])
    # A recording alone, as a file that somebody points at, has no others.
    assert hides(made.trace(catalog.scan(str(log / "host_0.200.pt.trace.json"), READERS).find()))
    made.close()


def test_another_recording_that_changes_is_asked_again(tmp_path: Path) -> None:
    log, made = tmp_path / "log", Store(0, tmp_path / "cache")
    recorded(log, "host_0.100", 0)
    recorded(log, "host_1.100", 1)
    second = ("log", 1, 1)
    files = catalog.scan(str(log), READERS).files[second]
    keys = {disk_cache.cache_key(files)}
    assert hides(made.trace(files))
    recorded(log, "host_0.100", 0, 20_000)
    assert not hides(made.trace(files))  # as it is now, whatever the search saw
    keys.add(disk_cache.cache_key(catalog.scan(str(log), READERS).files[second]))
    (log / "host_0.100.pt.trace.json").write_text("{ no trace")
    assert hides(made.trace(files))
    (log / "host_0.100.pt.trace.json").unlink()
    assert hides(made.trace(files))
    keys.add(disk_cache.cache_key(catalog.scan(str(log), READERS).files[second]))
    assert len(keys) == 3


def test_where_kernels_were_measured_nobody_is_asked(tmp_path: Path) -> None:
    for rank in (0, 1):
        trace_files.trace(tmp_path / "log" / f"host_{rank}.100.pt.trace.json", rank=rank)
    assert [own.others for own in catalog.scan(str(tmp_path / "log"), READERS).files.values()] == [
        (),
        (),
    ]
