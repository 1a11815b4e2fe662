"""Lists of objects become tables in answers to agents."""

from __future__ import annotations

import json

from tb_privateuse1.server.agents.compact import Table, column_names, compact, to_json
from tests.support.agents import expanded

ROWS = [{"name": "a", "ns": 1, "line": None}, {"name": "b", "ns": 2, "line": None}]


def test_a_list_of_objects_is_a_table() -> None:
    found = json.loads(to_json(compact({"rows": ROWS, "n": 2})))
    assert found == {
        "rows": {"columns": ["name", "ns"], "all_null": ["line"], "rows": [["a", 1], ["b", 2]]},
        "n": 2,
    }
    assert expanded(found) == {"rows": ROWS, "n": 2}


def test_other_lists_stay() -> None:
    for value in ([], [1, 2], [{"a": 1}, {"b": 1}], [{"a": 1}, 3], [[1], [2]]):
        assert json.loads(to_json(compact(value))) == expanded(json.loads(to_json(compact(value))))
        assert not isinstance(compact(value), Table)


def test_columns_are_kept_where_a_table_has_them() -> None:
    found = compact({"rows": ROWS, "others": [{"x": 1}]}, columns=["ns", "line"])
    assert json.loads(to_json(found)) == {
        "rows": {"columns": ["ns"], "all_null": ["line"], "rows": [[1], [2]]},
        "others": {"columns": ["x"], "rows": [[1]]},
    }
    assert set(column_names({"rows": [{"x": ROWS}]})) == {"x", "name", "ns", "line"}
