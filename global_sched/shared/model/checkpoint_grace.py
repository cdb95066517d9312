"""The annotation `federation.global-sched.io/checkpoint-grace`: time to write a checkpoint."""

from typing import Final

from global_sched.shared.api.names import CHECKPOINT_GRACE
from global_sched.shared.model.instant import parse_seconds
from global_sched.shared.model.printable import printable

_LONGEST: Final = 86_400


def checkpoint_grace(text: str) -> tuple[int, str]:
    """The seconds that an annotation asks for, 0 for none; and why it is refused.

    The Policy's limit is the cycle's to apply. Of a refused annotation nothing counts.
    """
    if not text:
        return 0, ""
    seconds = parse_seconds(text)
    if seconds and seconds <= _LONGEST:
        return seconds, ""
    return 0, (
        f"metadata.annotations[{CHECKPOINT_GRACE}]: is {printable(text[:40])!r}; use a duration "
        "from 1s to 24h such as 90s or 5m: until then it leaves at once when it has to"
    )
