"""Dumps of flight recorders: entries equal those of the file, alone and beside a trace."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.collective_entries import STATES
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import invariants, make, trace_files
from tests.support.flight_recorders import START_NS, Rank

RECORDED = Path(__file__).parent / "recorded"
DUMPS = sorted(RECORDED.glob("*/gloo_trace_rank_*"))


def trace_of(path: Path) -> Trace:
    trace = inference.build_trace(readers.read(str(path)), None)
    invariants.check(trace)
    return trace


def content_of(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    found: dict[str, Any]
    found = json.loads(data) if path.suffix == ".json" else pickle.loads(data)
    return found


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_entries_of_torch_are_those_of_the_file(path: Path) -> None:
    entries, trace = content_of(path)["entries"], trace_of(path)
    table = trace.collective_entries
    assert len(table) == len(entries)
    for row, entry in enumerate(entries):
        group, purpose = entry["process_group"]
        assert trace.text(table.name[row]) == entry["profiling_name"]
        assert trace.text(table.group[row]) == group
        assert trace.text(table.purpose[row]) == ("" if purpose == "undefined" else purpose)
        assert table.sequence[row] == entry["collective_seq_id"]
        assert table.created_ns[row] + trace.base_ns == entry["time_created_ns"]
        assert table.started_ns[row] == table.completed_ns[row] == MISSING
        assert STATES[table.state[row]] == ("retired" if entry["retired"] else "scheduled")
        assert json.loads(trace.text(table.shapes[row]) or "[]") == entry["input_sizes"]
        assert json.loads(trace.text(table.out_dtypes[row]) or "[]") == entry["output_dtypes"]
        frames = [f"{f['filename']}({f['line']}): {f['name']}" for f in entry.get("frames", [])]
        assert trace.text(table.stack[row]) == ";".join(frames)
    assert trace.meta.reader == "flight_recorder"


@pytest.mark.long
def test_pickle_and_json_of_one_dump_are_the_same_but_for_stacks(tmp_path: Path) -> None:
    for rank in range(4):
        one = trace_of(RECORDED / "skip" / f"gloo_trace_rank_{rank}")
        other = trace_of(RECORDED / "json" / f"gloo_trace_rank_{rank}.json")
        for name in ("sequence", "state", "created_ns", "started_ns", "message"):
            mine, theirs = one.collective_entries, other.collective_entries
            assert getattr(mine, name).tolist() == getattr(theirs, name).tolist()
        assert (other.collective_entries.stack == -1).all()


def test_states_and_times_of_a_backend_that_records_them(tmp_path: Path) -> None:
    rank = Rank(0).call().call(state="started", retired=True).call(state="scheduled")
    trace = trace_of(rank.dump(tmp_path))
    table = trace.collective_entries
    assert [STATES[s] for s in table.state] == ["completed", "started", "scheduled"]
    assert (table.completed_ns - table.created_ns).tolist()[0] == 20_000
    assert trace.base_ns == START_NS + 1_010_000  # its first start
    assert trace.text(table.members[0]) == "[0,1,2,3]"
    ops = trace.ops
    assert [trace.text(i) for i in ops.name] == ["all_reduce"] * 3
    assert (ops.end_ns - ops.start_ns).tolist() == [10_000, 990_000, 0]
    assert {"collectives_open", "flight_recorder_alone"} <= {f.code for f in trace.meta.findings}
    assert not len(trace.collectives)  # noticed times are no durations


def test_calls_of_a_group_that_overlap_are_on_threads_that_nest(tmp_path: Path) -> None:
    rank = Rank(0)
    for _ in range(100):
        rank.call(state="started")
    trace = trace_of(rank.dump(tmp_path))
    assert len(trace.ops) == 100
    names = {trace.text(trace.threads.name[i]) for i in trace.ops.thread}
    assert len(names) == 32
    assert {"0 (default_pg)", "0 (default_pg) 32"} <= names


def test_dumps_alone_are_the_ranks_of_a_run(tmp_path: Path) -> None:
    for rank in range(12):
        Rank(rank).call().dump(tmp_path)
    (run,) = tbp.open(tmp_path).runs.runs
    assert [(w.rank, w.rank_source) for w in run.workers] == [(i, "name") for i in range(12)]


def write_trace(folder: Path, rank: int) -> None:
    content = make.document(
        make.op("aten::mm", 0, 5, id=1), baseTimeNanoseconds=START_NS,
        distributedInfo={"rank": rank, "world_size": 2},
    )  # fmt: skip
    trace_files.write(folder / f"host_{rank}.170{rank}.pt.trace.json", content)


def test_a_dump_beside_a_trace_of_its_rank_adds_to_it_once(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_trace(tmp_path, rank)
        dump = Rank(rank).call().call(state="started")
        dump.dump(tmp_path)
        dump.dump(tmp_path, "nccl_trace_rank_{}.json")
    Rank(2).call().dump(tmp_path)
    run = tbp.open(tmp_path)
    (listed,) = run.runs.runs
    assert [(w.rank, len(w.spans)) for w in listed.workers] == [(0, 1), (1, 1), (2, 1)]
    trace = run.trace(rank=1)
    invariants.check(trace)
    assert [trace.text(i) for i in trace.ops.name] == ["aten::mm"]
    assert trace.collective_entries.created_ns.tolist() == [1_000_000, 2_000_000]
    assert (trace.collective_entries.stack >= 0).all()  # the pickle has them, and is first
    assert [f.code for f in trace.meta.findings].count("collectives_open") == 1


def test_a_changed_dump_changes_the_cached_trace(tmp_path: Path) -> None:
    write_trace(tmp_path, 0)
    dump = Rank(0).call()
    dump.dump(tmp_path)
    assert len(tbp.open(tmp_path).trace().collective_entries) == 1
    dump.call().dump(tmp_path)
    assert len(tbp.open(tmp_path).trace().collective_entries) == 2


@pytest.mark.parametrize("data", [b"", b"no pickle", b"\x80\x04cos\nsystem\n.", b"\x80\x02}."])
def test_one_that_cannot_be_read_is_a_finding_or_an_error(tmp_path: Path, data: bytes) -> None:
    write_trace(tmp_path, 0)
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(data)
    trace = tbp.open(tmp_path).trace()
    assert len(trace.ops) == 1
    assert "part_unreadable" in {f.code for f in trace.meta.findings}
    with pytest.raises(TraceError):
        readers.read(str(path))


class Runs:
    """An object whose pickle calls a function."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_hostile_pickle_runs_nothing(tmp_path: Path, protocol: int) -> None:
    mark, path = tmp_path / "ran", tmp_path / "nccl_trace_rank_0"
    for content in (
        {"version": "2.10", "pg_config": {}, "entries": [Runs(f"touch {mark}")]},
        {"version": Runs(f"touch {mark}"), "entries": []},
        {"entries": [{"profiling_name": Runs(f"touch {mark}")}]},
    ):
        path.write_bytes(pickle.dumps(content, protocol))
        with pytest.raises(TraceError) as caught:
            readers.read(str(path))
        assert caught.value.code == "not_plain"
    assert not mark.exists()


def test_dumps_of_older_versions(tmp_path: Path) -> None:
    rank = Rank(0).call().call("send 0->1", state="started")
    for entry in rank.entries:
        for key in ("process_group", "p2p_seq_id", "is_p2p", "input_dtypes", "frames"):
            del entry[key]
        entry["seq_id"] = entry.pop("collective_seq_id") or 5
    table = trace_of(rank.dump(tmp_path)).collective_entries
    assert table.sequence.tolist() == [1, 5]
    assert table.message.tolist() == [False, True]


def test_an_entry_is_read_again_whole(tmp_path: Path) -> None:
    run = tbp.open(Rank(0).call().call(line=99).dump(tmp_path))
    record = json.loads(run.event("ops", 1).record or "")
    assert record["collective_seq_id"] == 2
    assert record["frames"][1]["line"] == 99
