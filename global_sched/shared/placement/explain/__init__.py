"""Why a gang is not placed: the refusal with its numbers, domain by domain, and what is missing.

`refusals` gives the verdict, `domains` one line per domain, `shortfall` what would have to free on
which nodes. Nothing in here changes what is placed. Read `refusals.not_now` first.
"""
