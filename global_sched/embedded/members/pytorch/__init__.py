"""PyTorchJob → master and worker pods, their Services, and the job's conditions.

What Kubeflow's training operator makes of a PyTorchJob, without the operator: labels, variables,
names and conditions are its own. It runs in every embedded member, and alone against any cluster
that has the CRD and no operator (`python -m global_sched.embedded.members --kubeconfig FILE`).

What may not be in here: placement, gangs and queues; the pods carry their template's scheduler.

Read `controller.PyTorchJobs` first; `pods` and `status` are pure.
"""

from global_sched.embedded.members.pytorch.controller import PyTorchJobs

__all__ = ["PyTorchJobs"]
