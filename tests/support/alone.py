"""Run what failed in the last run again, with nothing beside it: ``python -m tests.support.alone``.

``pytest --last-failed`` does not find tests of a group: xdist writes the group behind their names.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

_LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def without_group(name: str) -> str:
    """Return a test's name less its group; an ``@`` of a parameter stays."""
    return re.sub(r"@[^\]@]*$", "", name)


def main() -> int:
    """Return the exit code of the second run; 1 if the first run left no names."""
    failed = json.loads(_LAST_FAILED.read_text()) if _LAST_FAILED.exists() else {}
    if not failed:
        return 1
    print("What failed runs again alone. A test that passes here is unstable: a fault to fix.")
    return int(pytest.main(["-rp", *map(without_group, failed)]))


if __name__ == "__main__":
    sys.exit(main())
