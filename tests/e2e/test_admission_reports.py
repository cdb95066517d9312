"""A member's report is the member's own: no other name, place, or past."""

import json
from functools import partial

import pytest

from tests.e2e.admission import guarded
from tests.e2e.waiting import until

POLICY = "global-sched-reports"
AGENT, OTHER = "karmada-es-lingjun:member-agent", "karmada-es-east:member-agent"


def report(name="lingjun-900", cluster="lingjun", number=900, generation=1, slices=901):
    """A slice that no agent writes."""
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "CapacityReport",
        "metadata": {"name": name},
        "spec": {"cluster": cluster, "slice": number, "slices": slices, "generation": generation},
    }


REFUSED = {
    "another member's report": (
        report("east-900", cluster="east"),
        "spec.cluster must be lingjun, the member of the namespace karmada-es-lingjun",
    ),
    "a name that is not the slice's": (
        report("mine"),
        "metadata.name of slice 900 must be lingjun-900",
    ),
    "a slice too many": (
        report(slices=900),
        "spec.slice 900 is beyond the 900 of spec.slices",
    ),
}


@pytest.fixture
async def managed(federation, kubectl, space):
    async with guarded(federation, kubectl, space) as found:
        yield found
    kubectl(
        "-n",
        "karmada-es-lingjun",
        "delete",
        "capacityreport",
        "lingjun-900",
        "mine",
        "east-900",
        "--ignore-not-found",
    )


async def test_an_agent_reports_its_own_member_only(managed):
    """Refused with what the report should say; the same write succeeds without the policy."""
    create = ("-n", "karmada-es-lingjun", "create", "-f", "-")
    for name, (body, message) in REFUSED.items():
        said = managed.attempt(AGENT, create, body)
        assert f"ValidatingAdmissionPolicy '{POLICY}'" in said, (name, said)
        assert message in said, (name, said)

    managed.remove(POLICY)

    for name, (body, _) in REFUSED.items():
        await until(partial(managed.passes, AGENT, create, body), f"{name} is taken")
        assert "created" in managed.attempt(AGENT, create, body), name


async def test_reports_live_in_execution_namespaces(managed):
    """Even an administrator's report elsewhere would never be read."""
    said = managed.attempt("admin", ("create", "-f", "-"), report())

    assert "a CapacityReport belongs into karmada-es-<member>, not into" in said


async def test_a_report_never_goes_back(managed):
    """A later generation replaces an earlier one; never the other way."""
    where = ("-n", "karmada-es-lingjun")
    assert "created" in managed.attempt(AGENT, (*where, "create", "-f", "-"), report(generation=5))

    def to(generation):
        body = json.dumps({"spec": {"generation": generation}})
        patch = ("patch", "capacityreport", "lingjun-900", "--type=merge", "-p", body)
        return managed.attempt("admin", (*where, *patch))

    assert "patched" in to(6)
    assert "spec.generation 4 is before 6, which is there" in to(4)


async def test_the_agent_of_one_member_may_not_write_for_another(managed, kubectl):
    """Rights stop it first; with them, the policy does."""
    create = ("-n", "karmada-es-lingjun", "create", "-f", "-")
    assert 'cannot create resource "capacityreports"' in managed.attempt(OTHER, create, report())

    kubectl(
        *("-n", "karmada-es-lingjun", "create", "rolebinding", "wrong"),
        *("--role=member-agent", f"--serviceaccount={OTHER}"),
    )
    try:
        said = managed.attempt(OTHER, create, report())
        assert f"system:serviceaccount:{OTHER} is the agent of another member than lingjun" in said
    finally:
        kubectl("-n", "karmada-es-lingjun", "delete", "rolebinding", "wrong")
