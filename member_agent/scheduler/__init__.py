"""Places the gangs that arrive, and binds their pods: all of a minimum or none.

`gang` (pure) reads one gang by itself. `plan` (pure) decides one round over the cache: managed
gangs first, in the order in which the leader gave them, then unmanaged ones. `write` puts the plan
on a PodGroup or root owner before the first bind, so that a crash midway is completed or rolled
back. `loop` turns changes into rounds, and says why pods wait.

What fits is decided by `shared.placement` alone, the same code that admitted the gang.
Read `plan.round.plan_round` first, then `write.binder.Binder.carry_out`.
"""
