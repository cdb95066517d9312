"""A job that names another queue or another PriorityClass, or whose own class is there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from global_sched.core.explain.remedy_text import remedy_of
from global_sched.core.explain.trials import Trials
from global_sched.core.explain.variants import exchanged
from global_sched.core.statement import Statement
from global_sched.shared.model.explanation import Change, Remedy
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.workload import Workload

QUEUES = 3
"""So many other queues are tried, those that take something from the tenant first, by name."""
CLASSES = 8
"""So many PriorityClasses are tried, by name."""


def other_queues(
    workload: Workload, names: Sequence[QueueName], trials: Trials, statement: Statement
) -> Iterator[Remedy]:
    """It names a queue from which it may be admitted."""
    shut, tenant = statement.ledger.gates.shut, workload.tenant
    for name in sorted(names, key=lambda one: (shut(one, tenant) is not None, one))[:QUEUES]:
        world = exchanged(statement.snapshot, workload, replace(workload, queue=name))
        yield trials.judged(Change.QUEUE, world, f"it names queue {name}")


def other_classes(
    workload: Workload, names: Sequence[str], trials: Trials, statement: Statement
) -> Iterator[Remedy]:
    """It names a PriorityClass that its tenant may use: those that help, or else that none does."""
    values, tried = dict(statement.snapshot.priorities), []
    for name in [one for one in names if one in values][:CLASSES]:
        other = replace(workload, priority_class=name, priority=values[name])
        world = exchanged(statement.snapshot, workload, other)
        tried.append((name, trials.tried(world)))
    helping = [name for name, one in tried if one.refusal is None and not one.victims]
    if helping:
        yield remedy_of(Change.TENANT, _class_is(helping))
    for name, one in tried:
        if one.victims:
            yield remedy_of(Change.TENANT, _class_is([name]), victims=one.victims)
    if tried and all(one.refusal is not None for _, one in tried):
        text = _class_is([name for name, _ in tried])
        yield remedy_of(Change.TENANT, text, tried[0][1].refusal)


def its_class(workload: Workload, trials: Trials, statement: Statement) -> Remedy:
    """The class that it names is there. Nobody knows which priority that would give."""
    world = exchanged(statement.snapshot, workload, replace(workload, problem=None))
    text = f"there is a PriorityClass {workload.priority_class} (tried with {workload.priority})"
    return trials.judged(Change.PRIORITY, world, text)


def _class_is(names: Sequence[str]) -> str:
    return f"its PriorityClass is {' or '.join(names)}"
