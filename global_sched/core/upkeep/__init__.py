"""What becomes of admitted workloads: taken back, cut, moved, confirmed, or wanting more.

It starts nothing and makes nothing leave for another workload. Start reading at
`running.look_after`.
"""
