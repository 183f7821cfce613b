"""Measured figures: ``python -m bench NAME`` prints a table with median and spread.

Each benchmark measures the real service in a process of its own, from outside, and returns rows; the targets
stand in ``targets.toml`` and nowhere else.

    bench.glass, bench.ask, bench.camera  -> rows -> report: table, JSON, verdict
"""
