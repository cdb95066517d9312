"""One round over the cache: which waiting pods go to which nodes now, and why the others wait.

`round.plan_round` decides it. `round_state` has what a round starts from and what changes in it;
functions of the other modules work on that: `pending_demand` says what a workload still needs,
`eligible_nodes` which nodes it may not use, `managed` places what the Directive names and
`unmanaged` the rest, `reservations` keeps capacity for workloads that are not admitted yet,
`surplus_release` chooses the pods that a Directive takes back, `verdicts` writes down what becomes
of a unit, and `progress` what is to be known after a restart.

Pure: no clock, no I/O, no logging. Read `round.plan_round` first, then `managed.place_managed`.
"""
