"""Scheduling decisions: pure functions from a snapshot to a plan.

Nothing here reads a clock, draws a random number, logs, counts or talks to anything.
Given the same snapshot, policy and instant, `run_cycle` returns the same plan, byte for
byte; the live controller, scenarios, `explain` and `whatif` all rely on that.

Import `run_cycle`, `explain_workload`, `queue_views`, `tenant_shares`, `renewed`,
`protected_until`, `claims_in_order`, `next_step`, `place_text` and `new_decision` from this
package; its modules are private to it.
Start reading at `cycle.run_cycle`.
"""

from global_sched.core.cycle import run_cycle
from global_sched.core.decisions import new_decision
from global_sched.core.explain.explaining import explain_workload
from global_sched.core.explain.next_step import NEXT_STEPS, next_step, place_text
from global_sched.core.explain.queue_views import queue_views, tenant_shares
from global_sched.core.make_room.claim_order import claims_in_order
from global_sched.core.make_room.running_facts import protected_until
from global_sched.core.quota.past_usage import renewed

__all__ = [
    "NEXT_STEPS",
    "claims_in_order",
    "explain_workload",
    "new_decision",
    "next_step",
    "place_text",
    "protected_until",
    "queue_views",
    "renewed",
    "run_cycle",
    "tenant_shares",
]
