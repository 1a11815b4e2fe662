"""Hyperparameters in event files, as TensorBoard's own writer makes them."""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1.readers.event_files import Value, hyperparameters, is_event_file
from tests.support.event_files import event_file

HPARAMS: dict[str, Value] = {"lr": 0.1, "optimizer": "adam", "fused": True, "depth": 12.0}


def test_numbers_texts_and_flags(tmp_path: Path) -> None:
    path = event_file(tmp_path, HPARAMS)
    assert is_event_file(path.name)
    assert hyperparameters(str(path)) == HPARAMS


def test_a_file_of_scalars_has_none(tmp_path: Path) -> None:
    assert hyperparameters(str(event_file(tmp_path, {}))) == {}


def test_any_cut_and_any_damage_has_what_is_whole(tmp_path: Path) -> None:
    content = event_file(tmp_path, HPARAMS).read_bytes()
    for place in range(0, len(content), 3):
        cut, broken = tmp_path / "cut", tmp_path / "broken"
        cut.write_bytes(content[:place])
        assert hyperparameters(str(cut)).items() <= HPARAMS.items()
        broken.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        hyperparameters(str(broken))
