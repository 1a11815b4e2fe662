"""Print how many mutants of a format had which outcome.

    python -m tests.support.mutants nsight --count 20000 --seed 1

``tests/support/mutants/harness.py`` says what the outcomes are.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from argparse import ArgumentParser
from pathlib import Path

from tests.support.mutants.harness import outcomes
from tests.support.mutants.registry import FORMATS


def main() -> int:
    """Read mutants of one format; an error of a reader, or another sum, ends the program."""
    parser = ArgumentParser(prog="python -m tests.support.mutants", description=__doc__)
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(asked.seed)
        print(outcomes(FORMATS[asked.format], rng, asked.count, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
