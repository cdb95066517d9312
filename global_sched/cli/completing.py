"""Names for shell completion, from the control plane; none when it cannot be asked quickly."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from global_sched.cli.where import Where
from global_sched.shared.api.names import SYSTEM_NAMESPACE

_PATIENCE: Final = 2.0
"""Seconds that a person waits for a tab."""


def complete_clusters(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Member clusters."""
    return _items(_names(context, "clusters"), incomplete)


def complete_jobs(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Jobs that global-sched schedules: names with -n, otherwise `namespace/name`."""
    namespace = context.params.get("namespace")
    found = _names(context, "jobs")
    if namespace:
        found = [name.partition("/")[2] for name in found if name.startswith(f"{namespace}/")]
    return _items(found, incomplete)


def _items(names: list[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _names(context: click.Context, what: str) -> list[str]:
    """Sorted names; a completion never shows an error."""
    from global_sched.shared.kube.errors import (  # noqa: PLC0415 - --help stays quick
        ApiError,
        ConfigError,
    )

    root = context.find_root().params
    try:
        return sorted(asyncio.run(_ask(root, what)))
    except (ApiError, ConfigError, TimeoutError):
        return []


async def _ask(root: Mapping[str, Any], what: str) -> set[str]:
    """Names of a kind, asked with the options of the command."""
    from global_sched.cli.view import opened  # noqa: PLC0415 - as above
    from global_sched.shared.api.karmada import ResourceBinding  # noqa: PLC0415 - as above
    from global_sched.shared.api.resource import (  # noqa: PLC0415 - as above
        CLUSTERS,
        RESOURCE_BINDINGS,
    )
    from global_sched.view.look import scheduler_names  # noqa: PLC0415 - as above

    namespace = root.get("leader_namespace") or SYSTEM_NAMESPACE
    where = Where(
        kubeconfig=root.get("kubeconfig"), context=root.get("context"), leader_namespace=namespace
    )
    silent = partial(opened, where, warn=lambda _text: None)  # a line would end up in the prompt
    async with asyncio.timeout(_PATIENCE), silent() as (client, *_):
        if what == "clusters":
            clusters = await client.list(CLUSTERS, type=dict)
            return {one["metadata"]["name"] for one in clusters.items}
        ours = await scheduler_names(client, namespace)
        bindings = await client.list(RESOURCE_BINDINGS, type=ResourceBinding)
    return {
        f"{one.metadata.namespace}/{one.spec.resource.name}"
        for one in bindings.items
        if one.spec.scheduler_name in ours
    }
