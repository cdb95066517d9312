"""Causes of a loss: one closed set for nodes and pods, in the order of how much they explain."""

from enum import StrEnum


class Cause(StrEnum):
    """The cause of a lost pod, or of a node's trouble; earlier ones explain later ones."""

    NODE_GONE = "NodeGone"
    """The Node object was deleted."""
    OUT_OF_SERVICE = "OutOfService"
    """An administrator says by a taint that the machine is off."""
    DEVICE_UNHEALTHY = "DeviceUnhealthy"
    """A condition of the node, named in the agent's settings, reports a defect."""
    NODE_NOT_READY = "NodeNotReady"
    """The node's kubelet is not heard of, or says that it is not ready."""
    NODE_TAINTED = "NodeTainted"
    """The node has a NoExecute taint."""
    PODS_FAILING = "PodsFailing"
    """Pods of gangs of several namespaces failed on the node."""
    REFUSED = "Refused"
    """The node did not take the pod."""
    PREEMPTED = "Preempted"
    """The pod made room for another one."""
    EVICTED = "Evicted"
    """Kubernetes ended the pod; the reason names the controller."""
    OOM_KILLED = "OomKilled"
    """A container used more memory than it may."""
    EXIT_CODE = "ExitCode"
    """A container ended with an exit code other than 0."""
    UNKNOWN = "Unknown"
    """The pod is gone, and nothing says why."""
