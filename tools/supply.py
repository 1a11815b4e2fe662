"""Write what a release is made of: the tested versions, and a bill of materials.

``python -m tools.supply lock`` prints ``constraints.txt``: the versions here of all that the
package and its extras for users depend on. ``python -m tools.supply lock REPORT`` prints
``constraints-hashed.txt``: the same with the hash of each file in a report of pip, which are those
of one system. ``python -m tools.supply sbom`` prints that list as CycloneDX 1.5 JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tb_privateuse1.trace.version import VERSION

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
HASHED = CONSTRAINTS.with_name("constraints-hashed.txt")
PACKAGE = "tb-privateuse1"
EXTRAS = ("remote", "perfetto", "sql", "completion", "cluster", "mcp")
"""Those for users: the others are for developers."""

_PINNED = re.compile(r"^([a-z0-9.-]+)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def installed_versions(package: str = PACKAGE, extras: Iterable[str] = EXTRAS) -> dict[str, str]:
    """Return the installed version of all that a package depends on, by normalized name."""
    found: dict[str, str] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    wanted = [(package, tuple(extras))]
    while wanted:
        name, own = wanted.pop()
        if (name, own) in seen:
            continue
        seen.add((name, own))
        try:
            here = distribution(name)
        except PackageNotFoundError:  # of another system, or not tested here
            continue
        if name != package:
            found[name] = here.version
        for text in here.requires or ():
            one = Requirement(text)
            chosen = [one.marker is None or one.marker.evaluate({"extra": e}) for e in ("", *own)]
            if any(chosen):
                wanted.append((normalized(one.name), tuple(sorted(one.extras))))
    return dict(sorted(found.items()))


def normalized(name: str) -> str:
    """Return a package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes_of(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each file in a report of ``pip install --dry-run --report``."""
    return {
        normalized(one["metadata"]["name"]): one["download_info"]["archive_info"]["hashes"][
            "sha256"
        ]
        for one in report["install"]
        if "archive_info" in one["download_info"]
    }


def constraints(versions: Mapping[str, str], hashes: Mapping[str, str]) -> str:
    """Return the text of ``constraints.txt``, or with hashes of ``constraints-hashed.txt``."""
    head = "# The versions that were tested: pip install -c constraints.txt tb-privateuse1\n"
    if hashes:
        head = (
            "# Their files for Linux on x86-64 and CPython 3.11, without tb-privateuse1 itself:\n"
            "# pip install --require-hashes -r constraints-hashed.txt\n"
        )
    lines = [
        f"{name}=={version}" + (f" --hash=sha256:{hashes[name]}" if name in hashes else "")
        for name, version in versions.items()
    ]
    return head + "\n".join(lines) + "\n"


def bill(text: str, version: str = VERSION) -> dict[str, Any]:
    """Return the bill of materials of a constraints file, as CycloneDX 1.5."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(PACKAGE, version, [])},
        "components": [
            _component(match[1], match[2], _HASH.findall(line))
            for line in text.splitlines()
            if (match := _PINNED.match(line))
        ],
    }


def _component(name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    one = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
    }
    found = [{"alg": "SHA-256", "content": each} for each in hashes]
    return {**one, **({"hashes": found} if found else {})}


def main(arguments: list[str]) -> None:
    """Print what is asked for."""
    if arguments[:1] == ["lock"]:
        report = json.loads(Path(arguments[1]).read_text()) if arguments[1:] else {"install": []}
        sys.stdout.write(constraints(installed_versions(), hashes_of(report)))
    elif arguments == ["sbom"]:
        sys.stdout.write(json.dumps(bill(HASHED.read_text()), indent=1) + "\n")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
