"""Strategies of built-in kinds: defaults, admission and validation of each.

One file per group of kinds, found by kind in `by_kind`. No verb and no answer is in here;
`strategy` has the steps in the order in which `registry/writes.py` takes them.
"""
