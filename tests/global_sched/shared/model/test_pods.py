"""Tolerations, label requirements, shapes and names."""

import pytest

from global_sched.shared.model.ids import split_key, workload_key
from global_sched.shared.model.pods import (
    Effect,
    Operator,
    Requirement,
    Taint,
    Toleration,
    matches,
    tolerated,
)
from tests.builders import pod

TAINT = Taint("gpu", "a100", Effect.NO_SCHEDULE)


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        pytest.param(Toleration(key="gpu", value="a100"), True, id="same key and value"),
        pytest.param(Toleration(key="gpu", value="h100"), False, id="another value"),
        pytest.param(Toleration(key="gpu", exists=True), True, id="any value"),
        pytest.param(Toleration(key="cpu", exists=True), False, id="another key"),
        pytest.param(Toleration(exists=True), True, id="everything"),
        pytest.param(Toleration(value="a100"), False, id="no key and no Exists is nothing"),
        pytest.param(
            Toleration(key="gpu", exists=True, effect=Effect.NO_EXECUTE),
            False,
            id="another effect",
        ),
        pytest.param(
            Toleration(key="gpu", exists=True, effect=Effect.NO_SCHEDULE), True, id="this effect"
        ),
    ],
)
def test_tolerates(toleration, want):
    """Kubernetes' rule for one taint and one toleration."""
    assert toleration.tolerates(TAINT) is want


def test_tolerated():
    """The first taint that forbids anything and is not tolerated."""
    soft = Taint("soft", "", Effect.PREFER_NO_SCHEDULE)
    other = Taint("other", "", Effect.NO_EXECUTE)
    ours = (Toleration(key="gpu", exists=True),)

    assert tolerated((soft, TAINT), ours) is None
    assert tolerated((TAINT, other), ours) == other
    assert tolerated((TAINT,), ()) == TAINT


@pytest.mark.parametrize(
    ("operator", "values", "label", "want"),
    [
        pytest.param(Operator.IN, ("a", "b"), "a", True, id="In: listed"),
        pytest.param(Operator.IN, ("a",), "c", False, id="In: not listed"),
        pytest.param(Operator.IN, ("a",), None, False, id="In: absent"),
        pytest.param(Operator.NOT_IN, ("a",), "a", False, id="NotIn: listed"),
        pytest.param(Operator.NOT_IN, ("a",), "c", True, id="NotIn: not listed"),
        pytest.param(Operator.NOT_IN, ("a",), None, True, id="NotIn: absent"),
        pytest.param(Operator.EXISTS, (), "", True, id="Exists: empty value"),
        pytest.param(Operator.EXISTS, (), None, False, id="Exists: absent"),
        pytest.param(Operator.DOES_NOT_EXIST, (), None, True, id="DoesNotExist: absent"),
        pytest.param(Operator.DOES_NOT_EXIST, (), "x", False, id="DoesNotExist: there"),
        pytest.param(Operator.GT, ("3",), "4", True, id="Gt: more"),
        pytest.param(Operator.GT, ("3",), "3", False, id="Gt: equal"),
        pytest.param(Operator.LT, ("3",), "2", True, id="Lt: less"),
        pytest.param(Operator.LT, ("3",), "x", False, id="Lt: no number"),
        pytest.param(Operator.GT, (), "4", False, id="Gt: nothing to compare with"),
        pytest.param(Operator.GT, ("3",), None, False, id="Gt: absent"),
    ],
)
def test_matches(operator, values, label, want):
    """Kubernetes' rule for one requirement."""
    labels = {} if label is None else {"k": label}

    assert matches(Requirement("k", operator, values), labels) is want


def test_label_keys():
    """All keys that a shape selects on, once each, ascending."""
    shape = pod(
        selector=[("z", "1"), ("a", "1")],
        affinity=[[Requirement("m", Operator.EXISTS)], [Requirement("a", Operator.EXISTS)]],
    )

    assert shape.label_keys() == ("a", "m", "z")


def test_workload_key():
    """Namespace and name, and back; a cluster-scoped binding has no namespace."""
    assert workload_key("jobs", "a") == "jobs/a"
    assert workload_key("", "a") == "/a"
    assert split_key(workload_key("jobs", "a")) == ("jobs", "a")
    assert split_key(workload_key("", "a")) == ("", "a")
