"""Quota of queues and tenants: entitlements, limits, and what they hold now.

Amounts, queues and tenants only: no cluster's room, no order of turns.
Start reading at `ledger.Ledger`.
"""
