"""Upkeep of admitted workloads: withdrawn, cut, moved, confirmed, or grown.

It starts nothing and makes nothing leave for another workload. Start reading at
`running.look_after`.
"""
