"""A plan to writes: the only writer of scheduling results.

One write in flight per object, a resourceVersion on each, the leader's term checked before each.
On a conflict the action is dropped and reported, because the next cycle decides again; a write
whose answer was lost is looked up before its room is given to another workload. Placements go
before reasons, and reasons are written only when they say something new.

No decision is made or changed here. Read `dispatcher.Dispatcher` first; `patches` has every body
that is sent.
"""

from global_sched.dispatch.binding_writer import BindingWriter
from global_sched.dispatch.directives import DirectiveWriter
from global_sched.dispatch.dispatcher import Action, Dispatcher
from global_sched.dispatch.policy_map import publish_policy
from global_sched.dispatch.reasons import ReasonBook

__all__ = [
    "Action",
    "BindingWriter",
    "DirectiveWriter",
    "Dispatcher",
    "ReasonBook",
    "publish_policy",
]
