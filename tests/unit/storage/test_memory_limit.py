"""What a process may allocate, and what it is measured by."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tb_privateuse1.storage import memory_limit

MACHINE_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these limits")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The control groups of a process in ``/a/b``, which have no limits yet."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cgroup").write_text("1:cpu:/x\n0::/a/b\n")
    (tmp_path / "groups" / "a" / "b").mkdir(parents=True)
    monkeypatch.setattr(memory_limit, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory_limit, "_CGROUPS", tmp_path / "groups")
    return tmp_path / "groups"


def test_without_a_group_limit_it_is_the_machine_that_counts(groups: Path) -> None:
    (groups / "a" / "b" / "memory.max").write_text("max\n")
    assert memory_limit.machine_bytes() == MACHINE_BYTES


@pytest.mark.parametrize("folder", ["a/b", "a", ""])
def test_the_limit_of_any_group_above_counts(groups: Path, folder: str) -> None:
    (groups / folder / "memory.max").write_text("1000000\n")
    assert memory_limit.machine_bytes() == 1_000_000


def test_a_group_with_more_than_there_is(groups: Path) -> None:
    (groups / "a" / "memory.max").write_text(f"{2 * MACHINE_BYTES}\n")
    assert memory_limit.machine_bytes() == MACHINE_BYTES


def test_where_there_are_no_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_PROC", tmp_path)
    assert memory_limit.machine_bytes() == MACHINE_BYTES


def confined(more_bytes: int, then: str) -> str:
    code = "from tb_privateuse1.storage import memory_limit\n"
    code += f"memory_limit.confine({more_bytes})\n{then}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@linux
@pytest.mark.parametrize(("wanted", "says"), [("10 << 20", "enough"), ("200 << 20", "MemoryError")])
def test_beyond_the_limit_an_allocation_fails(wanted: str, says: str) -> None:
    then = f"try: held = bytes({wanted}); print('enough')\nexcept MemoryError: print('MemoryError')"
    assert confined(100 << 20, then) == says


@linux
def test_a_limit_beyond_all_numbers_is_none_that_matters() -> None:
    assert confined(10**27, "print(len(bytes(1000)))") == "1000"


@linux
def test_it_is_the_first_that_the_system_ends() -> None:
    assert int(confined(1 << 30, "print(open('/proc/self/oom_score_adj').read())")) >= 500


@linux
def test_a_lower_limit_that_was_there_stays() -> None:
    then = (
        "import resource; before = resource.getrlimit(resource.RLIMIT_DATA)\n"
        "memory_limit.confine(1 << 40); print(before == resource.getrlimit(resource.RLIMIT_DATA))"
    )
    assert confined(100 << 20, then) == "True"


def test_a_system_without_such_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_PROC", tmp_path)
    memory_limit.confine(1)
    assert list(tmp_path.iterdir()) == []
    assert len(bytearray(1 << 20)) == 1 << 20
