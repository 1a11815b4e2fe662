"""Ranks of traces: from metadata, names or order, with collisions and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tests.support.listing import codes, layout, only_run, ranks
from tests.support.make import kernel
from tests.support.trace_files import events, sidecar, trace, write


def test_metadata_ranks_come_before_names(tmp_path: Path) -> None:
    trace(tmp_path / "r" / "rank7.1.pt.trace.json", rank=3)
    trace(tmp_path / "r" / "host_5.1.pt.trace.json.gz", rank=1)
    assert ranks(tmp_path) == {"host_5": (1, "metadata"), "rank7": (3, "metadata")}


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_metadata_behind_the_events(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "r" / f"host_5.1.pt.trace.{suffix}"
    write(path, {"traceEvents": events() * 400, "distributedInfo": {"rank": 6}})
    assert ranks(tmp_path) == {"host_5": (6, "metadata")}


@pytest.mark.long
def test_metadata_larger_than_a_block(tmp_path: Path) -> None:
    groups = [{"ranks": list(range(10_000))} for _ in range(20)]
    info = {"pg_config": groups, "rank": 9}
    path = tmp_path / "r" / "host_5.1.pt.trace.json.gz"
    write(path, {"distributedInfo": info, "traceEvents": events()})
    assert ranks(tmp_path) == {"host_5": (9, "metadata")}


@pytest.mark.parametrize("rank", [-1, "x", None, 1 << 40, [1]])
def test_an_absurd_rank_is_none(tmp_path: Path, rank: object) -> None:
    path = tmp_path / "r" / "host_5.1.pt.trace.json"
    write(path, {"distributedInfo": {"rank": rank}, "traceEvents": events()})
    assert ranks(tmp_path) == {"host_5": (0, "order")}


def test_a_sidecar_has_the_rank(tmp_path: Path) -> None:
    trace(tmp_path / "r" / "host_5.1.pt.trace.json")
    sidecar(tmp_path / "r" / "host_5.1.kernel_event.json.gz", rank=2)
    assert ranks(tmp_path) == {"host_5": (2, "metadata")}


def test_ranks_by_order_fill_the_gaps(tmp_path: Path) -> None:
    trace(tmp_path / "r" / "host_10.1.pt.trace.json")
    trace(tmp_path / "r" / "host_9.1.pt.trace.json")
    trace(tmp_path / "r" / "host_8.1.pt.trace.json", rank=1)
    found = ranks(tmp_path)
    assert found == {"host_9": (0, "order"), "host_8": (1, "metadata"), "host_10": (2, "order")}


def test_a_restarted_job_adds_spans_to_its_ranks(tmp_path: Path) -> None:
    for rank in (0, 1):
        first, later = 1_700_000_000 * 10**9, 1_700_000_100 * 10**9
        trace(tmp_path / "r" / f"host_{10 + rank}.{first}.pt.trace.json", rank=rank)
        trace(tmp_path / "r" / f"host_{20 + rank}.{later}.pt.trace.json", rank=rank)
    run = only_run(tmp_path)
    assert [(w.worker, w.rank, len(w.spans)) for w in run.workers] == [
        ("host_20", 0, 2),
        ("host_21", 1, 2),
    ]
    assert codes(tmp_path) == ["joined_workers", "joined_workers"]
    found = catalog.scan(str(tmp_path), READERS)
    assert found.find("r", 1, 1).worker == "host_11"
    assert found.find("r", 1).worker == "host_21"


def test_a_rank_twice_at_a_time_is_a_visible_collision_and_nothing_is_lost(tmp_path: Path) -> None:
    stamp = 1_700_000_000 * 10**9
    for process in range(3):
        name = f"host_{process}.{stamp + process}.pt.trace.json"
        trace(tmp_path / "r" / name, rank=0)
    trace(tmp_path / "r" / f"host_9.{stamp}.pt.trace.json", rank=1)
    assert ranks(tmp_path) == {
        "host_0": (0, "metadata"),
        "host_9": (1, "metadata"),
        "host_1": (8, "order"),
        "host_2": (9, "order"),
    }
    assert codes(tmp_path) == ["rank_collision", "rank_collision"]
    assert "shown as rank 8" in only_run(tmp_path).warnings[0].message


def test_names_resolve_a_collision(tmp_path: Path) -> None:
    for rank in range(3):
        trace(tmp_path / "r" / f"rank{rank}.1.pt.trace.json", rank=0)
    assert [r for r, _ in ranks(tmp_path).values()] == [0, 1, 2]
    assert codes(tmp_path) == ["rank_collision", "rank_collision"]


def test_a_collision_takes_no_missing_ranks_number(tmp_path: Path) -> None:
    for rank in (0, 1, 4, 12):
        trace(tmp_path / "r" / f"rank{rank}.1.pt.trace.json", rank=rank)
    trace(tmp_path / "r" / "host.1.pt.trace.json", rank=4)  # first by name
    trace(tmp_path / "r" / "rank11.1.pt.trace.json", rank=12)
    assert {worker: rank for worker, (rank, _) in ranks(tmp_path).items()} == {
        "rank0": 0, "rank1": 1, "rank4": 4, "rank11": 11, "rank12": 12, "host": 13,
    }  # fmt: skip
    assert codes(tmp_path) == ["rank_collision", "rank_collision"]


@pytest.mark.parametrize(
    ("world_size", "rank"),
    [(4, 4), ("4", 4), (2, 2), (1, 2), (None, 2), ("x", 2), (-1, 2), (1 << 40, 2), ([4], 2)],
)
def test_a_collision_goes_beyond_the_world_size(
    tmp_path: Path, world_size: object, rank: int
) -> None:
    for name, own in (("a", 0), ("b", 1), ("c", 1)):
        info = {"rank": own, "world_size": world_size}
        document = {"distributedInfo": info, "traceEvents": events()}
        write(tmp_path / "r" / f"{name}.1.pt.trace.json", document)
    assert ranks(tmp_path)["c"] == (rank, "order")
    assert codes(tmp_path) == ["rank_collision"]


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_the_world_size_may_stand_behind_the_events(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        path = tmp_path / "r" / f"{name}.1.pt.trace.{suffix}"
        info = {"rank": 0, "world_size": 6}
        write(path, {"traceEvents": events() * 400, "distributedInfo": info})
    assert ranks(tmp_path)["b"] == (6, "order")


def test_names_that_give_rank_and_step_are_spans(tmp_path: Path) -> None:
    for rank in (0, 1):
        for step in (9, 100):
            trace(tmp_path / "r" / f"rank{rank}_step{step}.json")
    assert layout(tmp_path)["r"] == {
        0: ["rank0_step9", "rank0_step100"],
        1: ["rank1_step9", "rank1_step100"],
    }


def test_one_worker_name_for_all_ranks(tmp_path: Path) -> None:
    for rank in (0, 1):
        trace(tmp_path / "r" / f"bert.{100 + rank}.pt.trace.json", rank=rank)
    assert layout(tmp_path)["r"] == {0: ["100"], 1: ["101"]}
    assert codes(tmp_path) == []


def test_packed_and_plain_copies_are_one_trace(tmp_path: Path) -> None:
    trace(tmp_path / "r" / "host_1.1.pt.trace.json")
    trace(tmp_path / "r" / "host_1.1.pt.trace.json.gz")
    assert layout(tmp_path)["r"] == {0: ["1"]}
    assert catalog.scan(str(tmp_path), READERS).find().trace.name == "host_1.1.pt.trace.json"


def test_our_sidecar_before_the_recipes_which_is_the_latest_spans(tmp_path: Path) -> None:
    for stamp in (1, 2, 3):
        trace(tmp_path / "r" / f"host_1.{stamp}.pt.trace.json", rank=4)
    ours = sidecar(tmp_path / "r" / "host_1.2.kernel_event.json")
    recipe = write(tmp_path / "r" / "kernel_event_4.json.gz", {})
    write(tmp_path / "r" / "kernel_event_5.json.gz", {})
    found = catalog.scan(str(tmp_path), READERS)
    paths = [side and side.path for side in (found.find(span=n).sidecar for n in (1, 2, 3))]
    assert paths == [None, str(ours), str(recipe)]
    assert [s.has_sidecar for s in only_run(tmp_path).workers[0].spans] == [False, True, True]
    sidecar(tmp_path / "r" / "host_1.3.kernel_event.json")
    latest = catalog.scan(str(tmp_path), READERS).find().sidecar
    assert latest is not None
    assert latest.name == "host_1.3.kernel_event.json"


def test_recordings_of_a_rank_by_stage_are_its_spans(tmp_path: Path) -> None:
    for rank in (0, 1):
        for stage in ("DECODE", "EXTEND"):
            trace(tmp_path / "r" / f"17794.6-TP-{rank}-{stage}.trace.json.gz")
    assert layout(tmp_path)["r"] == {
        rank: [f"17794.6-TP-{rank}-DECODE", f"17794.6-TP-{rank}-EXTEND"] for rank in (0, 1)
    }


def test_recordings_of_one_process_by_phase_are_one_rank(tmp_path: Path) -> None:
    trace(tmp_path / "r" / "fit-training.1625863814669.pt.trace.json")
    trace(tmp_path / "r" / "fit-validation.1625863794721.pt.trace.json")
    assert layout(tmp_path)["r"] == {0: ["1625863794721", "1625863814669"]}
    assert codes(tmp_path) == ["joined_workers"]


def test_recordings_of_one_process_by_step_are_one_rank(tmp_path: Path) -> None:
    """As the tutorial of torch.profiler names them; another process is another rank."""
    for name in ("trace_5", "trace_10"):
        trace(tmp_path / "r" / f"{name}.json")
    assert layout(tmp_path)["r"] == {0: ["trace_5", "trace_10"]}
    other = [{**event, "pid": 7} for event in events()]
    write(tmp_path / "r" / "trace_15.json", {"traceEvents": other})
    assert layout(tmp_path)["r"] == {0: ["trace_5", "trace_10"], 1: ["default"]}


def test_recordings_of_a_job_of_several_processes_are_its_ranks(tmp_path: Path) -> None:
    """Processes in containers may have one number."""
    for name in ("a", "b"):
        document = {"traceEvents": events(), "distributedInfo": {"world_size": 2}}
        write(tmp_path / "r" / f"{name}.json", document)
    assert layout(tmp_path)["r"] == {0: ["default"], 1: ["default"]}


@pytest.mark.parametrize(
    ("second", "process"), [("1625863794721", 7), ("1625863813669", 1), ("2", 1)]
)
def test_other_or_simultaneous_processes_are_two_ranks(
    tmp_path: Path, second: str, process: int
) -> None:
    trace(tmp_path / "r" / "a.1625863814669.pt.trace.json")
    other = [{**event, "pid": process} for event in events()]
    write(tmp_path / "r" / f"b.{second}.pt.trace.json", {"traceEvents": other})
    assert layout(tmp_path)["r"] == {0: ["1625863814669"], 1: [second]}


def _ranks_with_a_device(folder: Path) -> None:
    for rank in (0, 1):
        work = [*events(), kernel("gemm", 110, 120)]
        write(folder / f"rank{rank}.1.pt.trace.json", {"traceEvents": work})


def test_a_server_without_device_work_is_no_rank(tmp_path: Path) -> None:
    _ranks_with_a_device(tmp_path / "r")
    server = [{**event, "pid": 77} for event in events()]
    write(tmp_path / "r" / "host_77.async_llm.1.pt.trace.json.gz", {"traceEvents": server})
    assert layout(tmp_path) == {
        "r": {0: ["1"], 1: ["1"]},
        "r/host_77.async_llm": {0: ["1"]},
    }
    assert catalog.scan(str(tmp_path), READERS).find("r/host_77.async_llm").rank is None


def test_a_rank_that_lost_its_number_is_one_by_its_device_work(tmp_path: Path) -> None:
    _ranks_with_a_device(tmp_path / "r")
    work = [{**event, "pid": 77} for event in (*events(), kernel("gemm", 110, 120))]
    write(tmp_path / "r" / "host_77.1.pt.trace.json", {"traceEvents": work})
    assert layout(tmp_path) == {"r": {0: ["1"], 1: ["1"], 2: ["1"]}}


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_ranks_of_a_merged_file_are_opened_apart(tmp_path: Path, suffix: str) -> None:
    merged = [
        {**event, "pid": f"[TP0{rank}] {event['pid']}"} for rank in (0, 1) for event in events()
    ]
    info = {"rank": 0, "world_size": 2}
    write(
        tmp_path / "r" / f"merged-17.trace.{suffix}",
        {"traceEvents": merged, "distributedInfo": info},
    )
    found = catalog.scan(str(tmp_path), READERS)
    assert ranks(tmp_path) == {
        "merged-17 [TP00]": (0, "name"),
        "merged-17 [TP01]": (1, "name"),
    }
    assert [found.find("r", rank).label for rank in (0, 1)] == ["[TP00]", "[TP01]"]
