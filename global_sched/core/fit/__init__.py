"""Which clusters could hold a workload, and which of these is the best one.

Filters, the room that placement sees, scores. Nothing here changes what anybody holds: room is
counted and taken, and the ledger is charged by the statement. Start reading at `plugins`.
"""
