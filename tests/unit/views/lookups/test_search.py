"""Search: everything that bears a text, the best matches first, page by page."""

from __future__ import annotations

from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.links import links
from tb_privateuse1.views.lookups.search import search
from tests.support.lookups import ask
from tests.support.make import frame, kernel, launch, op, trace
from tests.support.uncertain import pair


def some() -> Trace:
    return trace(
        op("aten::mm", 10, 20), op("aten::add", 30, 40), op("aten::mm", 50, 60),
        frame("model.py(3): mm", 5, 65), launch(12, 14, 1), kernel("MM_kernel", 25, 35, 1),
    )  # fmt: skip


def test_the_best_matches_first_then_by_kind_and_time() -> None:
    """A whole name counts with or without its namespace; Python's frames come last."""
    found = ask(search, some(), text="MM")
    assert [(i.table, i.start_ns) for i in found.items] == [
        ("ops", 5_000), ("ops", 45_000), ("kernels", 20_000), ("frames", 0),
    ]  # fmt: skip
    assert (found.matches, found.kernels_ns) == (4, 10_000)
    assert (found.names[0].name, found.names[0].ranges) == ("aten::mm", 2)
    assert all(i.track >= 0 for i in found.items)


def test_pages() -> None:
    found = ask(search, some(), text="mm", after=2, limit=1)
    assert (found.matches, found.before, [i.start_ns for i in found.items]) == (4, 2, [20_000])
    assert ask(search, some(), text="mm", after=99).items == ()


def test_the_kinds_of_what_matches_and_the_matches_of_one() -> None:
    groups = [("kernels", 1), ("ops", 2), ("frames", 1)]
    for only, starts in (("all", [5_000, 45_000, 20_000, 0]), ("ops", [5_000, 45_000]),
                         ("frames", [0]), ("launches", [])):  # fmt: skip
        found = ask(search, some(), text="mm", only=only)
        assert [(one.table, one.ranges) for one in found.groups] == groups
        assert [item.start_ns for item in found.items] == starts
        assert found.matches == len(starts)


def test_exact_and_nothing() -> None:
    assert ask(search, some(), text="aten::mm", exact=True).matches == 2
    for text in ("", "nowhere"):
        found = ask(search, some(), text=text)
        assert (found.matches, found.items, found.names, found.kernels_ns) == (0, (), (), 0)


def test_inferred_device_time_has_its_bound() -> None:
    one, _ = pair(2)
    found = ask(search, one, text="")
    assert found.kernels_bound_ns == 0
    name = one.text(int(one.kernels.name[0]))
    found = ask(search, one, text=name, exact=True)
    mine = one.kernels.name == one.kernels.name[0]
    assert found.kernels_bound_ns == uncertainty.duration_sum_bound(one.kernels.take(mine))
    whole = ask(links, one, table="ops", index=int(one.kernels.op[0]))
    assert whole.kernels_bound_ns == sum(
        one.kernels.duration_bound_ns[k.index] for k in whole.kernels
    )


def test_pages_of_many() -> None:
    one = trace(*(op("aten::mm" if i % 3 else "aten::add", 5 * (i % 40), 5 * (i % 40) + 2,
                     thread=i // 40) for i in range(400)))  # fmt: skip
    whole = ask(search, one, text="mm", limit=1000)
    order = sorted((one.ops.start_ns[i.index], i.index) for i in whole.items)
    assert [(i.start_ns, i.index) for i in whole.items] == order
    assert whole.matches == len(order) == 266
    for after in (0, 1, 7, 100, 250, 265, 266):
        found = ask(search, one, text="mm", after=after, limit=9)
        assert found.items == whole.items[after : after + 9]
        assert found.before == after
