"""One gang by itself: what it asks for, its minimum, its subgroups, and what its annotations say.

`demand` groups its waiting pods by equal shape, `minimum` says what is there of the minimum and
what is lacking, `subgroups` reads the PodGroup's policies, `bind_plan` is the plan annotation and
`placement_history` the annotation of where it ran and which nodes failed. Pure: no clock, no I/O;
no capacity and no other gang. Read `demand.Demand` first.
"""
