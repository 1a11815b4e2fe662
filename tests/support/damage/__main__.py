"""Print how often figures of damaged recordings are right, bounded, noted, or wrong in silence.

    python -m tests.support.damage --count 5000 --seed 1

``tests/support/damage/harness.py`` says what the outcomes are. A recording counts by its worst.
"""

from __future__ import annotations

import random
import sys
from argparse import ArgumentParser
from collections import Counter, defaultdict

from tests.support.damage.changes import DAMAGES
from tests.support.damage.harness import OUTCOMES, run


def main() -> int:
    """Damage recordings in turn, and print the rates by kind of damage; 1 if one is silent."""
    parser = ArgumentParser(prog="python -m tests.support.damage", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=float, default=0.0, help="the share of shared recordings")
    parser.add_argument("--only", choices=sorted(DAMAGES))
    asked = parser.parse_args()
    names = [asked.only] if asked.only else list(DAMAGES)
    worst: dict[str, Counter[str]] = defaultdict(Counter)
    silent: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], int] = {}
    for number in range(asked.count):
        seed = asked.seed * 1_000_000 + number
        rng = random.Random(seed)
        found = run(rng, names[number % len(names)], real=rng.random() < asked.real)
        worst[found.damage][found.worst] += 1
        for figure, outcome in found.counts:
            if outcome == "silent":
                words = figure.split()
                kind = found.damage, found.recording, f"{words[0]} {words[-1]}"
                silent[kind] += 1
                first.setdefault(kind, seed)
    print("| damage | recordings |", " | ".join(OUTCOMES), "|")
    print("|---|---|" + "---|" * len(OUTCOMES))
    for damage, counts in worst.items():
        shares = (str(counts[outcome]) for outcome in OUTCOMES)
        print(f"| {damage} | {counts.total()} |", " | ".join(shares), "|")
    for kind, count in silent.most_common(20):
        print("silent:", *kind, count, "first seed", first[kind])
    return int(bool(silent))


if __name__ == "__main__":
    sys.exit(main())
