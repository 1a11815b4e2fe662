"""The table of torch's internals: it has all that the capture uses, and is true of this torch."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._C._autograd import _KinetoEvent, _ProfilerResult
from torch.autograd.profiler import profile as autograd_profile
from torch.profiler import ProfilerActivity
from torch.profiler.profiler import profile as torch_profile

from docs.generate.torch_versions import TABLE
from tb_privateuse1.capture import backend
from tests.support.torch_names import Used

CAPTURE = Path(backend.__file__).parent
CONTENT = tomllib.loads(TABLE.read_text())
KINETO = "torch._C._autograd._KinetoEvent"
INNER = "torch.autograd.profiler.profile"
PROFILE = "torch.profiler.profiler.profile"


def version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def expected() -> dict[str, bool]:
    """Return each name of the table, and whether this torch has it."""
    own = version(torch.__version__)
    found = dict.fromkeys(CONTENT["everywhere"]["names"], True)
    for row in CONTENT["changed"]:
        since, until = version(row.get("since", "2.1")), version(row.get("until", "99.0"))
        found |= dict.fromkeys(row["names"], since <= own <= until)
    return found


def used() -> Used:
    found = Used()
    for path in sorted(CAPTURE.rglob("*.py")):
        found.add(path.read_text())
    return found


def members() -> Iterator[tuple[str, Any, bool]]:
    """Yield torch's objects whose members the capture uses, and whether those are all methods."""
    yield KINETO, _KinetoEvent, True
    yield "torch._C._autograd._ProfilerResult", _ProfilerResult, True
    yield INNER, autograd_profile(use_kineto=True), False
    yield PROFILE, torch_profile(activities=[ProfilerActivity.CPU]), False


def names() -> set[str]:
    """Return the names of torch that the capture uses.

    An attribute of an object whose class is unknown counts if it is one of torch's profilers'.
    """
    sources = used()
    found = set(sources.names)
    known = set(expected())
    for label, value, only_methods in members():
        asked = sources.calls if only_methods else sources.attributes
        there = set(dir(value)) | {
            name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == label
        }
        found |= {f"{label}.{name}" for name in asked & there if not name.startswith("__")}
    # An inner profiler has what an outer one has, too.
    both = {name.rpartition(".")[2] for name in found if name.startswith(f"{PROFILE}.")}
    found -= {f"{INNER}.{name}" for name in both - {"use_device"}}
    return {name for name in found if name.rpartition(".")[2] not in ("__init__", "__new__")}


def has(name: str) -> bool:
    """Return whether the installed torch has this."""
    if name.startswith("_Z"):
        return backend._symbol(name) is not None
    for label, value, _ in members():
        if name.startswith(f"{label}."):
            return hasattr(value, name.rpartition(".")[2])
    value = torch
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


@pytest.mark.parametrize("name", sorted(expected()))
def test_this_torch_is_as_the_table_says(name: str) -> None:
    assert has(name) == expected()[name]


def test_the_table_has_all_that_is_used() -> None:
    assert names() - set(expected()) == set()


def test_all_that_changed_is_used() -> None:
    changed = {name for row in CONTENT["changed"] for name in row["names"]}
    sources = used()
    assert {
        name
        for name in changed
        if name not in sources.names and name.rpartition(".")[2] not in sources.attributes
    } == set()


def test_names_are_found_in_a_source() -> None:
    found = Used()
    found.add(
        "import torch\n"
        "from torch.a import b as c\n"
        "x = getattr(torch, 'd', None).e or torch.f.g()\n"
        "c.h.i; y.j(); '_ZN5torch'\n"
    )
    assert found.names == {"torch.a.b", "torch.a.b.h.i", "torch.d.e", "torch.f.g",
                           "_ZN5torch"}  # fmt: skip
    assert "j" in found.calls
