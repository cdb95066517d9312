"""Overriders on the copy for one cluster."""

import json

import pytest

from global_sched.embedded.karmada.overrides import OverrideError, applicable, apply_all
from tests.global_sched.embedded.karmada.shapes import deployment, override, plaintext

CLUSTER = {"metadata": {"name": "m1", "labels": {"site": "north"}}, "spec": {}}
KIND = {"apiVersion": "apps/v1", "kind": "Deployment"}


def container(**overriders):
    """The container of a Deployment after some overriders."""
    copied = deployment(
        pod={"containers": [{"name": "c", "image": "r.example/team/web:1", "command": ["run"]}]}
    )
    apply_all(copied, [("p", overriders)])
    return copied["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("policies", "want"),
    [
        pytest.param(
            [override("a", plaintext("/spec/x", 1, targetCluster={"clusterNames": ["m2"]}))],
            [],
            id="a rule for another cluster",
        ),
        pytest.param(
            [override("a", plaintext("/spec/x", 1), selectors=[KIND | {"name": "other"}])],
            [],
            id="a selector for another template",
        ),
        pytest.param(
            [
                override("a", plaintext("/spec/x", 1), selectors=[KIND | {"name": "web"}]),
                override("b", plaintext("/spec/x", 2), selectors=[KIND]),
                override("c", plaintext("/spec/x", 3)),
            ],
            ["b", "c", "a"],
            id="the closest has the last word, equals go by name",
        ),
    ],
)
def test_applicable(policies, want):
    """Policies for the cluster and the template, the least close first."""
    assert [name for name, _ in applicable(policies, deployment(), CLUSTER)] == want


def test_the_older_form_without_rules():
    """`targetCluster` and `overriders` at the top count when there are no rules."""
    old = override("a")
    old["spec"] = {"overriders": {"plaintext": []}, "targetCluster": {"clusterNames": ["m1"]}}

    assert applicable([old], deployment(), CLUSTER) == [("a", {"plaintext": []})]


def test_plaintext_and_what_is_recorded():
    """A plaintext overrider is a JSON patch operation; the Work's annotation says what applied."""
    copied = deployment()

    text = apply_all(copied, [("p", plaintext("/spec/replicas", 9)["overriders"])])

    assert copied["spec"]["replicas"] == 9
    assert json.loads(text) == [
        {
            "policyName": "p",
            "overriders": {
                "plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 9}]
            },
        }
    ]


@pytest.mark.parametrize(
    ("item", "want"),
    [
        pytest.param(
            {"component": "Registry", "operator": "replace", "value": "m.example:5000"},
            "m.example:5000/team/web:1",
            id="another registry",
        ),
        pytest.param(
            {"component": "Registry", "operator": "remove"}, "team/web:1", id="no registry"
        ),
        pytest.param(
            {"component": "Repository", "operator": "add", "value": "-slim"},
            "r.example/team/web-slim:1",
            id="a longer repository",
        ),
        pytest.param(
            {"component": "Tag", "operator": "replace", "value": "2"},
            "r.example/team/web:2",
            id="another tag",
        ),
        pytest.param(
            {"component": "Tag", "operator": "replace", "value": "sha256:ab"},
            "r.example/team/web@sha256:ab",
            id="a digest",
        ),
    ],
)
def test_images(item, want):
    """An image overrider changes one part of every container's image."""
    assert container(imageOverrider=[item])["image"] == want


def test_commands_and_arguments():
    """Words are appended or removed, in the named container only."""
    done = container(
        commandOverrider=[
            {"containerName": "c", "operator": "remove", "value": ["run"]},
            {"containerName": "d", "operator": "add", "value": ["never"]},
        ],
        argsOverrider=[{"containerName": "c", "operator": "add", "value": ["--fast"]}],
    )

    assert done["command"] == []
    assert done["args"] == ["--fast"]


def test_labels_and_annotations():
    """Adding sets, replacing sets only what is there, removing removes."""
    copied = deployment(a="1", b="1")

    apply_all(
        copied,
        [
            (
                "p",
                {
                    "labelsOverrider": [
                        {"operator": "add", "value": {"new": "1"}},
                        {"operator": "replace", "value": {"a": "2", "absent": "2"}},
                        {"operator": "remove", "value": {"b": ""}},
                    ],
                    "annotationsOverrider": [{"operator": "add", "value": {"note": "x"}}],
                },
            )
        ],
    )

    assert copied["metadata"]["labels"] == {"a": "2", "new": "1"}
    assert copied["metadata"]["annotations"] == {"note": "x"}


def test_a_document_inside_a_field():
    """A field overrider changes YAML or JSON that is a text."""
    copied = {"metadata": {"name": "c"}, "data": {"a.json": '{"n":1}', "b.yaml": "n: 1\n"}}

    apply_all(
        copied,
        [
            (
                "p",
                {
                    "fieldOverrider": [
                        {
                            "fieldPath": "/data/a.json",
                            "json": [{"subPath": "/n", "operator": "replace", "value": 2}],
                        },
                        {
                            "fieldPath": "/data/b.yaml",
                            "yaml": [{"subPath": "/m", "operator": "add", "value": 3}],
                        },
                    ]
                },
            )
        ],
    )

    assert copied["data"] == {"a.json": '{"n":2}', "b.yaml": "n: 1\nm: 3\n"}


@pytest.mark.parametrize(
    ("overriders", "says"),
    [
        pytest.param(
            {"plaintext": [{"path": "/spec/x/y", "operator": "remove"}]},
            "override policy p, plaintext: the path /spec/x/y does not exist",
            id="a path that is not there",
        ),
        pytest.param(
            {"imageOverrider": [{"component": "Tag", "operator": "swap"}]},
            "override policy p, imageOverrider: unknown operator 'swap'",
            id="an unknown operator",
        ),
        pytest.param(
            {"fieldOverrider": [{"fieldPath": "/spec", "json": []}]},
            "override policy p, fieldOverrider: /spec is no text field",
            id="a field that is no text",
        ),
    ],
)
def test_what_cannot_be_applied_says_why(overriders, says):
    """The error names the policy, the overrider and the reason."""
    with pytest.raises(OverrideError) as caught:
        apply_all(deployment(), [("p", overriders)])

    assert str(caught.value) == says
