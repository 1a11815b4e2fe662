"""Constants of the idle device that no trace contains, measured once in a process.

``calibration`` measures events, ``queue_check`` whether operators run on the host's thread, and
``queue_costs`` what marks and kernels cost a busy device.
"""
