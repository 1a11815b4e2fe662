"""Threads that wait for the results of others: who, and that chance makes none (times in µs)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.analysis.account.classification import classify_time
from tb_privateuse1.analysis.simulation import (
    baseline,
    changes,
    critical_path,
    dependency_graph,
    path_classes,
    prediction,
)
from tb_privateuse1.analysis.threads import result_waits, roles
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.repeats import repeats
from tests.support.shared_traces import load
from tests.unit.analysis.threads.test_roles import role_of

Events = list[make.Event]
WAKE = 8
"""From a result to the thread that waits for it."""


def pipeline(decode: float = 400, pin: float = 100, batches: int = 20) -> Events:
    """Return a loop in which thread 3 decodes, thread 2 pins, and thread 1 trains on a batch."""
    events: Events = []
    decoded = pinned = trained = device = 0.0
    for batch in range(batches):
        wobble = 15 * (batch % 4)
        begin = decoded + 4
        decoded = begin + decode + wobble
        events.append(make.op("decode", begin, decoded, thread=3))
        begin = max(pinned + 6, decoded + WAKE)
        pinned = begin + pin
        events.append(make.op("aten::pin_memory", begin, pinned, thread=2))
        first = trained
        begin = max(trained + 5, pinned + WAKE)
        trained = begin + 150
        device = max(device, trained) + 15
        events += [
            make.op("aten::mm", begin, trained),
            make.launch(trained - 6, trained - 2, batch),
            make.kernel("gemm", device - 15, device, batch),
            make.step(batch + 1, first, trained),
        ]
    return events


def handed(made: Trace) -> set[tuple[str, str]]:
    """Return the pairs of worker and waiting thread, but those that take turns."""
    found, tid = roles.thread_roles(made).results, made.threads.tid
    return {
        (made.text(tid[one]), made.text(tid[other]))
        for one, other in zip(found.worker.tolist(), found.thread.tolist(), strict=True)
    }


def test_a_result_goes_from_worker_to_worker() -> None:
    made = make.trace(*pipeline())
    assert handed(made) == {("3", "2")}
    assert [len(one) for one in roles.thread_roles(made).turns] == [20]  # of 1 and 2
    assert role_of(made) == {"1": "main", "2": "loader", "3": "loader"}
    found = roles.thread_roles(made).results
    assert set((found.return_ns - found.done_ns).tolist()) == {WAKE * 1000}
    assert result_waits.usual_lags(found).tolist() == [WAKE * 1000] * len(found)


def test_a_result_goes_to_the_main_thread() -> None:
    """The slowest stage waits for nobody; who comes behind it waits for it."""
    made = make.trace(*pipeline(pin=400, decode=300))
    assert handed(made) == {("2", "1")}
    assert gain(made, "operator:aten::pin_memory=0.5") == pytest.approx(200_000, rel=0.01)
    assert abs(gain(made, "operator:decode=0.5")) < 2_000


def gain(made: Trace, line: str) -> float:
    """Return the gain of later steps: the first ones fill the pipeline."""
    graph = dependency_graph.build_graph(made)
    base = baseline.replay_baseline(made, graph)
    found = prediction.predict(made, graph, base, changes.parse_changes(made, line))
    return found.mean(np.arange(len(made.steps))[len(made.steps) // 5 :]).gain_ns


def test_a_faster_worker_moves_who_waits_for_it() -> None:
    made = make.trace(*pipeline())
    decode = 400 + 15 * 1.5  # on average
    assert gain(made, "operator:decode=0.5") == pytest.approx(decode * 500, rel=0.1)
    # Only the slowest stage decides.
    assert abs(gain(made, "operator:aten::pin_memory=0.5")) < 2_000
    assert abs(gain(made, "operator:aten::mm=0.5")) < 2_000


def test_the_replay_is_the_recording() -> None:
    made = make.trace(*pipeline())
    base = baseline.replay_baseline(made, dependency_graph.build_graph(made))
    assert base.held.tolist() == (made.steps.end_ns - made.steps.start_ns).tolist()


def path_threads(made: Trace) -> set[str]:
    """Return the threads whose own time is on the critical path."""
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    own = path.thread[path.thread >= 0]
    return {made.text(made.threads.tid[thread]) for thread in np.unique(own).tolist()}


def test_the_path_leads_through_the_workers() -> None:
    assert path_threads(make.trace(*pipeline())) == {"1", "2", "3"}


def classes(made: Trace) -> dict[str, int]:
    """Return the classes of the account, in us."""
    every = classify_time(made)
    names = path_classes.CLASSES
    found: dict[str, int] = {}
    for number, ns in zip(every.time_class.tolist(), every.end_ns - every.start_ns, strict=True):
        name = names[number].name
        found[name] = found.get(name, 0) + int(ns)
    return {name: ns // 1000 for name, ns in found.items()}


def collectives(batches: int = 12) -> Events:
    """Return steps that end with a wait for thread 5, which communicates beside the backward pass.

    The wait has no name of its own: it is inside of an operator of the optimizer.
    """
    events: Events = []
    now = 0.0
    for batch in range(batches):
        first, number = now, 10 * batch
        for k in range(4):
            events += [
                make.op("aten::mm", now, now + 40),
                make.launch(now + 30, now + 34, number + k),
                make.kernel("gemm", now + 36, now + 60, number + k),
            ]
            now += 45 + 7 * (k == batch % 4)
        done = first + 700 + 31 * (batch % 5)
        events.append(make.annotation("gloo:all_reduce", first + 90, done, thread=5))
        events.append(make.op("aten::copy_", now, done + WAKE + 10))
        events += [
            make.launch(done + WAKE, done + WAKE + 3, number + 8),
            make.kernel("copy", done + WAKE + 5, done + WAKE + 9, number + 8),
        ]
        now = done + WAKE + 20
        events.append(make.step(batch + 1, first, now))
    return events


def test_a_collective_on_the_host_is_awaited() -> None:
    made = make.trace(*collectives())
    assert handed(made) == {("5", "1")}
    assert role_of(made) == {"1": "main", "5": "communication"}


def test_a_collective_on_the_host_is_on_the_path_as_communication() -> None:
    """The operator that waits for it is none of the reason."""
    made = make.trace(*collectives())
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    spent = path.end_ns - path.start_ns
    of_class = {one.name: int(spent[path.time_class == i].sum())
                for i, one in enumerate(path_classes.CLASSES)}  # fmt: skip
    assert of_class["other_rank"] > 0.5 * int(spent.sum())
    found = classes(made)
    assert found["other_rank"] > 12 * 300
    assert found["dispatch"] < 12 * 200


def test_without_communication_a_step_is_what_the_host_does() -> None:
    made = make.trace(*collectives())
    assert gain(made, "communication=0") > 350_000


def queue(batches: int = 8) -> Events:
    """Return operators that take 50 and only enqueue; thread 9 launches 40 to 58 later."""
    events: Events = []
    now = 0.0
    for batch in range(batches):
        first = now
        for k in range(5):
            number = 10 * batch + k + 1
            call = now + 40 + (7 * number) % 19
            events += [
                make.op("aten::mm", now, now + 50, id=number),
                make.launch(call, call + 5, number, thread=9, **{"External id": number}),
                make.kernel("gemm", call + 8, call + 20, number),
            ]
            now += 60
        events.append(make.step(batch + 1, first, now))
    return events


def test_a_queue_that_is_empty_waits_for_operators() -> None:
    """Without half of the operators' time, the queue's thread launches earlier, too."""
    made = make.trace(*queue())
    tid = made.threads.tid
    assert {made.text(tid[thread]) for thread in made.launches.thread.tolist()} == {"9"}
    assert gain(made, "operator:aten::mm=0.5") == pytest.approx(5 * 25_000, rel=0.05)
    base = baseline.replay_baseline(made, dependency_graph.build_graph(made))
    assert base.held.tolist() == (made.steps.end_ns - made.steps.start_ns).tolist()


def test_the_time_of_a_worker_is_input() -> None:
    """The main thread has no range of the data loader, but waits for what was decoded."""
    found = classes(make.trace(*pipeline()))
    assert found["input"] > found.get("python", 0)


@pytest.mark.parametrize("seed", range(repeats(30)))
def test_independent_threads_hand_over_nothing(seed: int) -> None:
    events: Events = []
    gaps = np.random.default_rng(seed).integers(5, 400, (2, 30))
    for thread, row in enumerate(gaps.tolist(), 1):
        now = 0.0
        for number, gap in enumerate(row):
            now += gap
            events.append(make.op("aten::mm", now, now + 30, thread=thread))
            if thread == 1:
                events.append(make.launch(now + 10, now + 12, number))
                events.append(make.kernel("gemm", now + 40, now + 45, number))
            now += 30
    assert handed(make.trace(*events)) == set()


def test_a_weak_tendency_of_many_pauses_is_no_wait() -> None:
    """A worker ends anywhere in the later 70 % of each pause: nobody waits for that."""
    leave = np.arange(20_000) * 100_000
    back = leave + 50_000
    ends = back - np.random.default_rng(0).integers(0, 35_000, len(back))
    found = result_waits._handed(0, (leave, back), 1, ends, 2)
    assert len(found) == 0


def test_a_few_hand_offs_are_no_evidence() -> None:
    assert handed(make.trace(*pipeline(batches=2))) == set()


def test_a_live_recording_of_collectives_on_the_host() -> None:
    """DistributedDataParallel of CPU torch on two processes: buckets, and two more collectives."""
    folder = Path(__file__).parents[3] / "traces" / "gloo"
    made = load(folder / "rank0.1.pt.trace.json.gz")
    role = role_of(made)
    (main,) = (thread for thread, one in role.items() if one == "main")
    assert sorted(role.values()) == ["communication", "communication", "main"]
    assert main in {thread for _, thread in handed(made)}
    assert len(path_threads(made)) > 1
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    waits = path.time_class == path_classes.NUMBER["other_rank"]
    spent = path.end_ns - path.start_ns
    assert int(spent[waits].sum()) > 0.3 * int(spent.sum())
    assert gain(made, "communication=0") > 0
