"""No victim leaves before the claim is written; what the bodies say."""

import asyncio

from global_sched.dispatch.binding_writer import Written
from global_sched.dispatch.patches import claiming_patch, eviction_status, success_status
from global_sched.dispatch.results import WriteResult
from global_sched.shared.api.base import Condition
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.plan import Claiming, Outcome, Plan, Withdrawal
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.verdict import Code, Verdict
from tests.builders import NOW, decision, workload
from tests.global_sched.dispatch.test_dispatcher import dispatching
from tests.virtual_time import virtual_time

X = WorkloadKey("ns/x")
CLAIMING = Claiming(workload=X, uid=workload("x").uid, resource_version="1", decision=decision())
LEAVING = Withdrawal(
    workload=WorkloadKey("ns/v"),
    uid=workload("v").uid,
    resource_version="1",
    cluster=ClusterName("m1"),
    replicas=None,
    targets=(),
    decision=decision(),
    reason="Preempted",
    message="m1: a workload of priority 10 in queue a needs the room",
    makes_room_for=X,
)

MAKING_ROOM = Outcome(
    workload=X,
    queue=QueueName("a"),
    tenant=TenantName(""),
    verdict=Verdict(code=Code.WAIT, reason=Reason.ROOM_BEING_MADE, detail="in m1", missing=1),
)
PLAN = Plan(claims=(CLAIMING,), withdrawals=(LEAVING,), outcomes=(MAKING_ROOM,))


def clock():
    """The virtual time, in seconds."""
    return asyncio.get_running_loop().time()


class Writer:
    """Takes a second for every write; the claim's ends as asked."""

    def __init__(self, result=WriteResult.OK):
        self.done = []
        self.result = result

    async def write(self, work):
        await asyncio.sleep(1)
        self.done.append(type(work).__name__)
        return Written(self.result if isinstance(work, Claiming) else WriteResult.OK)

    async def read(self, key):
        del key
        return ResourceBinding()


@virtual_time
async def test_the_claim_goes_first():
    """The victims follow it, and `placed` waits for them; each is reported when it is written."""
    writer, said = Writer(), []
    async with dispatching(writer, written=lambda *one: said.append((*one, clock()))) as (
        dispatcher,
        _,
    ):
        dispatcher.submit(PLAN, Policy())
        await dispatcher.placed()

    assert writer.done == ["Claiming", "Withdrawal"]
    assert said == [(CLAIMING, MAKING_ROOM, 1.0), (LEAVING, None, 2.0)]


@virtual_time
async def test_without_the_claim_nobody_leaves():
    """A claim that meets another writer is decided again; its victims stay, and nothing is said."""
    writer, said = Writer(WriteResult.CONFLICT), []
    async with dispatching(writer, written=lambda *one: said.append(one)) as (dispatcher, rung):
        dispatcher.submit(PLAN, Policy())
        await dispatcher.placed()
        await dispatcher.settle()
        await asyncio.sleep(1)

    assert writer.done == ["Claiming"]
    assert rung
    assert said == []


@virtual_time
async def test_a_claim_that_stands_lets_more_leave():
    """A later cycle's victims of the same claim need not wait for a write of it."""
    writer = Writer()
    async with dispatching(writer) as (dispatcher, _):
        dispatcher.submit(Plan(withdrawals=(LEAVING,)), Policy())
        await dispatcher.placed()

    assert writer.done == ["Withdrawal"]


def test_a_claim_is_one_annotation():
    """The spec stays as it is, and the version is checked."""
    body = claiming_patch(CLAIMING)

    assert list(body) == ["metadata"]
    assert body["metadata"]["resourceVersion"] == "1"
    assert list(body["metadata"]["annotations"]) == ["decision.global-sched.io/decision"]


def test_a_victim_is_told_who_took_its_place():
    """A condition of its own, which later refusals do not overwrite."""
    other = Condition(type="FullyApplied", status="True", last_transition_time="then")

    body = eviction_status("3", [other], LEAVING, now=NOW)

    found = {one["type"]: one for one in body["status"]["conditions"]}
    assert set(found) == {"FullyApplied", "Scheduled", "Evicted"}
    assert (found["Evicted"]["status"], found["Evicted"]["reason"]) == ("True", "Preempted")
    assert found["Evicted"]["message"] == LEAVING.message
    assert found["Scheduled"]["message"].startswith("WAIT Preempted, nearest m1: ")


def test_the_condition_ends_with_the_next_admission():
    """Evicted is False once it has clusters again."""
    evicted = Condition(type="Evicted", status="True", reason="Preempted", message="m1")

    body = success_status("4", [evicted], generation=2, now=NOW, affinity=None)

    found = {one["type"]: one for one in body["status"]["conditions"]}
    assert (found["Evicted"]["status"], found["Evicted"]["reason"]) == ("False", "Admitted")
