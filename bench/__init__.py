"""Measured figures: ``python -m bench NAME`` prints a table with median and spread.

Most measure the real service in a process of its own, from outside; ``accuracy`` puts the product's parts together
itself, because thousands of scenes do not fit real time. Each returns rows; the targets stand in ``targets.toml`` and
nowhere else.

    bench.glass, bench.ask, bench.camera, bench.accuracy  -> rows -> report: table, JSON, verdict
"""
