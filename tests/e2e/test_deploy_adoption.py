"""Adopting what another scheduler placed: docs/deploy.md, "Adopting existing policies"."""

import json

from tests.e2e.world import policy
from tests.wire import deployment, placement, stripped

KARMADA = "default-scheduler"


async def test_a_policy_that_is_made_again_moves_nothing(world, kubectl, space):
    """Way 1: the binding gets the new scheduler's name and keeps its clusters, there and back."""
    web = deployment("web", replicas=3, namespace=space)
    where = placement("east", "west", divided=True)
    await world.apply(policy(web, where=where, scheduler=KARMADA), stripped(web))
    before = await _placed(world, space, KARMADA)

    await _made_again(world, kubectl, web, where, "global-sched")
    assert await _placed(world, space, "global-sched") == before
    await world.apply({**stripped(web), "spec": web["spec"] | {"replicas": 5}})

    async def grown():
        return sum((await world.clusters(space, "web", "Deployment")).values()) == 5

    await world.until(grown, "global-sched answers for growth")
    after = await world.clusters(space, "web", "Deployment")
    assert all(after.get(name, 0) >= replicas for name, replicas in before.items())
    assert (await world.decision(space, "web", "Deployment"))["id"]

    await _made_again(world, kubectl, web, where, KARMADA)
    assert await _placed(world, space, KARMADA) == after


async def test_the_name_on_a_policy_cannot_be_changed(world, kubectl, space):
    """Why it has to be made again: Karmada refuses the edit."""
    web = deployment("web", namespace=space)
    await world.apply(policy(web, scheduler=KARMADA))
    body = json.dumps({"spec": {"schedulerName": "global-sched"}})
    patch = ("patch", "propagationpolicy", "web-deployment", "--type=merge", "-p", body)

    said = kubectl("-n", space, *patch, check=False)

    assert "the schedulerName should not be updated" in said


async def test_answering_for_karmadas_name_adopts_everything(world, federation, programs, space):
    """Way 2: karmada-scheduler stands still, and global-sched answers for its name, too."""
    names = ("--scheduler-names", f"global-sched,{KARMADA}")
    web = deployment("web", replicas=2, namespace=space)
    where = placement("east", "west", divided=True)
    await world.apply(policy(web, where=where, scheduler=KARMADA), stripped(web))
    before = await _placed(world, space, KARMADA)
    await federation.stop("karmada-scheduler")
    await programs.stop("global-sched")
    try:
        await programs.start_scheduler("global-sched", *names)
        await world.apply({**stripped(web), "spec": web["spec"] | {"replicas": 3}})

        async def grown():
            # Adopted with two replicas first where Karmada has not seen the third yet.
            found = await world.clusters(space, "web", "Deployment")
            return found if sum(found.values()) == 3 else None

        after = await world.until(grown, "all three replicas have a cluster")
        assert (await world.decision(space, "web", "Deployment"))["id"]
        assert all(after.get(name, 0) >= replicas for name, replicas in before.items())
    finally:
        await programs.stop("global-sched")
        await federation.start("karmada-scheduler")
        await programs.start_scheduler()


async def _made_again(world, kubectl, web, where, scheduler):
    namespace = web["metadata"]["namespace"]
    kubectl("-n", namespace, "delete", "propagationpolicy", "web-deployment")
    await world.apply(policy(web, where=where, scheduler=scheduler))


async def _placed(world, space, scheduler):
    """Where the work is once that scheduler's name is on its binding and its pods run."""

    async def there():
        binding = await world.binding(space, "web", "Deployment")
        if binding.get("spec", {}).get("schedulerName") != scheduler:
            return None
        status = binding.get("status", {})
        settled = status.get("schedulerObservedGeneration") == binding["metadata"]["generation"]
        return await world.clusters(space, "web", "Deployment") if settled else None

    return await world.until(there, f"{scheduler} answers for the binding")
