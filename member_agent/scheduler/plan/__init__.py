"""One round over the cache: which waiting pods go to which nodes now, and why the others wait.

`round.plan_round` decides it, in the order of the decisions; `managed` places what the Directive
names, `unmanaged` the rest, `reservations` keeps capacity for workloads that are not admitted yet,
`surplus_release` chooses the pods that a Directive takes back. `outcome` has what comes out.
Pure: no clock, no I/O, no logging. Read `round.plan_round` first, then `managed.place_managed`.
"""
