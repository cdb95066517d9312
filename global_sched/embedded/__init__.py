"""A whole federation without clusters, for the demo and the tests.

`apiserver` is a Kubernetes API server in one process; `karmada` is the part of Karmada that the
flow needs; `members` runs nodes, pods and workload controllers. The two latter are clients of the
servers like any other, over HTTP. Nothing in here decides what global-sched or the agent decides.

Read `apiserver.ApiServer` first; `python -m global_sched.embedded serve` runs one alone.
"""
