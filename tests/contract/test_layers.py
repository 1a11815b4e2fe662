"""Who may import whom, as a table.

A line's modules import only lines above it, never each other. ``name/`` is a folder: its files
import of each other only ``base``, and its ``__init__`` may import all of them; a module of the
folder that has a line of its own goes by that one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tb_privateuse1"
NAME = PACKAGE.name

LAYERS = """
version texts
vendors/
table findings grounds opkinds devicetypes errors blockingnames
checkpoints configs memory_budget
trace
once
figures
tables
intervals rectangles
grouping
chain
vendor_file
forms
curves
certainty
breakdown describe allocations pyramid calltree launchtimes waits
stepbounds looks
modulenames
steptable limits regions idle
tracklist phases memorydevices opgroups opfigures kernelgroups
lasting
categories
multiprocessors
allocators counters rankhost
ranks
bandwidth clocks stragglers ranksteps ranknotes compare idletable
perstep memorydiff
bottleneck judged
replay handing excerpt
pauses
dependencies
changes criticalpath
prediction
gains mending
pool processes memorylimit
remote.address
remote.problem
remote.server
remote.listing
remote.stream
remote
discover.sniff
discover/
files
runs
scanner
read.base read.events read.quality read.buffer read.metadata
read.numbers read.repair read.source read.parts read.interned
read.members
read.times read.windows read.pairs read.decoder
read.document read.columns read.trail
read.chrome read.record
read.kernel_events
read
infer.base
infer.arrows
infer.taskqueue
infer.timeline.base
infer.timeline.pins
infer.timeline.bounds infer.timeline.kind infer.timeline.marks infer.timeline.launchers
infer.timeline.calibrate infer.timeline.catalogue infer.timeline.placement
infer.timeline.queue infer.timeline.scatter infer.timeline.streams
infer.timeline.elsewhere infer.timeline.joins
infer.timeline/ infer.quality/ infer.host
infer/
identity locks
cachedir
arrowfile
cache
pyramidfile
prepared
ingest
readerprocess
jobs failures
store
event
stacks
case
rules/
rule_file
savings
advisor
rankrules/
rankadvice
views/
lookups/
export.window export.nesting export.protobuf export.target
export.packets export.columns
export.tracks
export.chrome export.perfetto export.tablefiles
export/
sql_child
sql
schema
query
computations
reading
static_files perfetto_ui
routes
plugin notebook
loader
cli.base
cli.completion cli.progress
cli.flags cli.selection
cli/
cli.__main__
"""

ALONE = ("capture", "_capture")
"""Run in the training process: they import nothing of ours, and nothing of ours imports them."""

FACE = ""
"""The package itself: it offers ``capture`` and ``open`` and is imported for neither."""

LIBRARIES = {
    "torch": ALONE,
    "tensorboard": ("loader", "plugin", "cli"),
    "werkzeug": ("routes", "static_files", "perfetto_ui"),
    "pyarrow": ("arrowfile", "tables", "export.columns", "export.tablefiles", "sql_child"),
    "duckdb": ("sql_child",),
    "pandas": ("tables",),
    "fsspec": ("remote",),
    "argcomplete": ("cli.completion",),
    "aiohttp": ("remote",),
}
"""Who alone may import a library."""


def modules() -> dict[str, str]:
    """The source of every module by its name below the package: ``views.base``, ``views``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(p for p in parts if p != "__init__")] = path.read_text()
    return found


MODULES = modules()


def lines() -> Iterator[tuple[int, str]]:
    """The table's entries and the number of their line."""
    for number, line in enumerate(LAYERS.split("\n")):
        for entry in line.split():
            yield number, entry


def place(module: str) -> tuple[int, str] | None:
    """A module's line and entry: the most specific one that names it."""
    fitting = [
        (number, entry)
        for number, entry in lines()
        if module == entry.removesuffix("/")
        or (entry.endswith("/") and module.startswith(entry.replace("/", ".")))
    ]
    return max(fitting, key=lambda found: len(found[1]), default=None)


