"""The late write of an earlier leader is refused by the control plane itself."""

import json
from functools import partial

from tests.e2e.admission import accepted, guarded, noted
from tests.e2e.test_admission_refusals import BINDING, SCHEDULER, THERE, patch
from tests.e2e.waiting import until

POLICY = "ValidatingAdmissionPolicy 'global-sched-terms'"
BINDING_OF_POLICY = ("validatingadmissionpolicybinding", "global-sched-terms")
LATE = 20
"""Late writes that are tried with the policy and without it."""
LEASE = ("lease", "global-sched", "-n", "karmada-system")
MADE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "global-sched", "namespace": "karmada-system"},
    "spec": {"leaseTransitions": 70},
}
DECISION = "decision.global-sched.io/decision"


def decided(epoch, id_="e"):
    """A decision of that term, and the clusters that it gives."""
    note = json.dumps({"id": id_, "epoch": epoch}, separators=(",", ":"))
    clusters = [{"name": "east", "replicas": 2}]
    return patch(THERE, metadata={"annotations": {DECISION: note}}, spec={"clusters": clusters})


def _late(managed, term):
    """How many late writes the server accepts: of terms before the present one, each another."""
    writes = [decided(max(0, term - 1 - at), f"late{at}") for at in range(LATE)]
    return sum(accepted(managed.attempt(SCHEDULER, write)) for write in writes)


async def test_a_decision_below_the_term_of_the_lease_is_refused(federation, kubectl, space):
    """Whatever the binding's last decision says: a forged epoch there locks nothing out."""
    ours = "NotFound" in kubectl("get", *LEASE, check=False)
    if ours:
        kubectl("create", "-f", "-", stdin=json.dumps(MADE))
    term = int(kubectl("get", *LEASE, "-o", "jsonpath={.spec.leaseTransitions}"))
    try:
        async with guarded(federation, kubectl, space) as managed:
            kubectl("create", "-n", space, "-f", "-", stdin=json.dumps(BINDING))

            def refused(epoch):
                said = managed.attempt(SCHEDULER, (*decided(epoch), "--dry-run=server"))
                return (
                    POLICY in said and f"of term {epoch}, and the Lease is in term {term}" in said
                )

            await until(partial(refused, term - 1), "the policy has seen the Lease")
            assert refused(7)
            for epoch in (term, term + 1):
                assert accepted(managed.attempt(SCHEDULER, decided(epoch, f"d{epoch}")))
            forged = managed.attempt("admin", decided(2**62, "forged"))
            assert accepted(forged), forged
            assert refused(term - 1)
            assert accepted(managed.attempt(SCHEDULER, decided(term, "anew")))

            late = _late(managed, term)
            kubectl(*patch(*BINDING_OF_POLICY, spec={"validationActions": ["Audit"]}))
            try:
                write = decided(term - 1, "late")
                await until(partial(managed.passes, SCHEDULER, write), "the policy only looks on")
                without = _late(managed, term)
            finally:
                kubectl(*patch(*BINDING_OF_POLICY, spec={"validationActions": ["Deny"]}))
            noted("late", tried=LATE, accepted=late, without=without)
            assert (late, without) == (0, LATE)
    finally:
        if ours:
            kubectl("delete", *LEASE)
