"""Requests for devices that nothing here can count or hand out: they are refused, never ignored.

Each stands for a protocol between the scheduler that binds a pod and the node's device driver. A
pod that is bound without it gets no device: its node refuses it, or it runs without one.
"""

from collections.abc import Mapping
from typing import Final

from global_sched.shared.api.core import PodSpec
from global_sched.shared.model.resources import Resources
from global_sched.shared.placement.requirements import SpecError

GPU_FRACTION: Final = "gpu-fraction"
GPU_MEMORY: Final = "gpu-memory"
SHARED_GPU_PREFIXES: Final = ("volcano.sh/vgpu-", "volcano.sh/gpu-memory", "volcano.sh/gpu-number")
"""Resources of Volcano's device plugins for shared GPUs."""

_WHOLE: Final = "request whole devices in resources.limits, such as nvidia.com/gpu"


def check_devices(spec: PodSpec, annotations: Mapping[str, str] | None) -> None:
    """Refuse resource claims (DRA) and KAI's annotations for parts of a GPU.

    Raises:  SpecError naming the field, the reason and what would help.
    """
    claims = "resource claims (DRA) are neither counted nor allocated here"
    if spec.resource_claims:
        raise SpecError("spec.resourceClaims", f"{claims}; {_WHOLE}")
    for field, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.init_containers),
    ):
        for position, container in enumerate(containers or ()):
            if container.resources.claims:
                where = f"spec.{field}[{position}].resources.claims"
                raise SpecError(where, f"{claims}; {_WHOLE}")
    for key in (GPU_FRACTION, GPU_MEMORY):
        if annotations and key in annotations:
            raise SpecError(
                f"metadata.annotations[{key}]",
                f"is {annotations[key][:40]!r}: parts of a GPU are neither counted nor kept apart "
                f"here; remove it and {_WHOLE}",
            )


def shared_gpus(requests: Resources) -> str:
    """The first resource that only Volcano's own scheduler can bind; empty for none.

    The device plugin of shared GPUs reads from the pod's annotations which card it gets, and the
    scheduler that binds the pod writes them.
    """
    return next((name for name, _ in requests if name.startswith(SHARED_GPU_PREFIXES)), "")
