"""A report as a file: its policy, its size, its data, and no markup from a trace."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.export.reports.html import document
from tests.support import logdir, make
from tests.support.make import Event

STEPS = 2200
NASTY = '</script><img src=x onerror="alert(1)"><!--\u2028'


class Elements(HTMLParser):
    """The elements of a document: their attributes, and the text in each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.is_open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))
        self.is_open = True

    def handle_endtag(self, tag: str) -> None:
        self.is_open = False

    def handle_data(self, data: str) -> None:
        if self.is_open:
            self.found[-1][2].append(data)

    def text(self, tag: str, **attributes: str) -> str:
        """Return the text of the only element with these attributes."""
        [texts] = [
            texts
            for name, own, texts in self.found
            if name == tag and all(own.get(key) == value for key, value in attributes.items())
        ]
        return "".join(texts)

    def data(self) -> Any:
        return json.loads(self.text("script", id="data"))


@pytest.fixture(scope="module", autouse=True)
def bundle() -> Iterator[None]:
    """The script is made by npm: not every test has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_bundle", lambda name: f"/* {name} */")
        yield


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logdir.write(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def mlp(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Elements:
    """The report of one run."""
    return report(log, "--run", "mlp", out=tmp_path_factory.mktemp("out") / "r.html")


def report(*arguments: str | Path, out: Path) -> Elements:
    assert cli.main(["report", *map(str, arguments), "-o", str(out)]) == 0
    return Elements(out.read_text("utf-8"))


@pytest.mark.long
def test_it_has_the_views_results(
    log: Path, mlp: Elements, capsys: pytest.CaptureFixture[str]
) -> None:
    data = mlp.data()
    capsys.readouterr()
    for view in ("overview", "advice", "method"):
        assert cli.main(["view", view, str(log), "--run", "mlp", "--json"]) == 0
        assert data["trace"][view] == json.loads(capsys.readouterr().out)
    for table in data["trace"]["hotspots"]:
        options = ["--by", table["by"], "--limit", "12"]
        assert cli.main(["view", "hotspots", str(log), "--run", "mlp", *options, "--json"]) == 0
        assert table["result"] == json.loads(capsys.readouterr().out)
    steps = data["trace"]["overview"]["steps"]
    counts = data["trace"]["step_counts"]
    assert counts["complete"] + counts["incomplete"] + counts["primed"] == len(steps)
    assert data["cuts"] == []


def test_levels_hold_the_timeline(mlp: Elements) -> None:
    data = mlp.data()
    levels = data["timeline"]["levels"]
    assert levels[0]["kind"] == "whole"
    window = levels[0]["start_ns"], levels[0]["stop_ns"]
    assert window == (0, data["trace"]["overview"]["duration_ns"])
    for level in levels:
        packed = zlib.decompress(base64.b64decode(mlp.text("script", id=level["id"])))
        head = json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])
        assert head["rectangles"]["count"]["$column"][2] == level["rectangles"]
        assert (head["start_ns"], head["stop_ns"]) == (level["start_ns"], level["stop_ns"])


def test_nothing_can_be_loaded(mlp: Elements) -> None:
    [policy] = [own["content"] or "" for _, own, _ in mlp.found if own.get("http-equiv")]
    for directive, element in (("script-src", "script"), ("style-src", "style")):
        kind = {"type": "module"} if element == "script" else {}
        digest = hashlib.sha256(mlp.text(element, **kind).encode()).digest()
        assert f"{directive} 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src" not in policy
    assert "unsafe" not in policy
    assert not [own for _, own, _ in mlp.found if own.keys() & {"src", "href"}]


def test_text_of_a_trace_is_no_markup(tmp_path: Path) -> None:
    events = [event for i in range(3) for event in _step(i, NASTY)]
    trace = tmp_path / "log" / "a&b<i>" / "w.1.pt.trace.json"
    trace.parent.mkdir(parents=True)
    trace.write_text(json.dumps(make.document(*events)))
    page = report(tmp_path / "log", out=tmp_path / "r.html")
    tags = [tag for tag, _, _ in page.found]
    assert set(tags) <= {"html", "head", "meta", "title", "style", "body", "noscript", "p", "pre",
                         "div", "script"}  # fmt: skip
    assert page.text("title") == "a&b<i>"
    names = [row["name"] for row in page.data()["trace"]["hotspots"][0]["result"]["rows"]]
    assert NASTY in names


@pytest.mark.long
def test_a_hostile_recording_fits(tmp_path: Path) -> None:
    events = [event for i in range(STEPS) for event in _step(i, f"{i}{NASTY * 5}", "k" * 80)]
    trace = tmp_path / "log" / "w.1.pt.trace.json"
    trace.parent.mkdir()
    trace.write_text(json.dumps(make.document(*events)))
    out = tmp_path / "r.html"
    data = report(tmp_path / "log", out=out).data()
    assert out.stat().st_size < document.MOST_BYTES - 400_000  # the bundle's share
    assert data["trace"]["step_counts"]["numbered"] == STEPS
    [steps] = [cut for cut in data["cuts"] if cut["name"] == "trace.overview.steps"]
    assert steps["total"] == STEPS
    assert steps["shown"] == len(data["trace"]["overview"]["steps"])
    assert data["timeline"]["levels"]


@pytest.mark.long
def test_a_diff(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--run", "mlp", "--base-run", "ddp"]
    data = report(log, log, *places, out=tmp_path / "d.html").data()
    capsys.readouterr()
    assert data["trace"] is None
    assert (data["diff"]["base"]["run"], data["diff"]["place"]["run"]) == ("ddp", "mlp")
    assert cli.main(["diff", str(log), str(log), *places, "--limit", "12", "--json"]) == 0
    assert data["diff"]["diffs"][0] == json.loads(capsys.readouterr().out)
    assert data["command"] == f"tb-privateuse1 report {log} {log} --run mlp --base-run ddp"


@pytest.mark.long
def test_all_ranks_are_in_it(log: Path, tmp_path: Path) -> None:
    trace = report(log, "--run", "ddp", "--rank", "1", out=tmp_path / "r.html").data()["trace"]
    assert trace["place"]["rank"] == 1
    assert [row["rank"] for row in trace["distributed"]["rows"]] == trace["place"]["ranks"]


@pytest.mark.long
def test_chinese(log: Path, tmp_path: Path) -> None:
    page = report(log, "--run", "mlp", "--language", "zh", out=tmp_path / "r.html")
    assert re.search("[\u3400-\u9fff]", page.data()["trace"]["overview"]["recording"]["sentence"])
    assert page.found[0][1]["lang"] == "zh"


def test_files_have_digests_and_no_path(log: Path, mlp: Elements) -> None:
    [file, *_] = mlp.data()["trace"]["place"]["files"]
    [path] = log.rglob(file["name"])
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert file["bytes"] == path.stat().st_size


def _step(i: int, name: str, kernel: str = NASTY) -> list[Event]:
    at = 1000 * i
    return [
        make.step(i, at, at + 900),
        make.op(name, at, at + 400),
        make.launch(at + 1, at + 2, i),
        make.kernel(f"{kernel}{i}", at + 10, at + 300, i),
    ]
