"""The sweep over rights: nothing beyond a tenant's own jobs, and it sees what is granted."""

from bench.reliability.rights import beyond
from global_sched.embedded.access import grant
from global_sched.embedded.federation import Federation, MemberSpec
from global_sched.shared.clock import LoopClock
from tests.virtual_time import virtual_time

RULE = {"apiGroups": ["work.karmada.io"], "resources": ["works"], "verbs": ["create", "get"]}


@virtual_time
async def test_a_tenant_has_the_rights_of_its_role_and_no_others():
    """Two tenants beside a member; then one of them may make Works, as a stock Karmada lets it."""
    federation = Federation(
        [MemberSpec(name="m1")], clock=LoopClock(), tenants=["a", "b"], ports=None
    )
    await federation.start()
    try:
        asked, found, own = beyond(federation.control, ["a", "b"])
        assert found == set()
        assert own > 50
        assert asked > 10_000

        api = {"apiVersion": "rbac.authorization.k8s.io/v1"}
        role = {**api, "kind": "ClusterRole", "metadata": {"name": "works"}, "rules": [RULE]}
        given = {
            **api,
            "kind": "RoleBinding",
            "metadata": {"name": "works", "namespace": "a"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "works",
            },
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "tenant:a"}
            ],
        }
        await grant(federation.client(), [role, given])

        found = beyond(federation.control, ["a", "b"])[1]
        assert found == {"create works in a", "get works in a"}
    finally:
        await federation.stop()
