"""What is derived of a trace is built once, whichever threads ask for it in which order."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tb_privateuse1.analysis.simulation import critical_path, dependency_graph
from tb_privateuse1.storage import derived, pyramid_file
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

WAIT_S = 20


@pytest.fixture
def builders(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Trace]]:
    """The traces that each builder was called with."""
    called: dict[str, list[Trace]] = {}

    def stub(module: Any, function: str, name: str, *, remembers: bool = False) -> None:
        called[name] = []

        def build(trace: Trace, *_: object) -> object:
            called[name].append(trace)
            return object()

        monkeypatch.setattr(module, function, memoize(build) if remembers else build)

    stub(pyramid_file, "open_pyramid", "pyramid")
    stub(dependency_graph, "build_graph", "dependencies", remembers=True)
    stub(critical_path, "find_critical_path", "critical")
    return called


def ask(trace: Trace, name: str, answers: dict[str, object]) -> threading.Thread:
    """A thread that asks for a part."""

    def run() -> None:
        answers[name] = getattr(derived.DerivedData(trace), name)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.long
def test_threads_do_not_wait_for_each_other(
    builders: dict[str, list[Trace]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One builds the pyramid while another asks for the critical path."""
    go_on = threading.Event()
    monkeypatch.setattr(pyramid_file, "open_pyramid", lambda _: go_on.wait(WAIT_S))
    trace, other = Trace(), Trace()
    answers: dict[str, object] = {}
    threads = []
    for name in ("pyramid", "critical"):
        threads.append(ask(trace, name, answers))
        threads[-1].join(0.2)  # time to come to where it has to wait, for the old fault
    go_on.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(answers) == ["critical", "pyramid"]
    assert builders["dependencies"] == [trace]
    last = ask(other, "critical", answers)
    last.join(WAIT_S)
    assert not last.is_alive()
    assert builders["dependencies"] == [trace, other]


def test_each_part_is_built_once(builders: dict[str, list[Trace]]) -> None:
    trace = Trace()
    parts = derived.DerivedData(trace)
    assert parts.critical is derived.DerivedData(trace).critical
    assert {name: len(traces) for name, traces in builders.items()} == {
        "pyramid": 0, "dependencies": 1, "critical": 1,
    }  # fmt: skip


def test_a_part_that_cannot_be_built_is_tried_again(
    builders: dict[str, list[Trace]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Trace) -> object:
        raise MemoryError

    trace = Trace()
    with monkeypatch.context() as patch:
        patch.setattr(pyramid_file, "open_pyramid", fail)
        with pytest.raises(MemoryError):
            derived.DerivedData(trace).pyramid  # noqa: B018
    assert derived.DerivedData(trace).pyramid is derived.DerivedData(trace).pyramid
    assert builders["pyramid"] == [trace]
