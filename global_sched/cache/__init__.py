"""Watch events to state to snapshot.

`State` takes every object that decisions depend on, reduces it at once to small values (a
template is never kept), and gives a frozen `Snapshot` of which unchanged parts are shared with the
one before. `assume` and `forget` bridge the time between a write and its echo. What is admitted
and not yet counted by a report is deducted from the room that the report shows.

No I/O, clock, randomness, logging or settings, and no decision: what a spec forbids is said in
`Workload.problem`, everything that compares workloads or clusters is for the core.

Read `state.State` first, then `resolve.workload_of`; `shared.kinds` says what each kind asks for.
"""

from global_sched.cache.state import State
from global_sched.cache.stores.notices import Notice, Topic

__all__ = ["Notice", "State", "Topic"]
