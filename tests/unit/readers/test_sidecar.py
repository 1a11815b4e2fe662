"""Both sidecars, ours and the recipe's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING
from tests.support import make


def read(folder: Path, content: Any) -> Sidecar:
    path = folder / "t.kernel_event.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return readers_sidecar.read_sidecar(str(path))


def test_ours(tmp_path: Path) -> None:
    sidecar = read(tmp_path, make.sidecar({1: 10, 2: 2.5, 3: None, 4: -1}))
    assert sidecar.external_id.tolist() == [1, 2, 3, 4]
    assert sidecar.elapsed_ns.tolist() == [10_000, 2_500, MISSING, MISSING]
    assert sidecar.facts["backend"] == "refdev"
    assert [(f.code, f.count) for f in sidecar.findings] == [("elapsed_missing", 2)]


def test_device_times_of_events(tmp_path: Path) -> None:
    """Before the reference event they are negative; a lost one is missing."""
    times: dict[str, Any] = {"first_ns": [-40, 5, None], "second_ns": [7, "x", 9]}
    sidecar = read(tmp_path, make.sidecar({1: 10, 2: 2, 3: 3}, **times))
    assert sidecar.first_ns is not None
    assert sidecar.second_ns is not None
    assert sidecar.first_ns.tolist() == [-40, 5, MISSING]
    assert sidecar.second_ns.tolist() == [7, MISSING, 9]
    for lost in ({"first_ns": [1, 2, 3]}, {"first_ns": [1, 2, 3], "second_ns": [1]}):
        assert read(tmp_path, make.sidecar({1: 10, 2: 2, 3: 3}, **lost)).first_ns is None


def test_the_recipes_rows_join_by_the_id_in_their_key(tmp_path: Path) -> None:
    row = {"kernel_time": 43.0, "device_memory_usage": 0, "start_us": 1.0, "host_dur": 2.0}
    sidecar = read(
        tmp_path,
        {"aten::to_4_1": row, "a_b(3): f_17_2": row, "train.py(1): <module>_0_1": row},
    )
    assert sidecar.external_id.tolist() == [4, 17]
    assert sidecar.elapsed_ns.tolist() == [43_000, 43_000]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"a": {"kernel_time": 1}}',
        '{"schema": "tb_privateuse1.kernel_event/1", "external_id": [1], "elapsed_us": []}',
        '{"schema": "tb_privateuse1.kernel_event/1"}',
    ],
)
def test_what_is_no_sidecar_says_so(tmp_path: Path, content: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(tmp_path, content)
    assert caught.value.code == "bad_sidecar"


def test_a_newer_schema_is_said(tmp_path: Path) -> None:
    content = make.sidecar({1: 1}) | {"schema": "tb_privateuse1.kernel_event/2"}
    assert [f.code for f in read(tmp_path, content).findings] == ["sidecar_version"]
