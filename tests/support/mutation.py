"""Mutation test of a sample: which changes of the code does no unit test notice?

    python -m tests.support.mutation --sample 200 --seconds 600 --seed 1

It works on a copy in build/mutation, with mutmut; its configuration is ``[tool.mutmut]``.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPY = ROOT / "build" / "mutation"
_NOTHING = "no-such-mutant*"
_SURVIVED, _UNTESTED = 0, 33
_OUTCOMES = {
    _SURVIVED: "survived", 1: "killed", 3: "killed", 33: "no test", 34: "skipped",
    24: "timeout", 36: "timeout", 152: "timeout", 255: "timeout", -24: "timeout",
}  # fmt: skip
"""By exit code, as mutmut stores it; a time limit counts as noticed."""


def copy() -> None:
    """Copy the files of the repository: mutmut writes beside its sources."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, COPY / name)


def mutmut(*names: str, seconds: int) -> None:
    """Run mutmut on the mutants of these names, for at most so long."""
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "2", *names]
    with (COPY / "mutmut.log").open("a") as log:
        process = subprocess.Popen(command, cwd=COPY, stdout=log, stderr=subprocess.STDOUT)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()


def exit_codes() -> dict[str, int | None]:
    """Return the exit code of each mutant's tests by its name; None: they were not run."""
    found: dict[str, int | None] = {}
    for path in sorted((COPY / "mutants").rglob("*.meta")):
        found |= json.loads(path.read_text())["exit_code_by_key"]
    return found


def main() -> int:
    """Print the score by module, and the survivors."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    copy()
    mutmut(_NOTHING, seconds=arguments.seconds)  # makes the mutants, and runs the tests once
    names = sorted(exit_codes())
    if not names:
        print((COPY / "mutmut.log").read_text()[-4000:])
        return 1
    chosen = random.Random(arguments.seed).sample(names, min(arguments.sample, len(names)))
    mutmut(*chosen, seconds=arguments.seconds)
    codes = exit_codes()
    outcomes = {name: codes[name] for name in sorted(chosen) if codes[name] is not None}
    if not outcomes:
        print((COPY / "mutmut.log").read_text()[-4000:])
        return 1
    counts = Counter(_OUTCOMES.get(code or 0, "killed") for code in outcomes.values())
    noticed = counts["killed"] + counts["timeout"]
    tested = noticed + counts["survived"]
    print(f"{len(names)} mutants, {len(chosen)} chosen, {len(outcomes)} run: {dict(counts)}")
    print(f"score: {noticed} of {tested} that a test reaches")
    for name, code in outcomes.items():
        if code in (_SURVIVED, _UNTESTED):
            print(f"{_OUTCOMES[code]}: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
