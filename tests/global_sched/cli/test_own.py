"""A tenant's view: their own binding, queue and condition, and never another tenant's job."""

import click
import pytest
import yaml

from global_sched.cli.apply import apply_manifest
from global_sched.cli.own import explain_own
from global_sched.cli.view import look_whole, opened
from global_sched.cli.where import Where
from global_sched.embedded.federation import Federation, running
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.errors import ConfigError, Forbidden
from global_sched.view.look import look
from global_sched.view.own import own_rows
from tests.virtual_time import virtual_time
from tests.wire import stripped, vcjob
from tests.wire_templates import train_job, training_runtime

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
        listed = await own_rows(tenant, namespace="team-a", now=clock.now())
        with pytest.raises(click.ClickException, match="you may not read namespace team-b: "):
            await own_rows(tenant, namespace="team-b", now=clock.now())

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

    assert own.splitlines() == [
        "Job team-a/train waits: TopologyDoesNotFit",
        "  largest free domain holds 3 of 4",
        "queue     default: Open, 0 pending, 0 running",
        "place     not known: the namespace has no WaitingList with this job yet",
        "Not shown: room, clusters and other jobs, which only the platform may read.",
    ]
    assert "team-b" not in own
    assert [
        {field: row[field] for field in ("name", "state", "queue", "pods", "reason", "detail")}
        for row in sorted(listed, key=lambda row: row["name"])
    ] == [
        {
            "name": "only-team-a",
            "state": "Pending",
            "queue": "default",
            "pods": {"admitted": 0, "wanted": 1},
            "reason": None,
            "detail": "",
        },
        {
            "name": "train",
            "state": "Pending",
            "queue": "default",
            "pods": {"admitted": 0, "wanted": 1},
            "reason": "TopologyDoesNotFit",
            "detail": "largest free domain holds 3 of 4",
        },
    ]
    assert refused[0] == (
        "you may not read the whole federation; name your namespace: "
        "gsched explain -n NAMESPACE JOB"
    )
    assert refused[1].startswith("you may not read namespace team-b: ")
    assert refused[2].startswith("you may not read namespace team-b: ")
    assert refused[3] == "'only-team-b' is not in namespace team-a"


@pytest.mark.slow
@virtual_time
async def test_a_tenant_sees_the_queue_that_a_runtime_names(capsys):
    """Half of a TrainJob stands in its runtime, which tenants may read."""
    clock = LoopClock()
    federation = Federation([], clock=clock, tenants=["team-a"])
    annotations = {"scheduling.volcano.sh/queue-name": "gold"}
    async with running(federation):
        admin = federation.client()
        space, claim, *_ = jobs("team-a")
        resource = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
        claim["spec"]["resourceSelectors"] = [resource]
        for manifest in (
            space,
            claim,
            training_runtime("torch", template={"annotations": annotations}),
            stripped(train_job("fit")),
        ):
            await apply_manifest(admin, manifest)
        while not (await admin.list(RESOURCE_BINDINGS)).items:
            await clock.sleep(0.1)
        tenant = federation.client("tenant/team-a")
        with pytest.raises(Forbidden) as denied:
            await look(tenant, clock)
        await explain_own(
            tenant, job="fit", namespace="team-a", output="table", denied=denied.value
        )

    assert "queue     gold, which does not exist" in capsys.readouterr().out.splitlines()


@pytest.mark.slow
@virtual_time
async def test_an_administrator_who_acts_as_a_tenant_sees_what_the_tenant_sees(capsys, tmp_path):
    """`as` of the kubeconfig decides, not the credentials beside it, and --as before both."""
    clock = LoopClock()
    federation = Federation([], clock=clock, tenants=["team-a", "team-b"], state=tmp_path)
    async with running(federation):
        await federation_of_two(federation, clock)
        path = federation.kubeconfigs.admin
        content = yaml.safe_load(path.read_text())
        [user] = content["users"]
        user["user"] |= {"as": "ann", "as-groups": ["tenant:team-a"]}
        path.write_text(yaml.safe_dump(content))

        async with opened(Where(kubeconfig=path)) as (client, *_):
            with pytest.raises(Forbidden, match='User "ann" cannot list'):
                await look(client, clock)
            shown = await own_rows(client, namespace="team-a", now=clock.now())
            with pytest.raises(click.ClickException, match="you may not read namespace team-b: "):
                await own_rows(client, namespace="team-b", now=clock.now())
        flags = Where(kubeconfig=path, acting_user="bob", acting_groups=("tenant:team-b",))
        async with opened(flags) as (client, *_):
            others = await own_rows(client, namespace="team-b", now=clock.now())
            with pytest.raises(click.ClickException, match='User "bob" cannot list'):
                await own_rows(client, namespace="team-a", now=clock.now())

    assert sorted(row["name"] for row in shown) == ["only-team-a", "train"]
    assert sorted(row["name"] for row in others) == ["only-team-b", "train"]
