"""Prompts: the two questions with which most work begins."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Prompt(Struct, frozen=True):
    """A prompt with the names of its arguments; ``text`` has them in braces."""

    name: str
    about: str
    arguments: Mapping[str, str]
    """Name -> description; all are optional."""
    text: str

    def filled(self, given: Mapping[str, str]) -> str:
        """Return the text with arguments; one that is missing is left to the agent."""
        text = self.text
        for name in self.arguments:
            value = given.get(name) or f"(choose a {name} from list_runs)"
            text = text.replace(f"{{{name}}}", value)
        return text


PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        "why_is_it_slow",
        "Find what limits a run, and the change that gains most.",
        {"run": "the run; without it the agent chooses"},
        """Find out why this run is slow: {run}.

1. overview: note the verdict, the kind of recording and how many steps it judges. If it is
   start-up or one step only, say that the result may not hold for a long run.
2. method: are device times measured or inferred? A gain below its bound is not established.
3. advice: take the largest saving with confidence high or medium. Read its evidence with links
   or event.
4. hotspots by line and by module: name the code that is responsible.
5. whatif with the change of the finding: what would the step gain, within which bounds?
6. Report: the limit, the evidence with figures and units, the change in code, the expected gain
   with its bounds, and how to verify it (record again, then diff).

Do not report a figure that no tool gave. Look up words with definition.""",
    ),
    Prompt(
        "what_changed",
        "Explain why one run is slower or faster than another.",
        {"run": "the new run", "base_run": "the old run"},
        """Explain what changed from {base_run} to {run}.

1. diff with run and base_run: read conditions first. Another batch size, device or version of
   torch explains a change before any code does.
2. explanation and figures: how much longer or shorter is a step, and is that significant beyond
   the noise of the steps and the bounds?
3. rows (by operators, then by kernels or modules): which of them make up the change? Their sum
   must come near to it.
4. method of both runs: inferred times have bounds, and a recording with Python stacks is slower by
   itself.
5. Report: the change per step with its significance, its parts with figures and units, the likely
   cause in code, and what would confirm it. If the change is within noise, say so and stop.""",
    ),
)


def prompt_named(name: str) -> Prompt | None:
    """Return the prompt of a name."""
    return next((prompt for prompt in PROMPTS if prompt.name == name), None)
