"""Mutated recordings: every view and look-up answers, what-if and critical path included.

Also of all other forms, with exports, reports, agents' tools and hostile calls (``questions``).

``FUZZ_TRACES=20000 pytest tests/unit/test_fuzz_answers.py`` is the long run; ``FUZZ_SEED`` chooses
another. A failure names its trace: ``FUZZ_FIRST`` begins there.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views.encoding import encode, encode_columns
from tb_privateuse1.views.lookups import LOOKUPS
from tests.support.mutants.questions import MOST_SECONDS, Questions, no_json, value
from tests.support.mutants.registry import FORMATS
from tests.support.repeats import repeats
from tests.support.results import result
from tests.unit import test_fuzz as fuzz

COUNT = int(os.environ.get("FUZZ_TRACES", repeats(20)))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
TIMES = ("ts", "dur")

Event = dict[str, Any]


def each_number(rng: random.Random, events: list[Event], make: Callable[[float], Any]) -> None:
    share = rng.choice([1.0, 1.0, 0.2])
    for event in events:
        for key in TIMES:
            if isinstance(event.get(key), int | float) and rng.random() < share:
                event[key] = make(event[key])


def coarse(rng: random.Random, events: list[Event]) -> None:
    """A clock with ticks: bindings of the replay tie, and may form a circle."""
    tick = rng.choice([10, 100, 1000, 10**6])
    each_number(rng, events, lambda value: value // tick * tick)


def seconds(rng: random.Random, events: list[Event]) -> None:
    scale = rng.choice([1e-6, 1e-3, 1e6])
    each_number(rng, events, lambda value: value * scale)


def at_once(rng: random.Random, events: list[Event]) -> None:
    key = rng.choice(TIMES)
    value = rng.choice([0, 1, 5.5, 10**9])
    for event in events:
        if key in event:
            event[key] = value


def shuffle(rng: random.Random, events: list[Event]) -> None:
    """Exchange a field between events: streams, threads, launches, steps."""
    key = rng.choice(["ts", "dur", "tid", "pid", "name", "cat", "args"])
    having = [event for event in events if key in event]
    values = [event[key] for event in having]
    rng.shuffle(values)
    for event, exchanged in zip(having, values, strict=True):
        event[key] = exchanged


def arguments(rng: random.Random, events: list[Event]) -> None:
    """Odd values of the arguments that inference and work models read."""
    keys = sorted({key for event in events for key in _arguments(event)})
    if not keys:
        return
    key = rng.choice(keys)
    odd: Any = rng.choice(
        [True, 7, -1, 1 << 62, "x", "", None, [], {}, [[1 << 40, 1 << 40]], [["a"], []], 1e300]
    )
    for event in events:
        if key in _arguments(event) and rng.random() < 0.7:
            event["args"][key] = odd


def repeat(rng: random.Random, events: list[Event]) -> None:
    some = rng.sample(events, min(len(events), 20))
    events += [dict(event) for event in some] * rng.choice([1, 3])


def drop(rng: random.Random, events: list[Event]) -> None:
    category = rng.choice([event.get("cat") for event in events])
    events[:] = [event for event in events if event.get("cat") != category or rng.random() < 0.3]


def _arguments(event: Event) -> dict[str, Any]:
    found = event.get("args")
    return found if isinstance(found, dict) else {}


STRUCTURED = (
    coarse,
    coarse,
    seconds,
    at_once,
    shuffle,
    shuffle,
    arguments,
    arguments,
    repeat,
    drop,
)


def mutant(rng: random.Random, texts: list[bytes]) -> bytes:
    """Return a changed trace: mostly one that is still valid JSON."""
    text = rng.choice(texts)
    if rng.random() < 0.25:
        for mutate in rng.choices(fuzz.MUTATIONS, k=rng.choice([1, 2])):
            text = mutate(rng, text) if len(text) > 1 else text
        return text
    whole = json.loads(text)
    events = whole["traceEvents"]
    for change in rng.choices(STRUCTURED, k=rng.choice([1, 1, 2, 3])):
        if events:
            change(rng, events)
    return json.dumps(whole).encode()


def options(rng: random.Random, trace: Trace, view: Callable[..., Any]) -> dict[str, Any]:
    """Return some of a view's options, at random; those that it requires always."""
    asked: dict[str, Any] = {}
    for option in signature.options_of(view):
        if option["required"] or rng.random() < 0.4:
            asked[option["name"]] = value(rng, trace, option)
    return asked


def answer(rng: random.Random, trace: Trace, name: str, view: Callable[..., Any]) -> None:
    """Ask one view with defaults or options; a TraceError is an answer, too."""
    required = [o for o in signature.options_of(view) if o["required"]]
    asked = options(rng, trace, view) if required or rng.random() < 0.6 else {}
    started = time.process_time()
    try:
        found = result(view, trace, **asked)
        json.loads(encode(found), parse_constant=no_json)
        encode_columns(found, "zh")
    except TraceError as error:
        if error.code == "internal":
            raise AssertionError(f"{name} with {asked}: {error.message}") from error
    except Exception as error:
        raise AssertionError(f"{name} with {asked}: {error!r}") from error
    assert time.process_time() - started < MOST_SECONDS, (name, asked)


@pytest.mark.long
def test_every_view_of_mutated_traces(tmp_path: Path) -> None:
    texts = fuzz.corpus()
    path = tmp_path / "t.json"
    views = {**VIEWS, **LOOKUPS}
    failures, answered, slowest = [], 0, 0.0
    for number in range(FIRST, FIRST + COUNT):
        rng = random.Random(SEED * 1_000_003 + number)
        path.write_bytes(mutant(rng, texts))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                trace = inference.build_trace(chrome.read(str(path)), None)
                started = time.process_time()
                for name, view in views.items():
                    answer(rng, trace, name, view)
                    answered += 1
                slowest = max(slowest, time.process_time() - started)
        except TraceError as error:
            if error.code not in {"not_json", "not_a_trace"}:
                failures.append(f"trace {number} of seed {SEED}: {error.code}")
        except Exception as error:
            failures.append(f"trace {number} of seed {SEED}: {error!r}"[:400])
    assert not failures, "\n".join(failures)
    assert math.isfinite(slowest)
    print(f"{answered} answers of {COUNT} traces, the slowest trace {slowest:.1f} s")


@pytest.mark.long
def test_every_question_of_mutants_of_all_forms(tmp_path: Path) -> None:
    """Each second one is of a real trace; ``FUZZ_TRACES=20000`` has 40,000 hostile calls."""
    texts, asked = fuzz.corpus(), Questions(tmp_path / "cache")
    ways = {}
    for name, form in FORMATS.items():
        (tmp_path / name).mkdir()
        ways[name] = form.make(tmp_path / name)
    real = tmp_path / "real" / "host_1.1.pt.trace.json"
    real.parent.mkdir()
    for number in range(FIRST, FIRST + COUNT):
        rng = random.Random(SEED * 1_000_003 + number)
        path, data, name = real, b"", "real"
        if number % 2:
            data = mutant(rng, texts)
        else:
            name = list(ways)[number // 2 % len(ways)]
            path, data = rng.choice(ways[name])(rng)
        path.write_bytes(data)
        is_archive = path.name.startswith("runs.")
        asked.ask(rng, f"{name} {number} of seed {SEED}", path if is_archive else path.parent)
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    assert not asked.failures, "\n".join(asked.failures)
    assert min(asked.answers[kind] for kind in ("views", "exports", "reports", "tools")) > 0
    print(dict(asked.answers), asked.slowest)
