"""Refusals of a gang: the verdict with its numbers, domain by domain, and the shortfall.

`refusals` gives the verdict, `domains` one line per domain, `shortfall` what would have to free on
which nodes. Nothing in here changes what is placed. Read `refusals.not_now` first.
"""
