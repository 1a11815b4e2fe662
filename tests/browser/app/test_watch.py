"""The checks that every browser test ends with find what they are for."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.dashboard import Dashboard
from tests.support.server import Server


def test_what_goes_wrong_is_noticed(
    visit: Callable[[Server], Dashboard], tensorboard: Server
) -> None:
    dashboard = visit(tensorboard)
    page, complaints = dashboard.page, dashboard.watch.complaints
    page.goto(tensorboard.url + "data/plugin/privateuse1/runs")
    dashboard.watch.expected += ["404 .*/favicon.ico", "ERR_", "on purpose"]
    page.evaluate("console.error('on purpose')")
    assert complaints == []
    page.evaluate("console.error('broken')")
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => null)")
    page.evaluate("alert('boo')")
    page.evaluate("new Promise(done => { setTimeout(done, 50); setTimeout(() => nothing(), 0) })")
    kinds = ("console: broken", "a request to http://127.0.0.1:9/", "a dialog: boo", "page error")
    for kind in kinds:
        assert any(kind in complaint for complaint in complaints), kind
    assert len(complaints) == len(kinds)
    complaints.clear()
