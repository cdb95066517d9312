"""Finding the job that a user names."""

from difflib import get_close_matches

import click

from global_sched.cache import State
from global_sched.shared.model.ids import split_key
from global_sched.shared.model.workload import Workload


def find_job(state: State, name: str, namespace: str | None) -> Workload:
    """The workload of a job: NAME, NAMESPACE/NAME, or the name of its binding.

    Raises:  click.ClickException when there is none, or more than one.
    """
    if "/" in name:
        namespace, _, name = name.partition("/")
    found = [
        one
        for one in state.workloads()
        if namespace in (None, one.namespace) and name in (one.name, split_key(one.key)[1])
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        where = f" in namespace {namespace}" if namespace else ""
        names = {one.name for one in state.workloads() if namespace in (None, one.namespace)}
        like = ", ".join(get_close_matches(name, sorted(names)))
        hint = (
            f"did you mean {like}?"
            if like
            else "is there a PropagationPolicy with schedulerName global-sched that selects it?"
        )
        raise click.ClickException(f"no job {name!r}{where} is scheduled by global-sched; {hint}")
    listed = ", ".join(f"{one.demand.kind} {one.key}" for one in found)
    raise click.ClickException(f"{name!r} names several jobs: {listed}; use -n or the binding name")
