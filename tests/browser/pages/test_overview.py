"""The overview shows the figures of the HTTP result, for measured, inferred and no device times."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard, number

TOTALS = ("compute_ns", "communication_ns", "overlap_ns", "memcpy_ns", "memset_ns")


def result(dashboard: Dashboard, query: str) -> Any:
    answer = dashboard.server.plugin(f"overview?{query}")
    assert answer.status == 200
    return answer.json


def bars(dashboard: Dashboard, testid: str) -> dict[str, float | None]:
    found = dashboard.get(testid).locator("tr[data-key]")
    pairs = found.evaluate_all("rows => rows.map(r => [r.dataset.key, r.dataset.value])")
    return {key: number(value) for key, value in pairs}


def same(dashboard: Dashboard, now: Any) -> None:
    """What the page shows of the selected steps equals a result."""
    totals = now["totals"]
    recorded = [s for s in now["steps"] if "#" in s["name"]]
    if totals["kernels"] is None:  # what is not known is not shown
        dashboard.shows("figure-duration_ns")
        expect(dashboard.get("figure-kernels")).to_have_count(0)
        expect(dashboard.get("figure-utilization")).to_have_count(0)
    else:
        assert dashboard.figure("kernels") == totals["kernels"]
        assert dashboard.figure("utilization") == now["utilization"]
    account = now["account"]
    if account is not None:
        assert dashboard.busy_ns() == account["window_ns"] - account["idle_ns"]
    if recorded:
        assert dashboard.figure("average_step_ns") == now["average_step_ns"]
    else:
        expect(dashboard.get("figure-average_step_ns")).to_have_count(0)
    assert dashboard.figure("duration_ns") == now["duration_ns"]
    card = dashboard.get("device-use").locator("[data-key]")
    pairs = card.evaluate_all("rows => rows.map(r => [r.dataset.key, r.dataset.value])")
    for key, value in pairs:
        assert number(value) == now["use"][key], key
    known = ("mfu", "product_flops", "samples_per_s", "tokens_per_s")
    assert {key for key in known if now["use"][key] is not None} <= {key for key, _ in pairs}
    kinds = [totals[name] or 0 for name in TOTALS if name != "overlap_ns"]
    if sum(kinds) > (totals["busy_ns"] or 0):  # else they are the classes of time
        shown = {name: totals[name] for name in TOTALS if totals[name]}
        assert bars(dashboard, "totals") == shown
        assert number(dashboard.value("linked")) == totals["linked"]
    else:
        expect(dashboard.get("totals")).to_have_count(0)


@pytest.mark.parametrize(
    "place", [{"run": "ddp"}, {"run": "ddp", "rank": 1}, {"run": "mlp"}, {"run": "mlp", "span": 1}]
)
def test_the_figures_are_those_of_the_result(
    dashboard: Dashboard, place: dict[str, str | int]
) -> None:
    dashboard.open(**place)
    now = result(dashboard, "&".join(f"{k}={v}" for k, v in place.items()))
    same(dashboard, now)
    steps = len(now["steps"])
    if steps < 2:  # a single step compares nothing
        expect(dashboard.get("steps")).to_have_count(0)
        return
    expect(dashboard.get("step-chart")).to_have_attribute("data-bars", str(steps))
    rows = dashboard.rows("steps")
    assert list(rows) == [step["name"] for step in now["steps"]]
    accounts = {one["name"]: one for one in now["account_steps"]}
    for step in now["steps"]:
        cells = rows[step["name"]]
        shown = {column: number(cells[column]) for column in cells if column.endswith("_ns")}
        classes = {f"{c['name']}_ns": c["ns"] for c in accounts[step["name"]]["classes"]}
        known = {"start_ns": step["start_ns"], "duration_ns": step["duration_ns"], **classes}
        assert shown == {column: known.get(column, 0) for column in shown}
        large = {name for name, ns in classes.items() if ns > 0.01 * step["duration_ns"]}
        assert large <= set(shown)


@pytest.mark.parametrize("by", ["operator", "kernel", "module", "function", "annotation"])
@pytest.mark.parametrize("run", ["ddp", "mlp", "host"])
def test_where_the_time_goes_is_that_of_the_result(dashboard: Dashboard, run: str, by: str) -> None:
    found = dashboard.server.plugin(f"hotspots?run={run}&by={by}").json
    settled(dashboard.open(run=run, by=by))
    expect(dashboard.get("hotspots")).to_have_attribute("data-value", str(found["step_ns"]))
    rows = dashboard.get("hotspot-rows").locator("tr[data-key]")
    shown = rows.evaluate_all("rows => rows.map(r => Number(r.dataset.value))")
    assert shown == [row["step_ns"] for row in found["rows"]]
    choices = dashboard.get("hotspots").locator(".segmented button")
    offered = choices.evaluate_all("all => all.map(b => b.dataset.testid)")
    assert offered == [f"group-{one}" for one in found["groups"]]


def test_the_table_is_switched_and_the_address_says_so(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    dashboard.get("group-kernel").click()
    dashboard.shows("hotspots", key="kernel")
    assert dashboard.state()["by"] == "kernel"
    found = dashboard.server.plugin("hotspots?run=ddp&by=kernel").json["rows"]
    dashboard.get("hotspot-rows").locator("a").first.click()
    dashboard.shows("page-kernels")
    assert found[0]["full_name"] or found[0]["name"] in dashboard.state()["filter"]


def test_cards_come_one_by_one_and_fail_one_by_one(dashboard: Dashboard) -> None:
    dashboard.watch.expected.append("status of 500")
    body = '{"error": {"code": "internal", "message": "No hotspots.", "hint": null}}'
    pattern = "**/hotspots?**"
    dashboard.page.route(pattern, lambda route: route.fulfill(status=500, body=body))
    settled(dashboard.open(run="ddp"))
    dashboard.shows("account")
    dashboard.shows("best")
    error = dashboard.shows("card-error", code="internal")
    expect(error).to_contain_text("No hotspots.")
    dashboard.page.unroute(pattern)
    dashboard.get("retry").click()
    dashboard.shows("hotspots")


def test_a_selected_step_has_its_own_figures(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", step=1)
    now = result(dashboard, "run=ddp&step=1")
    same(dashboard, now)
    (step,) = [s for s in now["steps"] if s["name"] == "ProfilerStep#1"]
    assert dashboard.figure("step_ns") == step["duration_ns"]
    dashboard.get("clear-step").click()
    expect(dashboard.get("clear-step")).to_have_count(0)
    same(dashboard, result(dashboard, "run=ddp"))
    assert "step" not in dashboard.state()


def test_a_click_on_a_step_selects_it(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp")
    dashboard.get("table-steps").locator('tr[data-key="ProfilerStep#2"]').click()
    dashboard.shows("step-picker", value=2)
    assert dashboard.state()["step"] == "2"
    same(dashboard, result(dashboard, "run=ddp&step=2"))


def test_a_step_is_chosen_without_leaving_the_place(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    dashboard.page.set_viewport_size({"width": 1400, "height": 600})
    where = "() => document.querySelector('main').scrollTop"
    table = dashboard.get("table-steps")
    table.locator('tr[data-key="ProfilerStep#2"]').scroll_into_view_if_needed()
    dashboard.frame.evaluate("document.querySelector('main').scrollTop += 20")
    before = dashboard.frame.evaluate(where)
    assert before > 0
    table.locator('tr[data-key="ProfilerStep#2"]').click()
    dashboard.shows("step-picker", value=2)
    dashboard.rests()
    assert dashboard.frame.evaluate(where) == before
    assert dashboard.frame.evaluate("document.activeElement !== document.body")


def test_measured_and_inferred_look_different(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    badge = dashboard.shows("source-badge", timeline="measured")
    expect(badge).to_have_text("measured")
    assert dashboard.inside.locator(".sharebar.inferred").count() == 0
    badge.click()
    expect(dashboard.get("source-badge-panel")).to_contain_text("Device times were measured")

    settled(dashboard.open(run="mlp"))
    badge = dashboard.shows("source-badge", timeline="inferred")
    expect(badge).to_contain_text("inferred")
    assert dashboard.inside.locator(".sharebar.inferred").count() > 0
    badge.click()
    panel = dashboard.get("source-badge-panel")
    expect(panel).to_contain_text("± says how far off they may be")
    expect(panel.get_by_role("table")).to_have_count(0)


def test_a_trace_without_device_times_is_explained(dashboard: Dashboard) -> None:
    dashboard.open(run="host")
    dashboard.shows("source-badge", timeline="none")
    same(dashboard, result(dashboard, "run=host"))
    for view in ("overview", "operators", "kernels"):
        dashboard.go_to(view)
        dashboard.shows(f"page-{view}")
        expect(dashboard.shows("no-device-times")).to_contain_text("host activity only")
    assert dashboard.get("table-kernels").count() == 0


def test_facts_and_findings_are_shown(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="recording")
    now = result(dashboard, "run=mlp")
    dashboard.shows("page-recording")
    # Waits for the list: the page is there before its trace is read.
    expect(dashboard.get("files").locator("li")).to_have_text(now["provenance"]["files"])
    codes = [finding["code"] for finding in now["provenance"]["warnings"]]
    assert dashboard.value("findings-badge") == str(len(codes))
    shown = dashboard.shows("table-findings", rows=len(codes)).locator("tr[data-code]")
    found = shown.evaluate_all("rows => rows.map(r => r.dataset.code)")
    assert sorted(found) == sorted(codes)
    facts = dashboard.get("run-facts").locator("[data-key]")
    assert facts.count() == len(now["run"])


def times(dashboard: Dashboard, testid: str) -> dict[str, float | None]:
    """The time of each class in the bar or the table of the account."""
    found = dashboard.get(testid).locator("[data-key]")
    pairs = found.evaluate_all("all => all.map(e => [e.dataset.key, e.dataset.value])")
    return {key: number(value) for key, value in pairs}


@pytest.mark.parametrize(
    "place", [{"run": "ddp"}, {"run": "ddp", "step": 1}, {"run": "mlp"}, {"run": "mlp", "span": 1}]
)
def test_the_classes_of_time_are_those_of_the_result_and_sum_to_the_window(
    dashboard: Dashboard, place: dict[str, str | int]
) -> None:
    dashboard.open(**place)
    account = result(dashboard, "&".join(f"{k}={v}" for k, v in place.items()))["account"]
    assert number(dashboard.value("account")) == account["window_ns"]
    classes = {row["name"]: row["ns"] for row in account["classes"]}
    assert sum(classes.values()) == account["window_ns"]
    assert times(dashboard, "account-classes") == classes
    assert times(dashboard, "account-bar") == classes
    share = sum(row["ns"] for row in account["classes"] if row["group"] != "device")
    assert share == account["idle_ns"]


@pytest.mark.parametrize("run", ["ddp", "mlp"])
def test_the_longest_interval_of_a_class_is_shown_on_the_timeline(
    dashboard: Dashboard, run: str
) -> None:
    dashboard.open(run=run).shows("account-classes")
    row = max(result(dashboard, f"run={run}")["account"]["classes"], key=lambda r: r["ns"])
    dashboard.get(f"account-to-{row['name']}").click()
    dashboard.shows("page-timeline")
    longest = row["largest"][0]
    first, _, last = dashboard.state()["range"].partition("..")
    assert int(first) <= longest["start_ns"]
    assert longest["start_ns"] + longest["duration_ns"] <= int(last)


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_class_opens_to_its_names_and_longest_intervals(dashboard: Dashboard, key: str) -> None:
    settled(dashboard.open(run="mlp"))
    row = max(result(dashboard, "run=mlp")["account"]["classes"], key=lambda r: r["ns"])
    button = dashboard.get(f"account-open-{row['name']}")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.press(key)
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(button).to_be_focused()
    details = dashboard.get(f"account-details-{row['name']}")
    names = details.locator("[data-part]").evaluate_all("rows => rows.map(r => r.dataset.part)")
    assert names == [part["name"] for part in row["parts"]]
    starts = details.locator("[data-start]").evaluate_all("rows => rows.map(r => r.dataset.start)")
    assert [int(start) for start in starts] == [one["start_ns"] for one in row["largest"]]
    button.press(key)
    expect(details).to_have_count(0)


def test_an_interval_opens_the_timeline_at_its_event(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="mlp"))
    rows = result(dashboard, "run=mlp")["account"]["classes"]
    row = next(r for r in rows if r["largest"][0]["table"] is not None)
    dashboard.get(f"account-open-{row['name']}").click()
    details = dashboard.get(f"account-details-{row['name']}")
    details.get_by_test_id("interval").first.click()
    dashboard.shows("page-timeline")
    longest = row["largest"][0]
    assert dashboard.state()["item"] == f"{longest['table']}:{longest['row']}"


def test_the_operators_that_ended_idle_time_are_those_of_the_result(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp").shows("idle-before")
    before = result(dashboard, "run=mlp")["idle_before"]
    named = [row["name"] for row in before if row["share"] >= 0.001][:6]
    assert list(bars(dashboard, "idle-before")) == named


def test_many_phases_are_shown_by_their_kind(dashboard: Dashboard) -> None:
    """A recording that compiles now and then has dozens of them."""
    phases = [
        {"kind": kind, "start_ns": at, "end_ns": at + length, "sentence": None}
        for at in range(0, 1000, 100)
        for kind, length in (("steady", 90), ("compilation", 10))
    ]

    def often(route: Route) -> None:
        answer = route.fetch().json()
        if answer.get("recording"):
            answer["recording"]["phases"] = phases
        route.fulfill(json=answer)

    dashboard.page.route("**/overview?**", often)
    settled(dashboard.open(run="ddp"))
    shown = dashboard.shows("phases").locator("li")
    expect(shown).to_have_count(2)
    expect(shown.nth(0)).to_have_attribute("data-value", "900")
    expect(shown.nth(1)).to_contain_text("compilation 100 ns in 10 parts")


def test_the_most_valuable_findings_lead_to_the_advice(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp")
    rows = dashboard.server.plugin("advice?run=mlp").json["rows"]
    best = [(row["rule"], row["saving_ns"]) for row in rows if row["saving_ns"] is not None][:3]
    found = dashboard.shows("best", value=len(best)).locator("li[data-key]")
    pairs = found.evaluate_all("rows => rows.map(r => [r.dataset.key, Number(r.dataset.value)])")
    assert [tuple(pair) for pair in pairs] == best
    dashboard.get("to-advice").click()
    dashboard.shows("page-advice")


def test_the_average_step_is_that_of_the_result_and_has_the_selected_one_beside_it(
    dashboard: Dashboard,
) -> None:
    dashboard.open(run="mlp")
    now = result(dashboard, "run=mlp")
    dashboard.get("open-averages").click()
    expect(dashboard.get("averages").locator("tr[data-key='duration']")).to_be_visible()
    rows = bars(dashboard, "averages")
    assert rows.pop("duration") == now["average_step_ns"]
    assert rows == {a["part"]: a["mean_ns"] for a in now["averages"] if a["max_ns"] > 0}
    number_of = now["steps"][0]["name"].rpartition("#")[2]
    dashboard.open(run="mlp", step=int(number_of))
    head = dashboard.get("averages").locator("th")
    expect(head.filter(has_text=f"Step {number_of}")).to_have_count(1)
    expect(head.filter(has_text="Difference")).to_have_count(1)


@pytest.mark.parametrize("run", ["ddp", "mlp", "host"])
def test_the_verdict_is_one_sentence_with_its_longest_interval(
    dashboard: Dashboard, run: str
) -> None:
    dashboard.open(run=run)
    verdict = result(dashboard, f"run={run}")["verdict"]
    line = dashboard.get("verdict")
    assert line.get_attribute("data-key") == verdict["kind"]
    assert verdict["sentence"] in line.inner_text()
    dashboard.get("verdict-interval").click()
    dashboard.shows("page-timeline")


@pytest.mark.parametrize("run", ["ddp", "mlp", "host"])
def test_the_first_line_says_what_kind_of_recording_it_is(dashboard: Dashboard, run: str) -> None:
    dashboard.open(run=run)
    recording = result(dashboard, f"run={run}")["recording"]
    line = dashboard.get("recording")
    assert line.get_attribute("data-key") == recording["kind"]
    assert recording["sentence"] in line.inner_text()
    phases = dashboard.get("phases").locator("li[data-key]")
    kinds = phases.evaluate_all("rows => rows.map(r => r.dataset.key)")
    shown = [phase["kind"] for phase in recording["phases"]]
    assert kinds == (shown if set(shown) != {"steady"} else [])
    if kinds:
        phases.locator("a").first.click()
        dashboard.shows("page-timeline")
