"""The rules of every built-in kind, in one table."""

from collections.abc import Mapping
from typing import Final

from global_sched.embedded.apiserver.strategy.core_strategy import CORE_RULES
from global_sched.embedded.apiserver.strategy.definition_strategy import DEFINITION_RULES
from global_sched.embedded.apiserver.strategy.pod_strategy import POD_RULES
from global_sched.embedded.apiserver.strategy.policy_strategy import POLICY_RULES
from global_sched.embedded.apiserver.strategy.strategy import NO_RULES, Strategy
from global_sched.embedded.apiserver.strategy.workload_strategy import WORKLOAD_RULES

KIND_RULES: Final[Mapping[str, Strategy]] = {
    "pods": POD_RULES,
    **CORE_RULES,
    **WORKLOAD_RULES,
    **POLICY_RULES,
    **DEFINITION_RULES,
}


def rules_of(collection: str) -> Strategy:
    """The rules of a collection's kind."""
    return KIND_RULES.get(collection, NO_RULES)
