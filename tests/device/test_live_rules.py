"""A program with planted faults and the same program mended: found with its line, and gone."""

from __future__ import annotations

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.advice.engine import Advice, advise
from tb_privateuse1.readers import chrome
from tests.support import live_training
from tests.support.program import check

FAULTS = {"zeroed_gradients", "optimizer_loop", "single_process_loader", "indexing_loop"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Advice, dict[str, int]]]:
    folder = tmp_path_factory.mktemp("live")
    told = {}
    for kind in ("bad", "good"):
        path = folder / f"{kind}.1.pt.trace.json"
        matched = live_training.record(path, kind)
        told[kind] = advise(inference.build_trace(chrome.read(str(path)), None)), matched
    return told


def test_planted_faults_are_found_with_their_line(
    runs: dict[str, tuple[Advice, dict[str, int]]],
) -> None:
    advised, _ = runs["bad"]
    check(advised)
    found = {row.rule: row for row in advised.rows}
    assert set(found) >= FAULTS
    for name in FAULTS:
        row = found[name]
        assert row.saving_ns is not None
        assert row.where is not None
        assert "live_training.py" in str(row.where)


def test_mended_they_are_gone(runs: dict[str, tuple[Advice, dict[str, int]]]) -> None:
    advised, _ = runs["good"]
    check(advised)
    assert not {row.rule for row in advised.rows} & FAULTS


def test_what_torch_finds_in_the_live_run_is_found_in_the_saved_one(
    runs: dict[str, tuple[Advice, dict[str, int]]],
) -> None:
    ours = {
        "GradNotSetToNone": "zeroed_gradients", "OptimizerSingleTensor": "optimizer_loop",
        "ForLoopIndexing": "indexing_loop", "SynchronizedDataLoader": "single_process_loader",
    }  # fmt: skip
    advised, matched = runs["bad"]
    assert matched["GradNotSetToNone"], "torch itself must see the fault"
    found = {row.rule for row in advised.rows}
    assert {ours[name] for name, count in matched.items() if count} <= found
