"""A callback for Lightning's ``Trainer``: ``Trainer(callbacks=[CaptureCallback("./log")])``."""

from __future__ import annotations

import sys
from typing import Any

from tb_privateuse1.capture.frameworks.step_recorder import StepRecorder

# The same framework under two names: a trainer takes the callbacks of its own name only.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    from lightning.pytorch import Callback


class CaptureCallback(Callback):
    """Record with ``capture.profile``; the arguments are those of ``StepRecorder``.

    A step of ``fit`` is a batch, or all batches whose gradients are accumulated for one step of the
    optimizer. Validation within ``fit`` belongs to no step. In ``validate``, ``test`` and
    ``predict`` a step is a batch.
    """

    def __init__(self, logdir: str = "log", **options: Any) -> None:
        self._recorder = StepRecorder(logdir, **options)
        self._global_step = 0

    def on_train_start(self, trainer: Any, *_: Any) -> None:
        """Take the number of optimizer steps from which on they count."""
        self._global_step = trainer.global_step

    def on_train_batch_start(self, *_: Any) -> None:
        """Begin a step, unless gradients are being accumulated."""
        self._recorder.begin_step()

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """End the step if an optimizer made one."""
        if trainer.global_step != self._global_step:
            self._global_step = trainer.global_step
            self._recorder.end_step()

    def on_validation_start(self, *_: Any) -> None:
        """Leave the steps of the training."""
        self._recorder.pause("validation")

    def on_validation_end(self, trainer: Any, *_: Any) -> None:
        """Return to the training, or write what was recorded of ``validate``."""
        self._recorder.resume()
        if trainer.state.fn == "validate":
            self._recorder.stop()

    def on_validation_batch_start(self, trainer: Any, *_: Any) -> None:
        """Begin a step of ``validate``."""
        if trainer.state.fn == "validate":
            self._recorder.begin_step()

    def on_validation_batch_end(self, trainer: Any, *_: Any) -> None:
        """End a step of ``validate``."""
        if trainer.state.fn == "validate":
            self._recorder.end_step()

    def on_test_batch_start(self, *_: Any) -> None:
        """Begin a step of ``test``."""
        self._recorder.begin_step()

    def on_test_batch_end(self, *_: Any) -> None:
        """End a step of ``test``."""
        self._recorder.end_step()

    def on_predict_batch_start(self, *_: Any) -> None:
        """Begin a step of ``predict``."""
        self._recorder.begin_step()

    def on_predict_batch_end(self, *_: Any) -> None:
        """End a step of ``predict``."""
        self._recorder.end_step()

    def on_train_end(self, *_: Any) -> None:
        """Write what was recorded."""
        self._recorder.stop()

    def on_test_end(self, *_: Any) -> None:
        """Write what was recorded."""
        self._recorder.stop()

    def on_predict_end(self, *_: Any) -> None:
        """Write what was recorded."""
        self._recorder.stop()

    def on_exception(self, *_: Any) -> None:
        """Write what was recorded."""
        self._recorder.stop()
