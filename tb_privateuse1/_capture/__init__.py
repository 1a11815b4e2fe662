"""The parts of ``tb_privateuse1.capture``, which run in the training process beside torch."""
