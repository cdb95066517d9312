"""Every kind that is served through a CRD: the platform's and the workloads'."""

from typing import Any, Final

from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.crd_kinds import PLATFORM
from global_sched.shared.api.schema import crd
from global_sched.shared.kinds.registry import ALL, RUNTIMES

WORKLOADS: Final[tuple[CrdKind, ...]] = (
    *(one.crd for one in ALL if one.crd is not None),
    *(found for _, found in RUNTIMES.values()),
)

CRD_KINDS: Final[tuple[CrdKind, ...]] = (*PLATFORM, *WORKLOADS)
"""All of them, ours first."""


def crds() -> dict[str, dict[str, Any]]:
    """Every CRD by file name."""
    return {kind.file_name: crd(kind) for kind in CRD_KINDS}
