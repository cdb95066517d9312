"""The Scheduled condition's text: what we write, and what we read back to compare."""

import re
from typing import Final

from global_sched.shared.api.base import Condition
from global_sched.shared.api.reasons import KarmadaReason, Reason
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.printable import printable
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Reported

SUCCESS: Final = "Binding has been scheduled successfully."
_LIMIT: Final = 1024
_MESSAGE = re.compile(
    r"(FIT|WAIT|NO_FIT|NEVER) ([A-Za-z]{1,64})(?:, nearest ([a-z0-9.-]{1,253}))?: (.*)", re.DOTALL
)


def render_reason(outcome: Outcome) -> str:
    """Code, reason, nearest cluster, and the sentence with the numbers; at most 1 KiB."""
    verdict = outcome.verdict
    nearest = f", nearest {outcome.nearest}" if outcome.nearest else ""
    detail = (verdict.detail or "no detail").removeprefix(f"{outcome.nearest} is nearest: ")
    text = printable(f"{verdict.code} {verdict.reason}{nearest}: {detail}")
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def karmada_reason(outcome: Outcome) -> KarmadaReason:
    """Karmada's word: NoClusterFit when nothing but a change of the spec can help."""
    if outcome.verdict.code == Code.NEVER:
        return KarmadaReason.NO_CLUSTER_FIT
    return KarmadaReason.UNSCHEDULABLE


def reported_of(condition: Condition | None) -> Reported:
    """What the condition says now, in the terms of an outcome; empty when we did not write it."""
    if condition is None:
        return _NOTHING
    if condition.status == "True":
        return _SUCCESS if condition.message == SUCCESS else Reported(message=condition.message)
    match = _MESSAGE.fullmatch(condition.message)
    if match is None:
        return Reported(message=condition.message)
    code, reason, nearest, _ = match.groups()
    try:
        known = Reason(reason)
    except ValueError:
        return Reported(message=condition.message)
    return Reported(
        code=Code(code),
        reason=known,
        nearest=ClusterName(nearest) if nearest else None,
        message=condition.message,
    )


def detail_of(message: str) -> str:
    """The sentence of a condition's message that we wrote, without code, reason and cluster."""
    match = _MESSAGE.fullmatch(message)
    return message if match is None else match.group(4)


_NOTHING: Final = Reported()
_SUCCESS: Final = Reported(code=Code.FIT, reason=Reason.ADMITTED, message=SUCCESS)
