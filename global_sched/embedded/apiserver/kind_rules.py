"""The rules of every built-in kind, in one table."""

from collections.abc import Mapping
from typing import Final

from global_sched.embedded.apiserver.core_rules import CORE_RULES
from global_sched.embedded.apiserver.definition_rules import DEFINITION_RULES
from global_sched.embedded.apiserver.pod_rules import POD_RULES
from global_sched.embedded.apiserver.policy_rules import POLICY_RULES
from global_sched.embedded.apiserver.rules import NO_RULES, Rules
from global_sched.embedded.apiserver.workload_rules import WORKLOAD_RULES

KIND_RULES: Final[Mapping[str, Rules]] = {
    "pods": POD_RULES,
    **CORE_RULES,
    **WORKLOAD_RULES,
    **POLICY_RULES,
    **DEFINITION_RULES,
}


def rules_of(collection: str) -> Rules:
    """The rules of a collection's kind."""
    return KIND_RULES.get(collection, NO_RULES)
