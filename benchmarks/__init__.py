"""Benchmarks: accuracy and speed, beside others where there are any."""
