"""Values that decisions speak: workloads, queues, tenants, clusters, snapshot and plan.

Frozen dataclasses of exact ints, with an order and a JSON round trip (`codec`). Nothing
in here chooses anything, and nothing reads a clock, a file or a setting. Quantities are ints in
base units (milli-CPU, bytes, whole devices); instants are ints (µs since the epoch).

Read `snapshot.Snapshot` and `plan.Plan` first: they are what goes into a cycle and what
comes out.
"""
