"""Roofs of a device, and the ceiling that applies to each kind of work."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.roofs.roofs import (
    Roof,
    ceilings,
    compute_ceilings,
    merge,
    roofs_of,
)
from tb_privateuse1.trace.model import Lanes, Meta, Trace
from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS
from tests.support.work import work

A1 = Peak(
    re.compile("A1"),
    Rates(tf32=50, bf16=100, fp16=100, fp64=20),
    Rates(fp64=5, fp32=10, fp16=40),
    memory_gb_per_s=1000,
    cache_mb=32,
    link="AcmeLink",
    link_gb_per_s=300,
    host_gb_per_s=64,
)
B1 = Peak(re.compile("B1"), Rates(fp32=40, tf32=160, bf16=320), Rates(fp32=20))
ACME = Vendor("acme", "Acme", peaks=(A1, B1))


def limits_of(peak: Peak) -> tuple[Roof, ...]:
    anything = replace(peak, device_names=re.compile(""))
    vendor = Vendor("acme", "Acme", peaks=(anything,))
    return roofs_of(Trace(vendor=vendor, meta=Meta(devices=({"name": "A1"},))))


def rate(
    peak: Peak, kind: str, *, product: bool, on_unit: bool, tf32: bool = False
) -> float | None:
    """Return the ceiling in TFLOP/s of one row."""
    rows = work(duration_ns=[1], flops=[1], types=[kind], product=product, on_unit=on_unit)
    found = compute_ceilings(rows, ceilings(limits_of(peak), peak), tf32=tf32)[0]
    return None if np.isinf(found) else float(found / 1e12)


def test_a_device_has_the_roofs_of_its_peak() -> None:
    roofs = {roof.key: roof for roof in limits_of(A1)}
    assert roofs["compute", "bf16", True].rate == 100e12
    assert roofs["compute", "fp32", False].rate == 10e12
    assert ("compute", "fp32", True) not in roofs
    assert roofs["memory", "", False].rate == 1e12
    assert roofs["link", "", False].rate == 3e11
    assert roofs["host", "", False].rate == 6.4e10
    assert {roof.source for roof in roofs.values()} == {"data_sheet"}


def test_only_devices_that_ran_count() -> None:
    devices = ({"id": 0, "name": "A1"}, {"id": 1, "name": "B1"})
    column = np.array([1], np.int64)
    lanes = Lanes(device=column, stream=column.copy(), name=np.array([0], np.int32))
    both = Trace(vendor=ACME, meta=Meta(devices=devices))
    assert roofs_of(both) == ()
    one = Trace(vendor=ACME, meta=Meta(devices=devices), lanes=lanes)
    assert roofs_of(one) == limits_of(B1)


def test_an_unknown_device_has_no_roofs() -> None:
    assert roofs_of(Trace(vendor=ACME, meta=Meta(devices=({"name": "C1"},)))) == ()
    assert roofs_of(Trace(vendor=ACME)) == ()
    assert ceilings((), None).cache_bytes == np.inf


@pytest.mark.parametrize(
    ("kind", "product", "on_unit", "expected"),
    [
        ("bf16", True, True, 100),
        ("bf16", True, False, 100),  # it could have used the matrix unit
        ("fp32", True, True, 50),  # the unit has no true float32
        ("fp32", True, False, 10),
        ("fp64", True, True, 20),
        ("fp64", False, False, 5),
        ("fp16", False, False, 40),
        ("bf16", False, False, 10),  # computed in float32
        ("int8", False, False, None),
        ("int8", True, True, None),
        ("int64", False, False, None),
    ],
)
def test_the_ceiling_of_a_kind_of_work(
    kind: str, product: bool, on_unit: bool, expected: float | None
) -> None:
    assert rate(A1, kind, product=product, on_unit=on_unit) == expected


def test_a_unit_with_true_float32_needs_evidence_of_tf32() -> None:
    assert rate(B1, "fp32", product=True, on_unit=True) == 40
    assert rate(B1, "fp32", product=True, on_unit=True, tf32=True) == 160
    assert rate(B1, "fp32", product=True, on_unit=False, tf32=True) == 40


def test_a_half_that_the_unit_lacks_has_no_ceiling() -> None:
    old = Peak(re.compile("O1"), Rates(fp16=100), Rates(fp32=10))
    assert rate(old, "bf16", product=True, on_unit=False) is None


def test_best_rates_fill_what_is_not_given_and_show_what_is_reachable() -> None:
    given = [Roof("compute", "bf16", True, 100.0, "data_sheet")]
    seen = [
        Roof("compute", "bf16", True, 70.0, "best_seen", 70.0),
        Roof("memory", "", False, 5.0, "best_seen", 5.0),
    ]
    first, second = merge(given, seen)
    assert (first.rate, first.source, first.reachable) == (100.0, "data_sheet", 70.0)
    assert second == seen[1]
    assert merge(given, ())[0].reachable is None
    fast = Roof("compute", "bf16", True, 170.0, "best_seen", 170.0)
    assert merge(given, [fast])[0].reachable == 100.0


def test_best_rates_stay_with_the_unit_that_ran() -> None:
    seen = [
        Roof("compute", "bf16", True, 70e12, "best_seen"),
        Roof("compute", "bf16", False, 3e12, "best_seen"),
    ]
    rows = work(duration_ns=[1, 1], flops=[1, 1], on_unit=[True, False])
    assert compute_ceilings(rows, ceilings(seen, None)).tolist() == [70e12, 3e12]


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda v: v.name)
def test_every_peak_yields_roofs(vendor: Vendor) -> None:
    for peak in vendor.peaks:
        roofs = ceilings(limits_of(peak), peak)
        assert np.isfinite(roofs.matrix).any()
        assert not roofs.measured