def imports(source: str) -> Iterator[str]:
    """The names of all modules that a source imports, in functions and for types too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            inner = [n for n in names if n.removeprefix(NAME + ".") in MODULES]
            yield from inner or [node.module or ""]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def violations(module: str, source: str) -> list[str]:
    """What a module imports against the table, in words."""
    wrong = []
    for name in imports(source):
        top, _, below = name.partition(".")
        if top == NAME:
            if reason := forbidden(module, below):
                wrong.append(f"{module} imports {below}: {reason}")
        elif top in LIBRARIES and not within(module, LIBRARIES[top]):
            wrong.append(f"{module} imports {top}: only {', '.join(LIBRARIES[top])} may")
    return wrong


def forbidden(module: str, other: str) -> str | None:
    """Why one module of ours may not import another; None if it may."""
    if within(module, ALONE):
        return None if within(other, ALONE) else "it stands alone"
    if module == FACE:
        return None
    if within(other, ALONE) or other == FACE:
        return "nobody imports that"
    mine, theirs = place(module), place(other)
    if mine is None or theirs is None:
        return "one of them is not in the table"
    if mine[1] != theirs[1]:
        return None if theirs[0] < mine[0] else "it is not below"
    folder = mine[1].removesuffix("/")
    return None if module == folder or other == f"{folder}.base" else "they are of one layer"


def within(module: str, names: Iterable[str]) -> bool:
    """Whether a module is one of these, or in a package of these."""
    return any(module == name or module.startswith(name + ".") for name in names)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    assert violations(module, MODULES[module]) == []


def test_the_table_is_complete() -> None:
    listed = {m for m in MODULES if m != FACE and not within(m, ALONE)}
    assert [m for m in listed if place(m) is None] == []


def test_the_table_lists_nothing_else() -> None:
    entries = [entry for _, entry in lines()]
    assert len(entries) == len(set(entries))
    for entry in entries:
        assert any(place(m) == (n, entry) for n, e in lines() if e == entry for m in MODULES), entry


def test_the_loader_needs_only_the_host() -> None:
    """Nobody guards its import: what is imported at module level must not fail."""
    body = ast.parse(MODULES["loader"]).body
    top = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = [name for node in top for name in imports(ast.unparse(node))]
    assert sorted(names) == ["__future__", "logging", "tensorboard.plugins", "typing"]


@pytest.mark.parametrize(
    ("module", "source", "says"),
    [
        ("trace", "from tb_privateuse1 import intervals", "trace imports intervals: it is not"),
        ("trace", "import tb_privateuse1.views.base", "trace imports views.base: it is not below"),
        ("store", "def f():\n    from tb_privateuse1.views import VIEWS", "store imports views:"),
        ("runs", "if T:\n    from tb_privateuse1.storage.store import Store", "runs imports store: it is"),
        ("cli", "import_module('tb_privateuse1.capture')", "nobody imports that"),
        ("views.kernels", "from tb_privateuse1.views.operators import operators", "of one layer"),
        ("views.base", "from tb_privateuse1.views import VIEWS", "of one layer"),
        ("breakdown", "from tb_privateuse1 import describe", "it is not below"),
        ("_capture.files", "from tb_privateuse1.version import __version__", "it stands alone"),
        ("capture", "from tb_privateuse1 import trace", "it stands alone"),
        ("query", "from tb_privateuse1 import __version__", "nobody imports that"),
        ("brand_new", "from tb_privateuse1 import trace", "not in the table"),
        ("infer.measured", "import torch.profiler", "only capture, _capture may"),
        ("views.kernels", "from werkzeug.wrappers import Request", "only routes, static_files"),
    ],
)  # fmt: skip
def test_the_test_finds_what_is_wrong(module: str, source: str, says: str) -> None:
    (found,) = violations(module, source)
    assert says in found


def test_the_test_allows_what_is_right() -> None:
    assert violations("views.kernels", "from tb_privateuse1.views.base import grouped") == []
    assert violations("views", "from tb_privateuse1.views.kernels import kernels") == []
    assert violations("_capture.route", "import torch\nfrom tb_privateuse1.capture import x") == []
    assert violations("cli", "from tb_privateuse1 import query, runs\nimport msgspec, sys") == []
