"""global-sched and its peers, one after the other on one real Karmada: one run, one table.

`make bench-peers` builds a federation of its own (`tools.local_karmada`), measures the raw bound W,
karmada-scheduler, global-sched and, where found, volcano-global and Volcano, and ends it again.
Rates and counts are read from the API server's audit log, so that no watch disturbs it; CPU and
memory come from /proc. What may not be in here: a figure that was not measured in this run.

Read `run` first, then `throughput`.
"""
