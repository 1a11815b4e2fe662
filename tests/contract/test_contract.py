"""What a new view, vendor, format, figure or dependency forgot.

Every kind of thing has a registry; here each registry is held against the files, tests and
documents that belong to its entries, in both directions. Whether ``types.ts`` is fresh is in
``test_schema.py``, whether every view is a route in ``test_routes.py``.
"""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from tb_privateuse1.discovery import catalog
from tb_privateuse1.export.reports import csv
from tb_privateuse1.readers import READERS
from tb_privateuse1.server import typescript
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors import VENDORS
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views import result as views_result
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.result import is_struct
from tests.support.results import result as result_of
from tests.support.sources import FILES, PACKAGE, nodes
from tools import scaffold

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LONGEST = 400
CODE = {".py", ".ts", ".tsx", ".css", ".cpp", ".h"}


def files(folder: str, *without: str) -> set[str]:
    """The names of a layer's files, less its ``__init__``."""
    found = {path.stem for path in (PACKAGE / folder).glob("*.py")}
    return found - {"__init__", *without}


AROUND_VIEWS = (
    "computations", "encoding", "methods", "packing", "rank_rows", "reader", "reduced_traces",
    "request", "result", "shared_options", "signature", "sorting", "user_models",
)  # fmt: skip
"""Modules of the room that are no view."""


_SECTIONS = {
    "quality": "recording",
    "method": "recording",
    "serving": "overview",
    "compilation": "overview",
}
"""Views that are sections of another page."""


PAGE_LINE = "a line in frontend/src/pages/index.ts"


def headings(document: str) -> list[str]:
    """The second-level headings of a document."""
    return re.findall(r"^## (.+)$", (DOCS / document).read_text(), re.MULTILINE)


def test_every_view_is_registered() -> None:
    wanted = "a line in tb_privateuse1/views/__init__.py"
    assert sorted(VIEWS) == sorted(files("views", *AROUND_VIEWS)), wanted


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_complete(name: str) -> None:
    view = VIEWS[name]
    assert (view.__name__, view.__module__) == (name, f"tb_privateuse1.views.{name}")
    assert view.__doc__
    assert name in headings("guide/pages.md"), "a section in docs/guide/pages.md"
    assert (ROOT / "tests/unit/views" / f"test_{name}.py").exists(), "a test in tests/unit/views"
    pages = ROOT / "frontend" / "src" / "pages"
    if name in _SECTIONS:
        assert (pages / _SECTIONS[name] / f"{name}.tsx").exists()
        return
    assert (pages / name / "index.tsx").exists(), "a page in frontend/src/pages"
    used = set(re.findall(r"\bt\.(\w+)", (pages / name / "index.tsx").read_text()))
    assert used <= english_texts(), (
        "texts in frontend/src/i18n/en/pages, and their line in index.ts"
    )
    registry = (pages / "index.ts").read_text()
    assert re.search(rf'(from |import\()"\./{name}"', registry), PAGE_LINE
    assert re.search(rf"^  {name}: {{", registry, re.MULTILINE), PAGE_LINE


def english_texts() -> set[str]:
    """The names of the texts that ``frontend/src/i18n/en/index.ts`` joins."""
    folder = ROOT / "frontend" / "src" / "i18n" / "en"
    joined = re.findall(r'from "\./([\w/-]+)"', (folder / "index.ts").read_text())
    found = [folder / f"{one}{suffix}" for one in joined for suffix in (".ts", ".tsx")]
    texts = (path.read_text() for path in found if path.exists())
    return {name for text in texts for name in re.findall(r"export const (\w+)", text)}


@pytest.mark.parametrize("name", [*VIEWS, *LOOKUPS])
def test_every_option_has_its_line(name: str) -> None:
    """For the command line's help and docs/reference/options.md."""
    for option in signature.options_of({**VIEWS, **LOOKUPS}[name]):
        line = option["help"]
        assert re.fullmatch(r"[a-z](.*[^.\s])?", line), f"{option['name']}: Annotated[…, 'a line']"
        assert len(line) <= 90


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_lookup_is_complete(name: str) -> None:
    lookup = LOOKUPS[name]
    assert (lookup.__name__, lookup.__module__) == (name, f"tb_privateuse1.views.lookups.{name}")
    assert lookup.__doc__
    assert f"`{name}`" in (DOCS / "guide/pages.md").read_text()
    assert (ROOT / "tests" / "unit" / "views" / "lookups" / f"test_{name}.py").exists()


def test_every_lookup_is_registered() -> None:
    assert sorted(LOOKUPS) == sorted(files("views/lookups", "event_items"))


def test_the_documented_views_exist() -> None:
    assert headings("guide/pages.md") == list(VIEWS), "a section in docs/guide/pages.md"


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_answers_on_an_empty_trace(name: str) -> None:
    result = result_of(VIEWS[name], Trace())
    assert json.loads(encode(result))["provenance"]["timeline"] == "none"
    assert not list(not_finite(result))


@pytest.mark.parametrize("name", VIEWS)
def test_a_result_has_tables(name: str) -> None:
    """For CSV, Arrow and notebooks: each of its tables, also without a row."""
    result = result_of(VIEWS[name], Trace())
    assert isinstance(result, views_result.Result)
    main, _ = views_result.tables_of(type(result))
    for table in result.tables:
        heads = csv.csv_table(result, table).splitlines()[0].split(",")
        names = result.to_arrow(table).column_names
        # A file leaves the page, so that it says of what its figures are.
        of_one = getattr(getattr(result, "provenance", None), "window", None) is not None
        windows = ["window"] if of_one else []  # recordings of several ranks or runs have several
        windows += ["base_window"] if name == "diff" else []
        assert heads == [*names, *windows]
    assert result.to_arrow() == result.to_arrow(main)
    assert type(result).__name__ in result._repr_html_()


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("run", ["ddp", "host", "mlp"])
def test_no_view_says_nan(name: str, run: str, logdir: Path) -> None:
    """JSON has none: it would be written as null, which means something else."""
    trace = Store(jobs=0).trace(catalog.scan(str(logdir), READERS).find(run))
    assert not list(not_finite(result_of(VIEWS[name], trace)))


