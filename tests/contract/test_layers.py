"""Who imports whom: rooms in one direction, libraries in their rooms, seams by ``__all__``."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator

import pytest

from tests.support.sources import FILES, PACKAGE, nodes, tree

ROOMS = (
    "i18n < trace < vendors < discovery < readers < inference < analysis < storage < advice < "
    "views < export < api < server < cli"
)
"""A room imports only rooms on its left. ``capture`` stands alone.

``cli.remedies`` runs in the user's process as ``capture`` does: it uses that and ``trace``, and
only ``cli`` knows of it. ``testing``, the conformance kit in it and the package's own module use
``capture`` and what is below ``server``; no room imports these three."""
INNER = {"cli.remedies": "remedies", "testing.conformance": "conformance"}
"""Rooms inside of a room whose rules they do not follow."""
REMEDIES = "trace < capture < remedies"
BELOW_DOORS = f"capture < {ROOMS.partition(' < server')[0]} < "
ANALYSIS = (
    "steps < threads < timeline < operators < kernel_names < work < kernels < roofs < idioms < "
    "memory < idle < recording < account < purpose < serving < counters < ranks < simulation < "
    "comparison < flame"
)
"""The same for the rooms inside of ``analysis``."""
LIBRARIES = {
    # The last one is no code of the dashboard: it is copied into scripts for users' machines.
    "torch": ("capture", "cli.remedies", "testing", "export.taken"),
    "mcp": ("server.agents",),
    "mcp_types": ("server.agents",),
    "anyio": ("server.agents",),
    "uvicorn": ("server.agents",),
    "PIL": ("server.agents",),
    "tensorboard": ("server", "cli", "readers.event_files"),
    "werkzeug": ("server",),
    "pyarrow": ("discovery", "readers", "storage", "views", "export"),
    "duckdb": ("export",),
    "pandas": ("views",),
    "fsspec": ("discovery",),
    "aiohttp": ("discovery",),
    "argcomplete": ("cli",),
    "dask": ("storage",),
    "distributed": ("storage",),
    "lightning": ("capture",),
    "pytorch_lightning": ("capture",),
    "transformers": ("capture",),
    "pytest": ("testing",),
}
"""The rooms, or the packages in them, that may import a library."""


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield each imported (module, name), those in functions and for types included."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            yield from ((node.module or "", alias.name) for alias in node.names)


def public(package: str) -> list[str]:
    """Return the ``__all__`` of a package."""
    for node in tree(FILES[package].read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def is_above(order: str, room: str, other: str) -> bool:
    """Return whether ``room`` may not import ``other``."""
    names = order.split(" < ")
    return other not in names or names.index(other) > names.index(room)


def place(module: str) -> list[str]:
    """Return a module's room, and the names below it."""
    first, _, rest = module.partition(".")
    inner = ".".join([first, rest.partition(".")[0]])
    return [INNER[inner], *module.split(".")[2:]] if inner in INNER else module.split(".")


def problem(importer: str, module: str, name: str) -> str | None:
    """Return why a module may not import this, or None."""
    top, _, inner = module.partition(".")
    room, *mine = place(importer)
    if top != PACKAGE.name:
        allowed = LIBRARIES.get(top)
        fits = allowed is None or any(f"{importer}.".startswith(f"{home}.") for home in allowed)
        return None if fits else "another room's library"
    package, _, last = inner.rpartition(".")
    if not inner or FILES[inner].name == "__init__.py":
        package, last = inner, name
    other, *theirs = place(f"{package}.{last}".strip("."))
    if other == room == "server":
        return "agents are above" if theirs[:1] == ["agents"] and mine[:1] != theirs[:1] else None
    if other == room:
        subs = room == "analysis" and len(mine) > 1 and len(theirs) > 1 and mine[0] != theirs[0]
        return "that room is above" if subs and is_above(ANALYSIS, mine[0], theirs[0]) else None
    if other == "remedies" and room == "cli":
        return None
    if room == "remedies":
        return "that room is above" if is_above(REMEDIES, room, other) else None
    is_door = room in ("__init__", "testing", "conformance")
    if (room, other) == ("conformance", "capture"):
        return None  # it reports what the capture's own probes find
    if "capture" in (room, other) and not is_door:
        return "capture stands alone"
    if is_above(BELOW_DOORS + room if is_door else ROOMS, room, other):
        return "that room is above"
    return None if not package or last in public(package) else "its room does not offer it"


