"""Jobs that name another queue or PriorityClass."""

import pytest

from tests.played import ONE_NODE, remedies

FULL = "then still: waits for a cluster with room for 1 pod; no cluster has room for it now"


def classes(running, allowed):
    return f"""\
world:
  clusters: {ONE_NODE}
  queues: [{{name: a}}]
  priorityClasses: {{low: 1, mid: 50, high: 90, top: 1000}}
  tenants: [{{name: t, namespaces: [default], priorityClasses: {allowed}}}]
  jobs:
  - {{name: r, namespace: o, queue: a, priorityClass: {running}, running: {{cluster: m}},
     tasks: [{{requests: {{cpu: 1}}}}]}}
  - {{name: j, queue: a, created: 1, priorityClass: top, tasks: [{{requests: {{cpu: 1}}}}]}}
"""


@pytest.mark.parametrize(
    ("running", "allowed", "want"),
    [
        pytest.param(
            "mid",
            "[low, high]",
            [
                (
                    (
                        "its PriorityClass is high (spec.priorityClassName, now top), and 1 gang "
                        "of queue a (1 pod) leaves m"
                    ),
                    True,
                )
            ],
            id="the second one lets others leave",
        ),
        pytest.param(
            "high",
            "[low, high]",
            [(f"its PriorityClass is high (spec.priorityClassName, now top); {FULL}", False)],
            id="none of them does",
        ),
        pytest.param("mid", "[gone]", [], id="the one that it may use does not exist"),
    ],
)
def test_classes_that_its_tenant_may_use(running, allowed, want):
    """Each is tried with what it gives, and those that let the job run are named."""
    assert remedies(classes(running, allowed), "j") == want


def test_classes_that_all_help():
    """Where there is room each of them does."""
    text = classes("mid", "[low, high]").replace("cpu: 1}}]}]", "cpu: 2}}]}]", 1)

    assert remedies(text, "j") == [
        (f"its PriorityClass is {name} (spec.priorityClassName, now top)", True)
        for name in ("high", "low")
    ]


def test_a_class_that_does_not_exist():
    """Advice says that the class has to be there, and how that was tried."""
    text = f"""\
world:
  clusters: {ONE_NODE}
  jobs:
  - {{name: one, created: 1, priorityClass: gone, tasks: [{{requests: {{cpu: 1}}}}]}}
  - {{name: two, created: 1, priorityClass: gone, tasks: [{{requests: {{cpu: 2}}}}]}}
"""

    there = "there is a PriorityClass gone (tried with 0)"
    assert remedies(text, "one") == [(there, True)]
    assert remedies(text, "two") == [
        (
            (
                f"{there}; then still: a pod of worker asks for cpu 2, and no node of the "
                "federation has as much: the largest has 1 (in m)"
            ),
            False,
        )
    ]


def test_open_queues_are_tried_first():
    """Of many queues below its own three are named, and one that takes something is among them."""
    shut = ", ".join(f"{{name: e{i}, parent: org, state: Closed}}" for i in range(1, 5))
    text = f"""\
world:
  clusters: {ONE_NODE}
  queues: [{{name: org}}, {shut}, {{name: e5, parent: org}}]
  jobs: [{{name: j, queue: org, tasks: [{{requests: {{cpu: 1}}}}]}}]
"""

    assert remedies(text, "j") == [
        ("it names queue e5 (spec.queue, now org)", True),
        ("it names queue e1 (spec.queue, now org); then still: queue e1 is not open", False),
        ("it names queue e2 (spec.queue, now org); then still: queue e2 is not open", False),
    ]