def not_finite(value: Any, where: str = "") -> Iterator[str]:
    """The paths of all floats in a result that are no numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        yield where
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from not_finite(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, tuple | np.ndarray):
        for i, item in enumerate(value):
            yield from not_finite(item, f"{where}[{i}]")


def test_not_finite_finds() -> None:
    class Row(Struct):
        share: float

    assert list(not_finite((Row(0.5), Row(math.nan), Row(math.inf)))) == ["[1].share", "[2].share"]


def figures(kind: Any) -> Iterator[str]:
    """The names of the numbers in a result dataclass, and in those inside it."""
    for name, hint in typing.get_type_hints(kind).items():
        for part in [hint, *typing.get_args(hint)]:
            if part in (int, float):
                yield name
            elif is_struct(part):
                yield from figures(part)


SHARED = ("Time", "The window", "Device activities", "Bounds", "Links", "Quality", "Provenance")
"""Sections of the definitions whose figures are on several pages."""
IN_ANY_TABLE = {"rows", "total_rows", "calls", "longest_row", "parent", "bounded_share"}
SECTIONS: dict[str, tuple[str, ...]] = {
    "overview": (
        "Steps",
        "Work and roofs",
        "Account of time",
        "Functions of the program",
        "Method",
    ),
    "advice": ("Advice", "Functions of the program", "Steps"),
    "whatif": ("What if",),
    "timeline": ("Timeline",),
    "operators": ("Operators", "Work and roofs"),
    "kernels": ("Kernels", "Work and roofs"),
    "runtime": ("Runtime calls",),
    "roofline": ("Roofline", "Work and roofs", "Operators"),
    "memory": ("Memory",),
    "modules": ("Modules", "Work and roofs"),
    "counters": ("Timeline", "Operators"),
    "flame": ("Flame graph",),
    "distributed": ("Ranks", "Steps", "Account of time"),
    "diff": ("Differences", "Memory"),
    "history": ("Recordings over time", "Ranks", "Work and roofs", "Timeline"),
    "quality": (),
    "method": ("Method",),
}
"""Where the figures of a view are defined, besides ``SHARED``: a word of another page's section is
no definition. A view without a line has the section of its title."""


@pytest.mark.parametrize("name", VIEWS)
def test_every_figure_is_defined(name: str) -> None:
    text = (DOCS / "reference/definitions.md").read_text()
    parts = (part.partition("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
    words = {heading: set(re.findall(r"`(\w+)`", part)) for heading, _, part in parts}
    own = SECTIONS.get(name, (scaffold.sentence(name),))
    defined = IN_ANY_TABLE.union(*(words.get(section, set()) for section in (*SHARED, *own)))
    shown = set(figures(typing.get_type_hints(VIEWS[name])["return"]))
    assert len(shown) > 5
    wanted = f"a line in docs/reference/definitions.md, section {own}"
    assert sorted(shown - defined) == [], wanted


def test_every_vendor_is_registered() -> None:
    around = ("user_file", "device_types")
    expected = {*files("vendors", *around), "generic"}
    found = sorted(vendor.name for vendor in VENDORS)
    assert found == sorted(expected), "a line in tb_privateuse1/vendors/__init__.py"


def test_every_vendor_has_its_row() -> None:
    text = (DOCS / "reference/vendors.md").read_text().partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    names = sorted(vendor.name for vendor in VENDORS)
    assert sorted(rows) == names, "a row in docs/reference/vendors.md"


@pytest.mark.parametrize("folder", ["readers", "export", "advice/rules", "advice/rank_rules"])
def test_every_format_and_rule_has_a_test(folder: str) -> None:
    tests = {path.stem for path in (ROOT / "tests" / "unit" / folder).glob("test_*.py")}
    other = {"formats", "query", "raw", "reader", "decompress", "rule", "rank_rule"}
    """Types, and what is tested through the routes and the readers."""
    missing = {name for name in files(folder) if f"test_{name}" not in tests} - other
    assert missing == set(), f"a test in tests/unit/{folder}"


def test_tests_mirror_the_package() -> None:
    """A test file of a module lies in the module's room, under the module's name."""
    rooms = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_dir()}
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert folders <= rooms | {Path()}


def test_every_dependency_has_its_reason() -> None:
    rows = re.findall(
        r"^\| ([\w@/.-]+) \|", (DOCS / "internals/dependencies.md").read_text(), re.MULTILINE
    )
    documented = set(rows) - {"package"}  # the tables' heads
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[^\w.-]", line)[0] for line in project["dependencies"]}
    package = json.loads((ROOT / "frontend" / "package.json").read_text())
    assert needed | set(package["dependencies"]) == documented


def sources() -> list[Path]:
    """Every source file, tracked or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    paths = [ROOT / name for name in names if Path(name).suffix in CODE]
    return [path for path in paths if path.exists()]


def test_no_file_is_long() -> None:
    found = sources()
    assert PACKAGE / "trace" / "model.py" in found
    written = [path for path in found if path != typescript.API]  # that one is generated
    lines = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in written}
    assert {name: n for name, n in lines.items() if n > LONGEST} == {}


@pytest.mark.long
def test_no_function_is_long() -> None:
    """A function has at most 60 lines, with its signature and documentation."""
    found = {
        f"{module}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for module, path in FILES.items()
        for node in nodes(path.read_text())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in found.items() if lines > 60} == {}
