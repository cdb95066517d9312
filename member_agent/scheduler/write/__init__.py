"""Carries a round out: the plan annotation, binds, deletions, conditions and notes.

`binder` writes the plan and binds pod by pod, `annotations` keeps what must survive a restart,
`conditions` says on a pod why it waits. Decides nothing. Read `binder.Binder.carry_out` first.
"""
