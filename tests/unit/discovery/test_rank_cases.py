"""The shared cases about who is a rank."""

import pytest

import tb_privateuse1
from tests.support.shared_traces import FOLDER, needs_traces

CASES = FOLDER.parent / "cases"


@needs_traces
def test_merged_ranks() -> None:
    log = tb_privateuse1.open(CASES / "merged-ranks")
    for rank, step_ns in ((0, 2_260_000), (1, 2_860_000)):
        steps = log.overview(rank=rank).steps
        assert len(steps) == 4
        assert steps[-1].duration_ns == step_ns
        trace = log.trace(rank=rank)
        assert (trace.kernels.op >= 0).all()
        callers = trace.ops.name[trace.kernels.op].tolist()
        pairs = {
            (trace.text(caller).rpartition("::")[2], trace.text(kernel))
            for caller, kernel in zip(callers, trace.kernels.name.tolist(), strict=True)
        }
        assert pairs == {
            ("mm", "ampere_sgemm_128x64_nn"), ("relu", "relu_kernel"), ("add", "add_kernel"),
        }  # fmt: skip


@needs_traces
@pytest.mark.parametrize(("case", "ranks"), [("ranks-by-stage", [0, 1]), ("ranks-by-phase", [0])])
def test_stages_and_phases_are_recordings(case: str, ranks: list[int]) -> None:
    (run,) = tb_privateuse1.open(CASES / case).runs.runs
    assert [worker.rank for worker in run.workers] == ranks
    assert all(len(worker.spans) == 2 for worker in run.workers)
