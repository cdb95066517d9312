"""Places the gangs that arrive, and binds their pods: all of a minimum or none.

`place` (pure) decides one round over the cache: rooms of directed gangs first, in the order in
which the leader gave them, then everybody else. `plan` (pure) is the text that goes on a PodGroup
or root owner before the first bind, so that a crash midway is completed or rolled back. `bind`
carries a decision out; `loop` turns changes into rounds and says why pods wait.

What fits is decided by `shared.placement` alone, the same code that admitted the gang.
Read `place.plan_round` first, then `bind.Binder.carry_out`.
"""
