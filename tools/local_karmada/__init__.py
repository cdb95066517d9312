"""A real Karmada on one machine: API servers, controllers and members as plain processes.

`python -m tools.local_karmada up|down|status|build` is what `make karmada-up` and its siblings
call, and the end-to-end suite uses the same code. Binaries are built from the Go module registry
by the `modules` here and kept in the user's cache; everything else of a federation is below one
state folder. What may not be in here: anything that global-sched or the agent decides, copies of
other projects' manifests (they are read from their modules), and ending a process that it did not
start.

Read `federation.Federation` first, then `bring_up`.
"""
