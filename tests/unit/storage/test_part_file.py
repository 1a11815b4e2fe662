"""Parts beside stored traces: the same as made anew, and never those of something else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.storage import arrow_file, cache_directory, disk_cache, file_identity, part_file
from tests.contract.test_layers import FILES, imports
from tests.support.make import op, trace
from tests.support.rank_runs import FINE, STEPS, rank
from tests.support.repeats import sampled
from tests.support.same import values
from tests.support.shared_traces import TRACES, load, needs_traces

PATH = f"{1:032x}.arrow"


def some(number: int = 0, computes: float = 3000) -> RankPart:
    one = replace(FINE, computes=computes)
    return reduce_trace(rank(number, [one] * STEPS, [4000] * STEPS, transfer=100))


def test_what_is_read_is_what_was_stored(tmp_path: Path) -> None:
    part = some()
    assert len(part.calls.step)
    assert part.host.idle
    assert part.host.kernels
    part_file.write_part(part, tmp_path / PATH)
    assert [*tmp_path.iterdir()] == [cache_directory.part_path(tmp_path / PATH)]
    found = part_file.read_part(tmp_path / PATH)
    assert values(found) == values(part)
    assert type(found) is RankPart


def test_a_trace_with_next_to_nothing(tmp_path: Path) -> None:
    part = reduce_trace(trace(op("lonely", 0, 1)))
    part_file.write_part(part, tmp_path / PATH)
    assert values(part_file.read_part(tmp_path / PATH)) == values(part)


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES, 24), ids=lambda path: path.name)
def test_parts_of_real_traces(path: Path) -> None:
    part = reduce_trace(load(path))
    assert values(part_file.unpack(part_file.pack(part))) == values((part,))


@pytest.mark.long
@given(
    ints=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9),
    names=st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1), max_size=4),
    host=st.none() | st.text(),
)
def test_any_figures_and_texts(ints: list[int], names: dict[str, int], host: str | None) -> None:
    made = some()
    held = np.array(ints, np.int64)
    own = replace(made.host, held_ns=held, kernels=names)
    part = replace(made, host=own, hostname=host)
    content = part_file.pack(part)
    assert values(part_file.unpack(content)) == values((part,))


def test_reading_is_a_use(tmp_path: Path) -> None:
    part_file.write_part(some(), tmp_path / PATH)
    beside = cache_directory.part_path(tmp_path / PATH)
    os.utime(beside, (1, 1))
    part_file.read_part(tmp_path / PATH)
    assert beside.stat().st_mtime > 1


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "trace", "other part"])
def test_what_is_not_this_part_is_removed(tmp_path: Path, damage: str) -> None:
    path, other = tmp_path / PATH, tmp_path / f"{2:032x}.arrow"
    beside = cache_directory.part_path(path)
    part_file.write_part(some(), path)
    part_file.write_part(some(1), other)
    disk_cache.write_trace(trace(op("lonely", 0, 1)), path)
    content = beside.read_bytes()
    if damage == "cut":
        os.truncate(beside, len(content) // 2)
    elif damage == "changed":
        beside.write_bytes(content[:900] + bytes([content[900] ^ 1]) + content[901:])
    elif damage == "empty":
        beside.write_bytes(b"")
    elif damage == "trace":
        shutil.copy(path, beside)
    else:
        shutil.copy(cache_directory.part_path(other), beside)
    assert part_file.read_part(path) is None
    assert not beside.exists()
    assert path.exists(), "its trace stays"


def test_arrays_that_are_not_in_the_columns_are_damage() -> None:
    content = part_file.pack(some())
    for wrong in (b'["int64",0,99999]', b'["int64",-1,1]', b'["int32",0,1]', b'["x",0,1]', b'"x"'):
        at = content.head.index(b'["int64",')
        end = content.head.index(b"]", at) + 1
        head = content.head[:at] + wrong + content.head[end:]
        with pytest.raises((ValueError, KeyError)):
            part_file.unpack(arrow_file.Content(head, content.tables))


def test_texts_that_cannot_be_stored_leave_no_part(tmp_path: Path) -> None:
    part = replace(some(), hostname="half \ud800")
    with pytest.raises(ValueError, match="surrogates"):
        part_file.write_part(part, tmp_path / PATH)
    assert part_file.keep(part, tmp_path / PATH) is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [MemoryError, ZeroDivisionError])
def test_a_trace_that_cannot_be_reduced_has_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(_: object) -> RankPart:
        raise error

    monkeypatch.setattr(part_file, "reduce_trace", fail)
    part_file.prepare(trace(op("lonely", 0, 1)), tmp_path / PATH)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_all_that_makes_a_part_is_of_its_version() -> None:
    makers = [maker.replace("/", ".") for maker in (*file_identity._MAKERS, "analysis")]
    todo = ["analysis.ranks.collectives"]
    seen = set(todo)
    while todo:
        named = imports(FILES[todo.pop()].read_text())
        inner = {f"{module}.{name}".partition(".")[2] for module, name in named}
        inner |= {name.rpartition(".")[0] for name in inner}
        new = (inner & FILES.keys()) - seen
        seen |= new
        todo += new
    assert "analysis.steps.breakdown" in seen
    only_finds = ("discovery", "__init__")
    assert [m for m in sorted(seen) if not m.startswith((*makers, *only_finds))] == []


_AT_ONCE = """
import sys, threading
from pathlib import Path
from tb_privateuse1.storage import part_file
sys.setswitchinterval(1e-6)
start, read = threading.Barrier(16), []
def one():
    start.wait()
    read.append(part_file.read_part(Path(sys.argv[1])))
threads = [threading.Thread(target=one) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(read) == 16 and None not in read
"""


@pytest.mark.long
def test_the_first_ones_may_be_read_at_once(tmp_path: Path) -> None:
    part_file.write_part(some(), tmp_path / PATH)
    for _ in range(5):
        command = [sys.executable, "-c", _AT_ONCE, str(tmp_path / PATH)]
        subprocess.run(command, check=True)
