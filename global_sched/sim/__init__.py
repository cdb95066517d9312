"""`gsched simulate`: jobs of a trace run on member clusters in virtual time.

Discrete events in whole microseconds: a job comes, a job ends, a timer is due. All events of one
instant first, then one decision: `run_cycle` as the leader runs it (`ours.Ours`), or a model of
another scheduler (`baselines`). Pods are bound by the placement engine of the agents
(`member.Member`), which is the same for all.

Nothing in here reads a wall clock; the only random numbers are those of a seed. Files are read and
written by `files`, `report` and `plots` alone. matplotlib is imported by `plots` alone, and only
when it draws.

Read `engine.Stage.run` first.
"""
