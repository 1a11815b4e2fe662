"""Traces of generation: a tiny language model whose operators have the shapes of its passes."""

from __future__ import annotations

from typing import Any

from tests.support.make import Event, kernel, launch, op

VOCABULARY, WIDTH = 50, 8


def shaped(name: str, start: float, end: float, *dims: list[int], **more: Any) -> Event:
    """An operator with the shapes of its inputs; the second one of a lookup is of token ids."""
    types = ["float"] * len(dims)
    if name == "aten::embedding":
        types[1] = "long int"
    shapes: dict[str, Any] = {"Input Dims": list(dims), "Input type": types}
    return op(name, start, end, **shapes, **more)


def forward(
    at: float,
    ids: list[int],
    *,
    keys: int | None = None,
    scored: int | None = None,
    number: int = 0,
) -> list[Event]:
    """A pass of 100 us: lookup, attention, product with the vocabulary, choice; a kernel of 40 us.

    ``keys`` are those of a sequence in attention, ``scored`` the rows of the last product.
    """
    tokens = ids[-1]
    rows = scored if scored is not None else ids[0]
    events = [shaped("aten::embedding", at, at + 5, [VOCABULARY, WIDTH], ids)]
    if keys is not None:
        events.append(shaped("aten::softmax", at + 10, at + 15, [ids[0], 2, tokens, keys]))
    head = number * 10 + 1
    events += [
        shaped("aten::linear", at + 20, at + 30, [rows, WIDTH], [VOCABULARY, WIDTH], id=head),
        launch(at + 21, at + 22, head, **{"External id": head}),
        kernel("gemm", at + 25, at + 65, head),
        shaped("aten::argmax", at + 70, at + 75, [rows, VOCABULARY]),
    ]
    return events


def loop(batch: int, prompt: int, new: int, *, cache: bool = True, at: float = 0) -> list[Event]:
    """A generation: ``new`` passes, the first of the prompt, 100 us each."""
    events = []
    for i in range(new):
        length = prompt + i
        ids = [batch, 1 if cache and i else length]
        number = round(at) // 100 + i
        events += forward(at + 100 * i, ids, keys=length, number=number)
    return events
