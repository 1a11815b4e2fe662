"""Fit a result into a number of bytes, and list what was left out.

Room is shared like water: what needs less than its share stays whole, and the others share the
rest. Lists lose items from the end, since views put the largest first. Numbers are never rounded:
a number is there to the digit, or not at all. Each cut is listed as a path that asks for the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tb_privateuse1.server.agents.compact import Table, compact, to_json
from tb_privateuse1.server.agents.field_paths import ResultPart, rest

_MAIN_WEIGHT = 8
"""Share of the room of a main field, where another one has 1."""
_LEAST = 48
"""Bytes below which a part of a list or object would say nothing."""
_STAGES = ((400, 1000), (200, 3), (120, 0))
"""Longest text and most items of a list within a row, one stage after another."""
_MISSING = object()
_HOW = (
    "Call again with one of these paths in fields, with a larger max_bytes, or with columns. A "
    "path with [n:] is the rest of a list. Texts that end in … are cut; their path has them whole."
)


def fit(
    parts: Mapping[str, ResultPart],
    size: int,
    *,
    main: Collection[str] = (),
    later: Sequence[str] = (),
    columns: Collection[str] = (),
) -> bytes:
    """Return an object of JSON with the ``parts`` that fit into ``size`` bytes.

    ``main`` has the names of the parts with the most room, ``later`` the paths of parts that are
    only listed. ``size`` is at least 1,000.
    """
    values = {name: compact(part.value, columns) for name, part in parts.items()}
    cutter = _Cutter(parts)
    whole = to_json(_with_more(values, list(later), size))
    if len(whole) <= size:
        return whole
    room = size - len(to_json(_with_more({}, [], size, always=True)))
    body = b""
    while room > 0:
        cutter.more = list(later)
        cut = cutter.cut_parts(values, room, main)
        body = to_json(_with_more(cut, cutter.more, size, always=True))
        if len(body) <= size:
            return body
        room -= max(len(body) - size, room // 20)
    cutter.more = [*values, *later]
    return to_json(_with_more({}, cutter.more, size, always=True))


def _with_more(
    values: Mapping[str, Any], left_out: Sequence[str], size: int, *, always: bool = False
) -> dict[str, Any]:
    """Return the answer with the list of what it lacks, which has a quarter of the room."""
    if not left_out and not always:
        return dict(values)
    shown: list[str] = []
    used = 0
    for path in left_out:
        used += len(to_json(path)) + 1
        if used > size // 4:
            break
        shown.append(path)
    more: dict[str, Any] = {"fields": shown, "how": _HOW}
    if len(shown) < len(left_out):
        more["unlisted"] = len(left_out) - len(shown)
    return {**values, "more": more}


class _Cutter:
    """Cuts values to sizes; ``more`` collects the paths of what is left out."""

    def __init__(self, parts: Mapping[str, ResultPart]) -> None:
        self._parts = parts
        self.more: list[str] = []

    def cut_parts(self, values: Mapping[str, Any], room: int, main: Collection[str]) -> Any:
        weights = {name: _MAIN_WEIGHT if name in main else 1 for name in values}
        return self._cut_fields(values, room, self._parts, weights)

    def _cut_fields(
        self,
        values: Mapping[str, Any],
        room: int,
        parts: Mapping[str, ResultPart],
        weights: Mapping[str, int],
    ) -> dict[str, Any]:
        needs = {name: len(to_json(value)) for name, value in values.items()}
        order = sorted(values, key=lambda name: needs[name] / weights[name])
        left, weight = room, sum(weights.values())
        kept: dict[str, Any] = {}
        for name in order:
            label = len(to_json(name)) + 2
            share = left * weights[name] // weight - label
            weight -= weights[name]
            if needs[name] <= share:
                kept[name] = values[name]
                left -= needs[name] + label
                continue
            cut = self._cut(values[name], share, parts[name])
            if cut is _MISSING:
                self.more.append(_whole(parts[name]))
            else:
                kept[name] = cut
                left -= len(to_json(cut)) + label
        return {name: kept[name] for name in values if name in kept}

    def _cut(self, value: Any, room: int, part: ResultPart) -> Any:
        """Return the part of a value that fits into its room, or ``_MISSING``."""
        if room < _LEAST:
            return _MISSING
        if isinstance(value, Table):
            return self._cut_table(value, room, part)
        if isinstance(value, list):
            return self._cut_list(value, room, part)
        if isinstance(value, dict):
            parts = {name: ResultPart(f"{part.path}.{name}", item) for name, item in value.items()}
            cut = self._cut_fields(value, room - 2, parts, dict.fromkeys(value, 1))
            return cut or _MISSING
        if isinstance(value, str):
            self.more.append(part.path)
            return _shortened(value, room)
        return _MISSING

    def _cut_table(self, table: Table, room: int, part: ResultPart) -> Any:
        room -= len(to_json(table.with_rows(())))
        fitting: Sequence[Any] = ()
        for longest, most in _STAGES:
            # No row has less than two bytes.
            rows = [[_brief(c, longest, most) for c in row] for row in table.rows[: room // 2 + 1]]
            fitting = rows[: _fitting(rows, room)]
            if len(fitting) == len(table.rows):
                break
        if fitting:
            self._list_rest(part, table.rows, fitting)
            return table.with_rows(fitting)
        first = dict(zip(table.columns, table.rows[0], strict=True))
        return self._cut_first(first, len(table.rows), room, part)

    def _cut_list(self, items: Sequence[Any], room: int, part: ResultPart) -> Any:
        fitting = items[: _fitting(items, room - 2)]
        if fitting:
            self._list_rest(part, items, fitting)
            return list(fitting)
        return self._cut_first(items[0], len(items), room, part)

    def _cut_first(self, item: Any, count: int, room: int, part: ResultPart) -> Any:
        place = len(self.more)
        cut = self._cut(item, room - 2, ResultPart(f"{part.path}[{part.first}]", item))
        if cut is _MISSING:
            return _MISSING
        if count > 1:
            self.more.insert(place, rest(part, 1))
        return [cut]

    def _list_rest(self, part: ResultPart, whole: Sequence[Any], shown: Sequence[Any]) -> None:
        if len(shown) < len(whole):
            self.more.append(rest(part, len(shown)))
        changed = (at for at, row in enumerate(shown) if row != whole[at])
        if (at := next(changed, None)) is not None:
            self.more.append(f"{part.path}[{part.first + at}]")


def _whole(part: ResultPart) -> str:
    return rest(part, 0) if part.first or part.stop is not None else part.path


def _fitting(items: Sequence[Any], room: int) -> int:
    """Return how many of the first items fit."""
    for count, item in enumerate(items):
        room -= len(to_json(item)) + 1
        if room < 0:
            return count
    return len(items)


def _brief(value: Any, longest: int, most: int) -> Any:
    """Return a cell with shorter texts and lists; a cut list ends with the count of the rest."""
    if isinstance(value, str):
        return value if len(value) <= longest else value[: longest - 1] + "…"
    if isinstance(value, dict):
        return {name: _brief(item, longest, most) for name, item in value.items()}
    if most == 0 and (count := _count(value)):
        return f"… {count}"
    if isinstance(value, Table):
        if len(value.rows) <= most:
            return value.with_rows([[_brief(c, longest, most) for c in r] for r in value.rows])
        rows = [[_brief(c, longest, most) for c in row] for row in value.rows[:most]]
        return {**value.with_rows(rows).plain(), "others": len(value.rows) - most}
    if isinstance(value, list) and len(value) > most:
        return [*(_brief(item, longest, most) for item in value[:most]), f"… {len(value) - most}"]
    if isinstance(value, list):
        return [_brief(item, longest, most) for item in value]
    return value


def _count(value: Any) -> int:
    if isinstance(value, Table):
        return len(value.rows)
    return len(value) if isinstance(value, list) else 0


def _shortened(text: str, room: int) -> str:
    """Return the beginning of a text whose JSON fits into ``room`` bytes, at least 6."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if len(to_json(text[:middle] + "…")) <= room else (low, middle - 1)
        )
    return text[:low] + "…"
