"""All pages of the dashboard, and the states in which they have something open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from playwright.sync_api import expect

from tests.support.axe import settled
from tests.support.dashboard import Dashboard

PAGES = (
    "overview", "advice", "whatif", "timeline", "operators", "kernels", "runtime", "roofline",
    "memory", "modules", "counters", "flame", "distributed", "diff", "history", "recording", "sql",
)  # fmt: skip
"""In the order of the rail."""

Open = Callable[[Dashboard], object]


def pressing(testid: str) -> Open:
    return lambda d: d.get(testid).first.click()


def showing(testid: str) -> Open:
    return lambda d: d.shows(testid)


def listing(table: str) -> Open:
    return lambda d: d.rows(table)


def first_row(table: str) -> Open:
    return lambda d: d.get(f"table-{table}").locator("tbody tr[data-key]").first.click()


STATES: dict[str, tuple[str, Open]] = {
    "keys": ("run=ddp", pressing("help-open")),
    "record": ("run=ddp view=kernels event=kernels/0", showing("record-name")),
    "run picker": ("run=ddp", pressing("run-picker")),
    "step picker": ("run=ddp", pressing("step-picker")),
    "source": ("run=mlp", pressing("source-badge")),
    "findings": ("run=mlp", pressing("findings-badge")),
    "columns": ("run=ddp view=operators", pressing("columns")),
    "filter error": ("run=ddp view=operators", lambda d: d.get("filter").fill("calls > many")),
    "no rows": ("run=ddp view=operators filter=nothing_like_it", showing("no-rows")),
    "activities": ("run=ddp view=kernels", pressing("drill")),
    "operator": ("run=ddp view=operators", first_row("operators")),
    "stack": ("run=ddp view=operators group=stack", first_row("operators")),
    "raw record": (
        "run=ddp event=kernels/0",
        lambda d: d.get("part-record").locator("summary").click(),
    ),
    "memory event": ("run=mlp event=memory/0", showing("record-name")),
    "range": ("run=ddp view=timeline item=kernels:3", showing("details-name")),
    "export": ("run=ddp view=timeline", pressing("export")),
    **{
        f"selection by {tab}": (
            f"run=ddp view=timeline area=0..90000000 group={tab}",
            showing(f"table-area-{tab}"),
        )
        for tab in ("operators", "callers", "streams", "idle", "calls")
    },
    "selection by counters": (
        "run=host view=timeline area=0..900000 group=counters",
        showing("table-area-counters"),
    ),
    "counters by step": ("run=host view=counters", listing("counters")),
    "selection's flame graph": (
        "run=ddp view=timeline area=0..90000000 group=flame",
        showing("flamegraph"),
    ),
    "notes": ("run=ddp view=timeline notes=1000000~slow", pressing("notes")),
    "two recordings": (
        "run=ddp view=timeline compare=1 base=mlp",
        lambda d: d.get("rank-head").last.wait_for(),
    ),
    "collectives": ("run=ddp view=distributed group=collectives", listing("collectives")),
    "steps of ranks": ("run=ddp view=distributed group=steps", listing("rank-steps")),
    "reasons of a change": ("run=mlp view=diff base=ddp", showing("why-sum")),
    "compared row": (
        "run=ddp view=diff base=ddp baserank=1",
        lambda d: (first_row("diff")(d), d.shows("diff-row-sides")),
    ),
    "changed modules": ("run=ddp view=diff base=ddp baserank=1 group=modules", listing("diff")),
    "changed memory": ("run=ddp view=diff base=mlp group=memory", listing("diff-memory")),
    "changed steps": ("run=ddp view=diff base=mlp group=steps", listing("diff-steps")),
    "picked runs": ("run=ddp view=history", first_row("history")),
    "bottom-up": ("run=ddp view=flame tree=bottom_up", showing("flamegraph")),
    "sandwich": ("run=ddp view=flame frame=Linear_0", showing("sandwich")),
    "ignored frames": ("run=ddp view=flame by=host", pressing("ignore")),
    "changed call tree": ("run=ddp view=diff base=mlp group=flame", showing("flamegraph-diff")),
    "point": ("run=ddp view=roofline by=kernel", first_row("roofline")),
    "outliers": ("run=ddp view=roofline list=outliers", showing("table-outliers")),
    "roofs": ("run=ddp view=roofline list=roofs", showing("table-roofs")),
    "live by function": ("run=mlp view=memory group=alive_functions", listing("alive-functions")),
    "not freed": ("run=mlp view=memory group=remaining", listing("memory-remaining")),
    "allocations": ("run=mlp view=memory group=allocations", listing("allocations")),
    "quality": ("run=mlp view=recording section=quality", showing("table-findings")),
    "method": ("run=mlp view=recording section=method", showing("method-evidence")),
    "record now": (
        "run=mlp view=recording",
        lambda d: (d.get("record-open").click(), d.shows("record-off")),
    ),
    "no device times": ("run=host", showing("no-device-times")),
    "unreadable": ("run=unreadable", showing("error")),
    "unknown run": ("run=nowhere", showing("error")),
}

_OPEN = '[role="dialog"], dialog[open]'


def each_page(dashboard: Dashboard, run: str, base: str) -> Iterator[str]:
    """Turn to each page of a run, and yield its name once nothing of it is on its way.

    The frame is loaded once: loading takes four times as long as turning, and what a check compiles
    is lost with it. So it is in ``each_state``.
    """
    dashboard.open(run=run, base=base)
    for name in PAGES:
        with _named(f"on the page {name} of {run}"):
            dashboard.turn_to(name, run=run, base=base)
            settled(dashboard)
        yield name


def each_state(dashboard: Dashboard, names: Iterable[str] = STATES) -> Iterator[str]:
    """Bring the dashboard into each state, and yield its name once nothing is on its way."""
    dashboard.watch.expected.append("status of 4")
    dashboard.open(run="ddp")
    for name in names:
        where, open_it = STATES[name]
        with _named(f"in the state {name!r}"):
            dashboard.page.keyboard.press("Escape")
            expect(dashboard.inside.locator(_OPEN)).to_have_count(0)
            dashboard.page.goto(dashboard.address(**dict(w.split("=", 1) for w in where.split())))
            dashboard.drawn()
            open_it(settled(dashboard))
            settled(dashboard)
        yield name


@contextlib.contextmanager
def _named(where: str) -> Iterator[None]:
    """Add to what is raised where the dashboard was."""
    try:
        yield
    except BaseException as error:
        error.add_note(where)
        raise
