"""What a tenant sees: their own binding, queue and condition, and never another tenant's job."""

import click
import pytest
import yaml

from global_sched.cli.apply import apply_manifest
from global_sched.cli.own import explain_own, jobs_own
from global_sched.cli.view import look, look_whole, opened
from global_sched.cli.where import Where
from global_sched.embedded.federation import Federation, running
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.errors import ConfigError, Forbidden
from tests.virtual_time import virtual_time
from tests.wire import stripped, vcjob

MESSAGE = "NO_FIT TopologyDoesNotFit, nearest b: largest free domain holds 3 of 4"


def jobs(namespace):
    """A namespace, its policy, and one job in it."""
    selector = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    spec = {"schedulerName": "global-sched", "resourceSelectors": [selector], "placement": {}}
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": "jobs", "namespace": namespace},
            "spec": spec,
        },
        stripped(vcjob("train", namespace=namespace)),
        stripped(vcjob(f"only-{namespace}", namespace=namespace)),
    )


async def federation_of_two(federation, clock):
    """Two tenants with jobs; the binding of one has a condition."""
    admin = federation.client()
    await apply_manifest(
        admin,
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"weight": 1},
        },
    )
    for namespace in ("team-a", "team-b"):
        for manifest in jobs(namespace):
            await apply_manifest(admin, manifest)
    while len((await admin.list(RESOURCE_BINDINGS)).items) < 4:
        await clock.sleep(0.1)
    said = {
        "type": "Scheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": MESSAGE,
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    await admin.patch(
        RESOURCE_BINDINGS,
        "train-job",
        {"status": {"conditions": [said]}},
        namespace="team-a",
        subresource="status",
    )


@pytest.mark.slow
@virtual_time
async def test_a_tenant_sees_their_own_job_only(capsys):
    """Own binding, queue and condition are shown, with what may not be read; nothing of others."""
    clock = LoopClock()
    federation = Federation([], clock=clock, tenants=["team-a", "team-b"])
    async with running(federation):
        await federation_of_two(federation, clock)
        tenant = federation.client("tenant/team-a")

        with pytest.raises(Forbidden) as denied:
            await look(tenant, clock)
        with pytest.raises(ConfigError, match="you may not read the whole federation"):
            await look_whole(tenant, clock, Where())
        await explain_own(
            tenant, job="train", namespace="team-a", output="table", denied=denied.value
        )
        own = capsys.readouterr().out
        await jobs_own(tenant, namespace="team-a", output="table", denied=denied.value)
        listed = capsys.readouterr()
        with pytest.raises(click.ClickException, match="you may not read namespace team-b: "):
            await jobs_own(tenant, namespace="team-b", output="json", denied=denied.value)

        refused = []
        for job, namespace in (
            ("train", None),
            ("train", "team-b"),
            ("team-b/only-team-b", None),
            ("only-team-b", "team-a"),
        ):
            with pytest.raises(click.ClickException) as caught:
                await explain_own(
                    tenant, job=job, namespace=namespace, output="table", denied=denied.value
                )
            refused.append(caught.value.message)

    assert own.splitlines()[:4] == [
        "job       Job team-a/train",
        "binding   train-job",
        "clusters  none yet",
        f"scheduled False Unschedulable: {MESSAGE}",
    ]
    assert own.splitlines()[4] == "queue     default: Open, 0 pending, 0 running"
    assert own.splitlines()[5].startswith("not shown ")
    assert "team-b" not in own
    assert [line.split("   ")[0] for line in listed.out.splitlines()] == [
        "JOB",
        "Job team-a/only-team-a",
        "Job team-a/train",
    ]
    assert MESSAGE in listed.out
    assert listed.err.startswith("not shown: queue, share and place in line; ")
    assert refused[0] == (
        "you may not read the whole federation; name your namespace: "
        "gsched explain -n NAMESPACE JOB"
    )
    assert refused[1].startswith("you may not read namespace team-b: ")
    assert refused[2].startswith("you may not read namespace team-b: ")
    assert refused[3] == "'only-team-b' is not in namespace team-a"


@pytest.mark.slow
@virtual_time
async def test_an_administrator_who_acts_as_a_tenant_sees_what_the_tenant_sees(capsys, tmp_path):
    """`as` and `as-groups` of the kubeconfig decide, not the credentials that stand beside them."""
    clock = LoopClock()
    federation = Federation([], clock=clock, tenants=["team-a", "team-b"], state=tmp_path)
    async with running(federation):
        await federation_of_two(federation, clock)
        path = federation.kubeconfigs.admin
        content = yaml.safe_load(path.read_text())
        [user] = content["users"]
        user["user"] |= {"as": "ann", "as-groups": ["tenant:team-a"]}
        path.write_text(yaml.safe_dump(content))

        async with opened(Where(kubeconfig=path)) as (client, _):
            with pytest.raises(Forbidden, match='User "ann" cannot list') as denied:
                await look(client, clock)
            await jobs_own(client, namespace="team-a", output="table", denied=denied.value)
            shown = capsys.readouterr().out
            with pytest.raises(click.ClickException, match="you may not read namespace team-b: "):
                await jobs_own(client, namespace="team-b", output="table", denied=denied.value)

    assert [line.split("   ")[0] for line in shown.splitlines()] == [
        "JOB",
        "Job team-a/only-team-a",
        "Job team-a/train",
    ]
