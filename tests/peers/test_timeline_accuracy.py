"""The inferred timelines of recordings whose truth is known, within limits of error.

The limits are what docs/internals/inference.md states, with room for nothing but rounding: a change
that makes the inference worse fails here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import inference_cases
from benchmarks.inference_accuracy import ours
from benchmarks.inference_cases import FOLDER, Case
from benchmarks.inference_metrics import Score, score
from benchmarks.inference_recipe import recipe
from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome, sidecar
from tb_privateuse1.trace.model import Trace

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared traces are not here")

REFUSED = {"mlp_device_res1000"}
SUMMED = {"mcpu_mlp_fallback", "mcpu_mlp_fallback_vendorpatch"}
UNDER_BACKLOG = {"blocks_device_nolimit", "mha_device"}
"""Only a synchronize after the last step tells how far behind the device was."""
COARSE = {"mlp_mixed_res10"}
MARKED = [c for c in inference_cases.simulated() if c.name not in REFUSED | SUMMED | COARSE]
BY_RECIPE = [c for c in inference_cases.simulated(recipe=True) if c.name not in REFUSED | COARSE]
HIDDEN = [
    FOLDER / "cuda/h100_nsfw_vit/rank0.1.pt.trace.json.gz",
    FOLDER / "cuda/h100_bert/rank0.1.pt.trace.json.gz",
    FOLDER / "cuda/ns_resolution/rank-0.1.pt.trace.json.gz",
    FOLDER / "cuda/v100_resnet50_workers0/worker0.1623143089861.pt.trace.json.gz",
    FOLDER / "rocm/mi300_bert/rank0.1.pt.trace.json.gz",
]


def judged(case: Case) -> tuple[Trace, Score]:
    trace = case.trace()
    return trace, score(ours(trace, trace.base_ns - case.raw.base_ns), case.truth)


def load(name: str) -> Trace:
    path = next((FOLDER / "privateuse1" / name).glob("*.pt.trace.json.gz"))
    beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
    return inference.build_trace(chrome.read(str(path)), sidecar.read_sidecar(str(beside)))


@pytest.mark.parametrize("case", MARKED, ids=lambda c: c.name)
def test_simulated_backends(case: Case) -> None:
    _, found = judged(case)
    assert (found.missed, found.spurious, found.inversions) == (0, 0, 0)
    assert found.start_inside >= 0.95
    assert found.duration_inside >= 0.95
    assert found.start_median <= (40 if case.name in UNDER_BACKLOG else 3)
    assert found.start_p95 <= 40


@pytest.mark.parametrize("case", MARKED, ids=lambda c: c.name)
def test_the_published_recipe_is_beaten(case: Case) -> None:
    trace, found = judged(case)
    theirs = score(recipe(trace, 0), case.truth)
    assert found.start_median < theirs.start_median / 3
    assert abs(found.busy_ratio - 1) <= abs(theirs.busy_ratio - 1) + 0.02


@pytest.mark.parametrize("case", BY_RECIPE, ids=lambda c: c.name)
def test_the_recipes_own_sidecar_is_enough(case: Case) -> None:
    _, found = judged(case)
    assert found.missed <= 0.02 * found.kernels
    assert found.start_inside >= 0.9
    assert found.start_median <= (40 if case.name in UNDER_BACKLOG else 5)


@pytest.mark.parametrize("path", HIDDEN, ids=lambda p: p.parent.name)
def test_real_traces_with_hidden_kernels(path: Path) -> None:
    case = inference_cases.hide(path)
    assert case is not None
    _, found = judged(case)
    assert found.missed <= 0.01 * found.kernels
    assert found.spurious <= 0.01 * found.kernels
    assert found.start_inside >= 0.99
    assert found.duration_inside >= 0.99
    assert found.start_median <= 10
    assert found.start_p95 <= 60


@pytest.mark.parametrize("name", ["openreg_mlp_fallback", "openreg_crossdev_fallback"])
def test_a_backend_on_the_host_thread_is_refused(name: str) -> None:
    trace = load(name)
    assert trace.meta.timeline == "none"
    assert "elapsed_of_the_host" in {f.code for f in trace.meta.findings}


def test_whole_milliseconds_are_refused() -> None:
    trace = load("mlp_device_res1000")
    assert trace.meta.timeline == "none"
    assert "elapsed_coarse" in {f.code for f in trace.meta.findings}


@pytest.mark.parametrize("name", sorted(SUMMED))
def test_kernel_sums_are_told_from_events(name: str) -> None:
    trace = load(name)
    assert trace.meta.timeline == "inferred"
    assert "elapsed_kernel_sum" in {f.code for f in trace.meta.findings}


def test_kernel_sums_give_starts_by_the_queue() -> None:
    case = next(c for c in inference_cases.simulated() if c.name == "mcpu_mlp_fallback")
    _, found = judged(case)
    assert (found.missed, found.spurious) == (0, 0)
    assert found.start_inside >= 0.95
    assert found.start_median <= 5
    assert found.duration_p95 <= 1
