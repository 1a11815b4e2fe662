"""Real training and inference scripts: `python -m refdevice.workloads.mlp --out ./log`.

Each module has `build(device)`, which returns `step()`; nothing in it knows of the profiler. What
is shared, the command line and the profiled loop, is in `script`.
"""
