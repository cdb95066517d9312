"""Kinds without demand in a federation: those that make pods are refused where all may see it."""

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.kube.errors import NotFound
from global_sched.view.job_query import shown
from global_sched.view.jobs import rows_of
from global_sched.view.look import look
from tests.flows.federation import TEAM, member, whole
from tests.virtual_time import virtual_time
from tests.wire import batch_job, meta, placement, stripped

CRON_JOBS = kinds.Resource("batch", "v1", "cronjobs", "CronJob")

CRON = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": meta("nightly", namespace=TEAM),
    "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": batch_job("nightly")["spec"]}},
}
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": meta("config", namespace=TEAM),
    "data": {"a": "b"},
}


def policy_of(*objects):
    """The policy that propagates all objects of these kinds."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all", "namespace": TEAM},
        "spec": {
            "schedulerName": "global-sched",
            "resourceSelectors": [
                {"apiVersion": one["apiVersion"], "kind": one["kind"]} for one in objects
            ],
            "placement": placement(),
        },
    }


@pytest.mark.slow
@virtual_time
async def test_a_cron_job_reaches_no_cluster(tmp_path):
    """The condition and the table of jobs say why; a ConfigMap beside it is in both clusters."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:

        async def binding(name):
            try:
                return await world.admin.get(kinds.RESOURCE_BINDINGS, name, namespace=TEAM)
            except NotFound:
                return {}

        async def scheduled(name):
            found = (await binding(name)).get("status", {}).get("conditions") or ()
            return next((one for one in found if one["type"] == "Scheduled"), None)

        await world.admin.create(kinds.NAMESPACES, {"metadata": {"name": TEAM}})
        await world.apply(policy_of(CRON, CONFIG))
        await world.admin.create(CRON_JOBS, stripped(CRON), namespace=TEAM)
        await world.admin.create(kinds.CONFIGMAPS, stripped(CONFIG), namespace=TEAM)
        await world.until(lambda: scheduled("config-configmap"), "the ConfigMap is copied")
        await world.until(lambda: scheduled("nightly-cronjob"), "the CronJob is refused")

        copied = (await binding("config-configmap"))["spec"]["clusters"]
        assert [one["name"] for one in copied] == ["m1", "m2"]
        assert "clusters" not in (await binding("nightly-cronjob"))["spec"]
        condition = await scheduled("nightly-cronjob")
        assert condition["status"] == "False"
        assert f"CronJob.batch {TEAM}/nightly: the kind makes pods" in condition["message"]
        [row] = shown(rows_of(await look(world.admin, world.clock)), "table")
        assert (row["name"], row["state"], row["reason"]) == (
            "nightly",
            "Pending",
            "KindNotCounted",
        )


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": meta("lone", namespace=TEAM),
    "spec": {
        "schedulerName": "member-agent",
        "containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
    },
}


@pytest.mark.slow
@virtual_time
async def test_what_only_the_member_sees_comes_back_with_its_reason(tmp_path):
    """A bare Pod's claims are not on its binding: the agent refuses it, the condition says so."""
    async with whole(tmp_path, member("m1")) as world:

        async def message():
            try:
                found = await world.admin.get(kinds.RESOURCE_BINDINGS, "lone-pod", namespace=TEAM)
            except NotFound:
                return ""
            conditions = found.get("status", {}).get("conditions") or ()
            texts = [one["message"] for one in conditions if one["type"] == "Scheduled"]
            return "resourceClaims" in "".join(texts) and "".join(texts)

        await world.admin.create(kinds.NAMESPACES, {"metadata": {"name": TEAM}})
        await world.apply(policy_of(POD))
        await world.admin.create(kinds.PODS, stripped(POD), namespace=TEAM)
        await world.until(message, "the agent's reason is in the condition", seconds=200)

        assert "resource claims (DRA) are neither counted nor allocated here" in await message()
        assert [pod["spec"].get("nodeName") for pod in await world.pods("m1")] in ([], [None])
