"""Advice on its page: by cause, with evidence that leads on; put aside in the address."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tb_privateuse1.i18n.units import with_unit
from tests.support import make
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.program import device_bound
from tests.support.server import Server, serve
from tests.support.timeline_canvas import canvas
from tests.unit.views.test_advice import program

MARKUP = "train<img src=x onerror=alert(1)>.py(3): step"


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A program with faults, called from a file whose name is markup, and a sound one.

    The bare one is sound as well, without shapes, stacks and memory.
    """
    folder = tmp_path_factory.mktemp("advised")
    faulty = program()
    for event in faulty.events:
        if event["name"].startswith("train.py"):
            event["name"] = MARKUP
    sound = device_bound(steps=4)
    sound.events += [make.memory(5, 8, 8), make.frame("train.py(1): step", 0, 10)]
    sound.events += [make.op("aten::view", 5, 6, **{"Input Dims": [[1]]})]
    for name, run in (("faulty", faulty), ("sound", sound), ("bare", device_bound(steps=4))):
        path = folder / name / f"{name}.1700000000000.pt.trace.json"
        path.parent.mkdir()
        path.write_text(json.dumps(make.document(*run.events)))
    with serve("--logdir", folder) as server:
        yield server


def test_findings_by_cause_with_their_savings(
    visit: Callable[[Server], Dashboard], advised: Server
) -> None:
    dashboard = visit(advised).open(run="faulty", view="advice")
    now = advised.plugin("advice?run=faulty").json
    dashboard.shows("page-advice")
    assert dashboard.figure("saving_ns") == now["saving_ns"]
    assert dashboard.figure("saving_share") == pytest.approx(now["saving_share"])
    rows = dashboard.get("finding")
    expect(rows).to_have_count(len(now["rows"]))
    shown = rows.evaluate_all("rows => rows.map(r => [r.dataset.key, r.dataset.value])")
    assert sorted(shown) == sorted(
        [row["rule"], "" if row["saving_ns"] is None else str(row["saving_ns"])]
        for row in now["rows"]
    )
    (wait,) = (row for row in now["rows"] if row["rule"] == "item_sync")
    range_of = rows.and_(dashboard.inside.locator("[data-key=item_sync]")).get_by_test_id(
        "saving-range"
    )
    low, high = (with_unit("share", wait[f"saving_{end}_share"]) for end in ("low", "high"))
    expect(range_of).to_have_text(f"({low.removesuffix(' %')} to {high})")
    causes = dashboard.get("cause").evaluate_all("rows => rows.map(r => r.dataset.key)")
    assert causes == [cause["cause"] for cause in now["causes"]]


def test_a_finding_leads_to_its_events_and_its_line(
    visit: Callable[[Server], Dashboard], advised: Server
) -> None:
    dashboard = visit(advised).open(run="faulty", view="advice")
    item = dashboard.inside.locator("[data-testid=finding][data-key=item_sync]")
    head = item.locator("button.headline")
    head.focus()
    head.press("Enter")
    expect(head).to_have_attribute("aria-expanded", "true")
    expect(item.get_by_test_id("function")).to_contain_text(MARKUP.partition("(")[0])
    expect(item.locator("[data-key=before] pre")).to_contain_text("total += train(batch).item()")
    expect(item.locator("[data-key=after] pre")).to_contain_text("torch.zeros")
    assert dashboard.state()["selected"] == "item_sync"
    item.get_by_test_id("example").first.click()
    expect(dashboard.get("record-name")).to_contain_text("aten::item")
    dashboard.get("record-close").click()
    item.get_by_test_id("show-on-timeline").first.click()
    dashboard.shows("page-timeline")
    expect(dashboard.get("details-name")).to_have_text("aten::item")


def test_filter_and_put_aside_are_in_the_address(
    visit: Callable[[Server], Dashboard], advised: Server
) -> None:
    dashboard = visit(advised).open(run="faulty", view="advice", selected="item_sync")
    dashboard.get("group-waiting").click()
    expect(dashboard.get("finding")).to_have_count(1)
    dashboard = visit(advised).open(run="faulty", view="advice", selected="item_sync")
    dashboard.get("put-aside").click()
    expect(dashboard.get("aside")).to_have_attribute("data-value", "1")
    assert dashboard.state()["aside"] == "item_sync"
    dashboard = visit(advised).open(run="faulty", view="advice", aside="item_sync")
    expect(dashboard.get("aside")).to_have_attribute("data-value", "1")
    before = dashboard.get("finding").count()
    dashboard.get("bring-back").click()
    expect(dashboard.get("finding")).to_have_count(before + 1)


def test_nothing_to_mend_says_what_was_looked_for(
    visit: Callable[[Server], Dashboard], advised: Server
) -> None:
    dashboard = visit(advised).open(run="sound", view="advice")
    dashboard.shows("nothing-found")
    dashboard.get("all-rules").click()
    asked = advised.plugin("advice?run=sound").json["asked"]
    dashboard.shows("asked", rows=len(asked))


def test_nothing_found_is_not_all_clear_where_rules_could_not_look(
    visit: Callable[[Server], Dashboard], advised: Server
) -> None:
    sentence = advised.plugin("advice?run=bare").json["unasked"]
    assert "record_shapes=True" in sentence
    for view in ("advice", "overview"):
        dashboard = visit(advised).open(run="bare", view=view)
        expect(dashboard.get("unasked")).to_have_text(sentence)
    dashboard = visit(advised).open(run="bare", view="advice")
    expect(dashboard.get("nothing-found")).to_have_class("unsure")
    dashboard = visit(advised).open(run="sound", view="advice")
    expect(dashboard.get("nothing-found")).to_have_class("allclear")


def test_findings_stand_on_the_timeline_and_lead_back(
    visit: Callable[[Server], Dashboard], advised: Server
) -> None:
    rows = advised.plugin("advice?run=faulty").json["rows"]
    rules = {row["rule"] for row in rows if row["evidence"]}
    dashboard = visit(advised)
    canvas(dashboard, run="faulty")
    marks = dashboard.get("insight")
    expect(marks.first).to_be_visible(timeout=WAIT_MS)
    first = marks.first.get_attribute("data-rule")
    assert first in rules
    switch = dashboard.get("findings-on-timeline")
    switch.click()
    expect(marks).to_have_count(0)
    assert dashboard.state()["findings"] == "0"
    switch.click()
    expect(marks.first).to_be_visible(timeout=WAIT_MS)
    marks.first.click()
    dashboard.shows("page-advice")
    assert dashboard.state()["selected"] == first
