"""A raw server in a process of its own: bytes made once, sent as fast as the client takes them.

`python -m bench.flow.list_watch_server OBJECTS EVENTS` prints its port. It serves a paged LIST of
bindings and one watch that sends the events and ends.
"""

import asyncio
import json
import sys

from aiohttp import web

PATH = "/apis/work.karmada.io/v1alpha2/resourcebindings"


def binding(index: int, version: int) -> dict[str, object]:
    """A ResourceBinding of about 4 KB, as Karmada writes them."""
    name = f"job-{index:06d}"
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": f"{name}-job",
            "namespace": f"team-{index % 100}",
            "uid": f"00000000-0000-4000-8000-{index:012d}",
            "resourceVersion": str(version),
            "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "propagationpolicy.karmada.io/permanent-id": "9bdab545-de50-4b58-876b-43ccd57bab46",
                "resourcebinding.karmada.io/permanent-id": f"11111111-0000-4000-8000-{index:012d}",
            },
            "annotations": {
                "policy.karmada.io/applied-placement": json.dumps({"clusterAffinity": {}}),
                "propagationpolicy.karmada.io/name": "all",
                "note": "x" * 1800,
            },
            "managedFields": [
                {
                    "manager": "karmada",
                    "operation": "Update",
                    "fieldsV1": {"f:spec": {"f:resource": {}}},
                }
            ],
        },
        "spec": {
            "clusters": [{"name": "member1", "replicas": 3}],
            "placement": {"clusterAffinity": {"clusterNames": [f"member{i}" for i in range(40)]}},
            "replicaRequirements": {"resourceRequest": {"cpu": "500m", "nvidia.com/gpu": "1"}},
            "replicas": 3,
            "resource": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": name,
                "namespace": f"team-{index % 100}",
                "uid": f"22222222-0000-4000-8000-{index:012d}",
                "resourceVersion": "1",
            },
            "schedulerName": "global-sched",
        },
        "status": {
            "conditions": [
                {"type": "Scheduled", "status": "True", "reason": "Success", "message": "y" * 500}
            ],
            "schedulerObservedGeneration": 2,
        },
    }


async def serve(objects: int, events: int) -> None:
    """Serve until the process is ended."""
    items = [json.dumps(binding(i, i + 1), separators=(",", ":")) for i in range(objects)]
    stream = [
        ('{"type":"MODIFIED","object":' + items[i % objects].replace(
            f'"resourceVersion":"{i % objects + 1}"', f'"resourceVersion":"{objects + i + 1}"', 1
        ) + "}\n").encode()
        for i in range(events)
    ]  # fmt: skip

    async def answer(request: web.Request) -> web.StreamResponse:
        query = request.query
        if query.get("watch") in ("1", "true"):
            response = web.StreamResponse()
            await response.prepare(request)
            for event in stream:
                await response.write(event)
            await asyncio.sleep(3600)
            return response
        start, limit = int(query.get("continue") or 0), int(query.get("limit") or objects)
        more = f',"continue":"{start + limit}"' if start + limit < objects else ""
        body = (
            '{"kind":"ResourceBindingList","apiVersion":"work.karmada.io/v1alpha2","metadata":'
            f'{{"resourceVersion":"{objects}"{more}}},"items":['
            f"{','.join(items[start : start + limit])}]}}"
        )
        return web.Response(body=body.encode(), content_type="application/json")

    app = web.Application()
    app.router.add_get(PATH, answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
