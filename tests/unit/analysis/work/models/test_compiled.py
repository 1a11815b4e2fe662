from __future__ import annotations

from tests.unit.analysis.work.calls import tensor, work


def test_each_pointer_counts_once() -> None:
    found = work("triton_poi_fused_add_0", tensor(8, 4), tensor(4), tensor(8, 4), 32)
    assert found is not None
    assert (found.flops, found.read_bytes, found.written_bytes) == (None, 144, 128)


def test_without_tensors_it_is_unknown() -> None:
    assert work("triton_poi_fused_add_0", 32) is None
