"""Write event files of TensorBoard with hyperparameters, as ``SummaryWriter.add_hparams`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def event_file(folder: Path, hparams: Mapping[str, str | float | bool]) -> Path:
    """Write a file with a scalar and the start of a session, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.glob("*"))
    writer = EventFileWriter(str(folder))
    for one in (_loss(), _session(hparams), _loss()):
        writer.add_event(Event(wall_time=1.0, step=1, summary=one))
    writer.close()
    (path,) = set(folder.glob("*")) - before
    return path


def _loss() -> Summary:
    return Summary(value=[Summary.Value(tag="loss", simple_value=0.5)])


def _session(hparams: Mapping[str, str | float | bool]) -> Summary:
    info = SessionStartInfo()
    for name, value in hparams.items():
        if isinstance(value, bool):
            info.hparams[name].bool_value = value
        elif isinstance(value, str):
            info.hparams[name].string_value = value
        else:
            info.hparams[name].number_value = value
    content = HParamsPluginData(session_start_info=info, version=0).SerializeToString()
    plugin = SummaryMetadata.PluginData(plugin_name="hparams", content=content)
    metadata = SummaryMetadata(plugin_data=plugin)
    tag = "_hparams_/session_start_info"
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])