def test_imports_follow_the_rooms() -> None:
    found = [
        f"{importer}: {module} {name}: {reason}"
        for importer, path in FILES.items()
        for module, name in imports(path.read_text())
        if (reason := problem(importer, module, name))
    ]
    assert found == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports form no cycle, those in functions and for types included."""
    edges = {module: set(ours(path.read_text())) for module, path in FILES.items()}
    order = graphlib.TopologicalSorter(edges)
    order.prepare()  # raises CycleError


def ours(source: str) -> Iterator[str]:
    """Yield the modules of ours that a module imports."""
    for module, name in imports(source):
        if module.partition(".")[0] == PACKAGE.name:
            inner = module.partition(".")[2]
            below = f"{inner}.{name}".strip(".")
            yield below if below in FILES else inner or "__init__"


def test_every_room_has_its_place() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    known = {*ROOMS.split(" < "), "capture", "testing"}
    assert rooms | {"api"} == known
    inner = {path.name for path in (PACKAGE / "analysis").iterdir() if path.is_dir()}
    assert inner - {"__pycache__"} == set(ANALYSIS.split(" < "))
    entries = [p for p in PACKAGE.iterdir() if p.is_file() or (p / "__init__.py").exists()]
    assert len(entries) <= 18


@pytest.mark.parametrize("package", [m for m, p in FILES.items() if p.name == "__init__.py"])
def test_rooms_offer_what_is_there(package: str) -> None:
    names = public(package)
    assert len(names) == len(set(names))
    for name in names:
        inside = f"{package}.{name}" in FILES or name in FILES[package].read_text()
        assert inside, name


def test_the_loader_needs_only_the_host() -> None:
    """TensorBoard imports it unguarded: what is imported at module level must not fail."""
    body = tree(FILES["server.loader"].read_text()).body
    top = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = sorted(module for node in top for module, _ in imports(ast.unparse(node)))
    assert names == ["__future__", "logging", "tensorboard.plugins", "typing"]
    assert not list(imports(FILES["server"].read_text()))


@pytest.mark.parametrize(
    ("importer", "source", "says"),
    [
        ("trace.model", "import tb_privateuse1.views.shared_options", "that room is above"),
        ("views.kernels", "from tb_privateuse1 import __version__", "that room is above"),
        ("storage.store", "def f():\n    from tb_privateuse1.views import VIEWS", "room is above"),
        ("cli", "from tb_privateuse1.capture import profile", "capture stands alone"),
        ("capture.route", "from tb_privateuse1.trace import model", "capture stands alone"),
        ("api", "from tb_privateuse1.server import loader", "that room is above"),
        ("views.kernels", "from tb_privateuse1.readers.chrome.decoder import x", "not offer it"),
        (
            "analysis.steps.table",
            "from tb_privateuse1.analysis.idle import device_bound",
            "is above",
        ),
        ("inference.steps", "import torch.profiler", "another room's library"),
        ("server.routes", "from tb_privateuse1.cli.remedies import REMEDIES", "that room is above"),
        ("cli.remedies.run", "from tb_privateuse1.advice import engine", "that room is above"),
        ("server.routes", "import mcp", "another room's library"),
        ("server.routes", "from tb_privateuse1.server.agents import serve", "agents are above"),
        ("testing.conformance.truth", "from tb_privateuse1.server import loader", "room is above"),
        (
            "capture.route",
            "from tb_privateuse1.testing.conformance import main",
            "capture stands alone",
        ),
        ("testing.judgment", "from tb_privateuse1.cli.commands import write", "room is above"),
        ("cli.commands", "from tb_privateuse1.testing.budget import Budget", "that room is above"),
    ],
)
def test_the_test_finds_what_is_wrong(importer: str, source: str, says: str) -> None:
    ((module, name),) = imports(source)
    assert says in (problem(importer, module, name) or "")
