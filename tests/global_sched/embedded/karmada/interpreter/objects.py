"""Objects and statuses as members and the interpreter see them."""

NOW = "2026-01-01T00:00:00Z"
VCJOB = ("batch.volcano.sh/v1alpha1", "Job")
PYTORCH = ("kubeflow.org/v1", "PyTorchJob")


def obj(kind, status=None, *, generation=1, **spec):
    """A raw object of some kind."""
    meta = {
        "name": "x",
        "namespace": "n",
        "generation": generation,
        "annotations": {"resourcetemplate.karmada.io/generation": "3"},
    }
    made = {"apiVersion": kind[0], "kind": kind[1], "metadata": meta, "spec": spec}
    return made if status is None else made | {"status": status}


def item(cluster, status, health="Healthy"):
    """An aggregatedStatus entry."""
    return {"clusterName": cluster, "applied": True, "health": health, "status": status}


def true(kind):
    """A condition that is true."""
    return {"type": kind, "status": "True"}


def told(kind, reason, message):
    """A condition that says why and since when."""
    times = {"lastUpdateTime": NOW, "lastTransitionTime": NOW}
    return true(kind) | {"reason": reason, "message": message} | times


DEPLOYMENT = ("apps/v1", "Deployment")
