"""Writes of the decision annotation alone: clusters stay as they are."""

from dataclasses import replace

from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.plan import Claiming
from global_sched.shared.model.workload import Workload


def write_annotation(workload: Workload, decision: Decision, statement: Statement) -> Workload:
    """Plan to write the decision's annotation only: clusters stay as they are."""
    decision = statement.of_term(decision)
    statement.claims.append(
        Claiming(
            workload=workload.key,
            uid=workload.uid,
            resource_version=workload.resource_version,
            decision=decision,
        )
    )
    statement.decided.add(workload.key)
    return replace(workload, decision=decision)
