"""A small custom resource for tests."""

WIDGETS = "/apis/example.test/v1/namespaces/team/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(spec_schema=None, *, versions=None, scope="Namespaced", **version):
    """A definition of `widgets.example.test`."""
    schema = {
        "type": "object",
        "properties": {
            "spec": spec_schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    one = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        **version,
    }
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}
    spec = {
        "group": "example.test",
        "scope": scope,
        "names": names,
        "versions": versions(one) if versions else [one],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.test"},
        "spec": spec,
    }


def widget(name="w", spec=None, **meta):
    """A widget."""
    return {
        "apiVersion": "example.test/v1",
        "kind": "Widget",
        "metadata": {"name": name, **meta},
        "spec": spec or {},
    }
