"""Clusters for a workload: filters, the room that placement sees, and scores.

Nothing here charges a queue or a tenant: room is counted and taken, and the statement charges the
ledger. Start reading at `plugins`.
"""
