"""A callback for transformers: ``Trainer(…, callbacks=[CaptureCallback("./log")])``."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from tb_privateuse1.capture.frameworks.step_recorder import StepRecorder

_EVALUATION = "evaluation"


class CaptureCallback(TrainerCallback):
    """Record with ``capture.profile``; the arguments are those of ``StepRecorder``.

    A step is one of the optimizer, with all batches whose gradients it accumulates. Evaluation
    belongs to no step. The trainer tells of no exception: what was recorded until then is written
    when the next training begins, or when the process ends.
    """

    def __init__(self, logdir: str = "log", **options: Any) -> None:
        self._recorder = StepRecorder(logdir, **options)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Begin a step."""
        self._recorder.begin_step()

    def on_step_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
        """End the step, and leave the steps if an evaluation follows."""
        self._recorder.end_step()
        self._before_evaluation(control)

    def on_epoch_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
        """Leave the steps if an evaluation follows."""
        self._before_evaluation(control)

    def on_prediction_step(self, *_: Any, **__: Any) -> None:
        """Leave the steps in an evaluation that another callback asked for."""
        self._recorder.pause(_EVALUATION)

    def on_evaluate(self, *_: Any, **__: Any) -> None:
        """Return to the training."""
        self._recorder.resume()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Write what was recorded."""
        self._recorder.stop()

    def _before_evaluation(self, control: Any) -> None:
        if control.should_evaluate:
            self._recorder.pause(_EVALUATION)
