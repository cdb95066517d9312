"""What a queue's capability still lets in.

A capability limits the resources that it names; others are unlimited. The minimum of a gang must
fit whole; surplus beyond it is cut to what fits, in the template's order.
"""

from collections.abc import Mapping

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code, Verdict


def over_capability(queue: Queue, held: Mapping[str, int], asked: Resources) -> Verdict | None:
    """Why the queue cannot take that much more, or None when it can.

    What even an empty queue could not take is `NEVER`: no wait will help.
    """
    for name, limit in queue.capability:
        amount = asked.get(name)
        has = held.get(name, 0)
        if amount == 0 or has + amount <= limit:
            continue
        shown = [format_quantity(value, name) for value in (amount, has, limit)]
        return Verdict(
            code=Code.NEVER if amount > limit else Code.NO_FIT,
            reason=Reason.QUEUE_CAPABILITY,
            detail=f"queue {queue.name}: {name} {shown[0]} asked, {shown[1]} of {shown[2]} in use",
            missing=has + amount - limit,
        )
    return None


def cut_to_capability(
    queue: Queue, held: Mapping[str, int], gang: Gang, minimum: Amounts, wanted: Amounts
) -> Amounts:
    """The part of `wanted` that the capability allows, which is at least `minimum`.

    The caller has asked that the minimum fits. Pod sets grow in the template's order.
    """
    if not queue.capability or over_capability(queue, held, gang.requests(wanted)) is None:
        return wanted
    floor = gang.requests(minimum)
    room = {name: limit - held.get(name, 0) - floor.get(name) for name, limit in queue.capability}
    amounts = dict(minimum.entries)
    for pod_set in gang.pod_sets:
        more = wanted.get(pod_set.name) - minimum.get(pod_set.name)
        for name, request in pod_set.shape.requests.entries:
            if name in room:
                more = min(more, room[name] // request)
        if more <= 0:
            continue
        amounts[pod_set.name] = amounts.get(pod_set.name, 0) + more
        for name, request in pod_set.shape.requests.entries:
            if name in room:
                room[name] -= more * request
    return Amounts.of(amounts)
