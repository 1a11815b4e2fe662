"""What a file says of itself beside its events."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace import labels
from tb_privateuse1.trace.model import Trace
from tests.support import make


def metadata(trace: Trace) -> dict[str, str]:
    table = trace.metadata
    return {
        trace.text(k): trace.text(v)
        for k, v in zip(table.key.tolist(), table.value.tolist(), strict=True)
    }


def recorded(**keys: Any) -> Trace:
    return make.trace(make.op("aten::mm", 0, 10), **keys)


def test_what_the_program_added_is_kept_and_shown() -> None:
    """``add_metadata`` writes text, ``add_metadata_json`` any JSON."""
    trace = recorded(learning_rate="3e-4", model={"layers": [2, 3]}, batch=32, traceName="x")
    expected = {"learning_rate": "3e-4", "model": '{"layers":[2,3]}', "batch": "32"}
    assert metadata(trace) == expected
    facts = {fact.label: fact.value for fact in labels.run(trace)}
    assert expected.items() <= facts.items()


def test_what_other_fields_have_is_not_kept_twice() -> None:
    assert not metadata(
        recorded(with_stack=1, deviceProperties=[], tb_privateuse1={"rank": 1}, note=None, empty="")
    )


def test_a_hostile_file_has_no_million_keys_or_texts() -> None:
    trace = recorded(**{f"key {i}": "x" * 5000 for i in range(1000)})
    assert len(trace.metadata) == 200
    assert {len(text) for text in metadata(trace).values()} == {2000}


def test_the_host_by_either_name() -> None:
    """Kineto writes ``host_name``; other programs write ``hostname``."""
    assert recorded(host_name="node7").meta.hostname == "node7"
    assert recorded(hostname="node7").meta.hostname == "node7"
    assert recorded(host_name="node7", hostname="pod").meta.hostname == "node7"
    assert recorded(host_name="", hostname=7).meta.hostname is None
    assert not metadata(recorded(hostname="node7"))


@pytest.mark.parametrize(("stated", "size"), [(8, 8), (3 * 10**8, None), (0, None), (-1, None)])
def test_a_world_of_more_ranks_than_any_job_has_is_unknown(stated: int, size: int | None) -> None:
    """The page *Ranks* makes a list of the missing ones: 300 million took 6 GB."""
    found = recorded(distributedInfo={"rank": 0, "world_size": stated})
    assert found.meta.world_size == size
