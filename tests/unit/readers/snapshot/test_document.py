"""Damaged parts of a snapshot: they cost no more than the file has bytes, and the rest is read."""

from __future__ import annotations

from typing import Any

from tb_privateuse1.readers.snapshot.document import parse
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.recorded_metadata import FREE, PENDING

BLOCK: dict[str, Any] = {"state": "active_allocated", "size": 8, "address": 512}


def nested(depth: int) -> list[Any]:
    """Lists that contain one list twice: as text they are of 2 to the power of ``depth``."""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner, inner]
    return inner


def segment(*blocks: Any, device: int = 0, **more: Any) -> dict[str, Any]:
    return {"device": device, "total_size": 1024, "address": 512, "blocks": [*blocks], **more}


def test_blocks_that_are_none_count_for_the_limit() -> None:
    parts = [segment(None, None, None, BLOCK, device=device) for device in (0, 1)]
    found = parse({"segments": parts}, 5)
    assert found.blocks.device.tolist() == [0]
    assert [len(found.in_use[device].address) for device in (0, 1)] == [1, 0]


def test_a_state_or_a_pool_of_nested_lists_is_never_a_text() -> None:
    # As texts these would need 2 to the power of 200 letters.
    part = segment(BLOCK | {"state": nested(200)}, segment_pool_id=(nested(200), 1))
    found = parse({"segments": [part]}, 1000)
    assert found.blocks.state.tolist() == [PENDING]
    assert [found.stacks[pool] for pool in found.blocks.pool.tolist()] == ["unknown"]


def test_a_pool_has_two_numbers_of_64_bits() -> None:
    ids = [(0, 3), (0, (1 << 64) - 1), (0, 10**5000), (1,) * 100]
    found = parse({"segments": [segment(BLOCK, segment_pool_id=one) for one in ids]}, 1000)
    names = [found.stacks[pool] for pool in found.blocks.pool.tolist()]
    assert names == ["unknown 0.3", f"unknown 0.{(1 << 64) - 1}", "unknown", "unknown"]


def test_blocks_behind_the_last_address_have_none() -> None:
    free = {"state": "inactive", "size": 8}
    part = segment(free, free, free, address=(1 << 63) - 10)
    found = parse({"segments": [part]}, 1000)
    known = [(1 << 63) - 10, (1 << 63) - 2]
    assert sorted(found.blocks.address.tolist()) == [MISSING, *known]
    assert found.blocks.state.tolist() == [FREE] * 3


def test_blocks_of_a_segment_without_address_have_none() -> None:
    free = {"state": "inactive", "size": 8}
    found = parse({"segments": [segment(free, free, address=None)]}, 1000)
    assert found.blocks.address.tolist() == [MISSING, MISSING]
