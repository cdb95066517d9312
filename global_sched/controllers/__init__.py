"""The loops of global-sched: watch, decide, tell.

`watching` feeds the state from informers, `scheduling` turns changes into cycles, and the
status loops write back what people look at. Each loop has one guard that counts, logs and goes on;
none of them decides anything or knows how a write looks.

Read `scheduling.SchedulingLoop` first.
"""
