"""Detection of Volcano's own controllers: two controllers of one Job would fight."""

from typing import Final

from global_sched.shared.api.core import Lease
from global_sched.shared.api.resource import LEASES
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant

NAMESPACES: Final = ("volcano-system", "kube-system")
NAME: Final = "vc-controller-manager"
TRUST: Final = 300 * SECOND
"""A Lease that was renewed this recently is held, whatever two machines' clocks differ by."""


class VolcanoRunsError(RuntimeError):
    """Volcano's controllers hold their Lease; the text is one line with the way out."""


async def volcano_controller_lease(client: Client, *, clock: Clock | None = None) -> str | None:
    """The holder of the Lease of Volcano's controllers, as one line; None without one.

    Raises:  ApiError when it cannot be read.
    """
    now = (clock or SystemClock()).now()
    for namespace in NAMESPACES:
        try:
            lease = await client.get(LEASES, NAME, namespace=namespace, type=Lease)
        except NotFound:
            continue
        if not lease.spec.holder_identity:
            continue
        try:
            renewed = parse_instant(lease.spec.renew_time or "")
        except InstantError:
            renewed = now
        if now - renewed < TRUST:
            return (
                f"Volcano's controllers run here ({lease.spec.holder_identity} holds the Lease "
                f"{namespace}/{NAME}) and run Volcano Jobs themselves: start the agent without "
                "--run-volcano-jobs, or stop them first"
            )
    return None
