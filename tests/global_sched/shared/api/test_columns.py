"""Columns of `kubectl get`: our own, and Volcano's names where Volcano has them."""

import pytest

from global_sched.shared.kinds.crds import crds


@pytest.mark.parametrize(
    ("file", "narrow", "wide"),
    [
        pytest.param(
            "federation.global-sched.io_directives.yaml",
            ["CLUSTER", "ENTRIES", "EPOCH", "AGE"],
            [],
            id="Directives",
        ),
        pytest.param(
            "federation.global-sched.io_waitinglists.yaml",
            ["WAITING", "FIRST", "QUEUE", "POSITION", "REASON", "RUNS WHEN"],
            ["THEN", "SINCE"],
            id="WaitingLists",
        ),
        pytest.param(
            "scheduling.volcano.sh_queues.yaml",
            ["PARENT", "WEIGHT", "PRIORITY", "STATE", "RUNNING", "PENDING", "AGE"],
            ["ALLOCATED"],
            id="Queues",
        ),
    ],
)
def test_columns(file, narrow, wide):
    """The columns by name, those of `-o wide` apart."""
    [version] = crds()[file]["spec"]["versions"]
    columns = version["additionalPrinterColumns"]

    assert [one["name"] for one in columns if not one.get("priority")] == narrow
    assert [one["name"] for one in columns if one.get("priority")] == wide
