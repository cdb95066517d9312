"""Figures against their targets: a report, never a timed test.

`python -m bench` runs every figure and writes `build/bench.json`; `python -m bench cycle topology`
runs the named groups. Medians of several runs, ratios within one run, the machine stated.
"""
